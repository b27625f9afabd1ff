// Command expand_tool_example shows progressive discovery: the system prompt
// of an agent carries one line for each tool and sub-agent, and the expand tool
// fetches the rest.
//
//	go run examples/expand_tool_example.go
//
// The model is scripted, so the program needs no key and no network and always
// prints the same.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/tools"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "expand_tool_example:", err)
		os.Exit(1)
	}
}

func run(out io.Writer) error {
	reasoning, err := systemReasoning()
	if err != nil {
		return err
	}
	callExpandDirectly(out, reasoning)
	return letAnAgentExpand(out, reasoning)
}

// systemReasoning is an agent that other agents can learn about and delegate
// to. It needs no adapter to be a sub-agent.
func systemReasoning() (*agents.Agent, error) {
	return agents.New(agents.AgentConfig{
		LLMEngine:   llmtest.New(llmtest.ByTurn(llmtest.Say("🔎 First measure, then change one thing, then measure again."))),
		AgentName:   "system-reasoning",
		Description: "Breaks down complex problems into logical steps",
		AdvanceDescription: `Advanced Details:
- Purpose: Breaks down complex problems into logical, actionable steps
- Reasoning Style: Uses 🔎 markers to show thought process
- Input: One "how to" question, with everything that is known about it
- Output: Numbered steps, the first of which can be taken at once`,
		Troubleshooting: `- "Rejection response": If the agent rejects your query, ensure you're asking a "how to" question
- If the steps are too coarse, ask again about a single step`,
		SystemPrompt: "You break a problem down into steps. Mark each thought with 🔎.",
	})
}

// callExpandDirectly calls the tool as Go code does: with an agent context
// that is written down by hand.
func callExpandDirectly(out io.Writer, reasoning core.SubAgent) {
	expandTool := tools.NewExpandTool()
	agentContext := map[string]any{
		"tools":     []llms.Tool{tools.NewFooTool(), expandTool},
		"subAgents": []core.SubAgent{reasoning},
	}
	show := func(title string, args map[string]any) {
		fmt.Fprintf(out, "--- %s\n%s\n\n", title, expandTool.Call(agentContext, args))
	}
	show("a tool", map[string]any{"subject_type": "tool", "subject_name": "foo", "troubleshoot": false})
	show("a tool that fails", map[string]any{"subject_type": "tool", "subject_name": "foo", "troubleshoot": true})
	show("a sub-agent", map[string]any{"subject_type": "agent", "subject_name": "system-reasoning", "troubleshoot": true})
	show("expand itself", map[string]any{"subject_type": "tool", "subject_name": "expand"})
	show("an unknown tool", map[string]any{"subject_type": "tool", "subject_name": "nonexistent"})
	show("an unknown agent", map[string]any{"subject_type": "agent", "subject_name": "nonexistent"})
	show("an invalid subject type", map[string]any{"subject_type": "invalid", "subject_name": "foo"})
}

// letAnAgentExpand runs an agent whose model looks before it leaps: it expands
// the sub-agent, delegates to it, and answers.
func letAnAgentExpand(out io.Writer, reasoning core.SubAgent) error {
	agent := agents.NewAgent(agents.AgentConfig{
		LLMEngine: llmtest.New(llmtest.ByTurn(
			llmtest.Call("expand", map[string]any{"subject_type": "agent", "subject_name": "system-reasoning"}),
			llmtest.Call("delegate", map[string]any{"agent_name": "system-reasoning", "task": "How to make the build faster?"}),
			llmtest.Say("Measure before you change anything."),
		)),
		AgentName: "my-agent",
		Tools: []llms.Tool{
			tools.NewFooTool(),
			tools.NewExpandTool(),
		},
		SubAgents: []core.SubAgent{reasoning},
	})
	fmt.Fprintf(out, "--- the system prompt\n%s\n\n--- a chat\n", agent.SystemPrompt())
	stream := agent.ChatStream("How can I make the build faster?").Start()
	for e := range stream.Events() {
		switch e.Kind {
		case core.EventToolCall:
			fmt.Fprintf(out, "%s calls %s %s\n", speaker(e), e.Call.Name, e.Call.Arguments)
		case core.EventToolResult:
			fmt.Fprintf(out, "%s got %d characters from %s\n", speaker(e), len([]rune(e.Result.Text)), e.Call.Name)
		case core.EventDone:
			fmt.Fprintf(out, "%s: %s\n", speaker(e), e.Text)
		}
	}
	_, err := stream.Text()
	return err
}

// speaker names the agent an event comes from.
func speaker(e core.Event) string {
	if len(e.From) == 0 {
		return "my-agent"
	}
	return e.From[len(e.From)-1]
}
