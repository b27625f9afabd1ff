package agents_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/tools"
)

// The tests in this file are the Go of the contract of the expand tool, typed
// as a reader of it would type it, import paths apart. That they compile is
// half of what they check.

// Discoverable has exactly these three methods: the assignments below fail to
// compile if one is added or missing.
type discoverable interface {
	BasicDescription() string
	AdvanceDescription() string
	Troubleshooting() string
}

var (
	_ core.Discoverable = discoverable(nil)
	_ discoverable      = core.Discoverable(nil)
)

// An agent of the reader's own, with the five methods and no adapter.
type seedAgent struct {
	agentName, description, advanceDescription, troubleshooting string
}

func (a *seedAgent) ChatStream(message string) core.IResponseChStarter {
	return core.Fail(fmt.Errorf("%s was not meant to be asked", a.agentName))
}
func (a *seedAgent) Name() string               { return a.agentName }
func (a *seedAgent) BasicDescription() string   { return a.description }
func (a *seedAgent) AdvanceDescription() string { return a.advanceDescription }
func (a *seedAgent) Troubleshooting() string    { return a.troubleshooting }

var (
	_ core.SubAgent = (*seedAgent)(nil)
	_ core.SubAgent = (*agents.Agent)(nil)
)

func TestSeedSnippetAddingToAnAgent(t *testing.T) {
	var llm llms.Model = llmtest.New(llmtest.Script(
		llmtest.Call("expand", map[string]any{"subject_type": "tool", "subject_name": "foo", "troubleshoot": false}),
		llmtest.Say("done"),
	))

	agent := agents.NewAgent(agents.AgentConfig{
		LLMEngine: llm,
		AgentName: "my-agent",
		Tools: []llms.Tool{
			tools.NewFooTool(),
			tools.NewExpandTool(), // Add the expand tool
			// ... other tools
		},
	})

	// The agent provides the context: expand finds foo without being told.
	stream := agent.ChatStream("what is foo?").Start()
	var answers []string
	for e := range stream.Events() {
		if e.Kind == core.EventToolResult {
			answers = append(answers, e.Result.Text)
		}
	}
	if len(answers) != 1 || !strings.HasPrefix(answers[0], "=== TOOL: foo ===") {
		t.Errorf("expand answered %q", answers)
	}
	if text, err := stream.Text(); text != "done" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
}

func TestSeedSnippetsCallingExpand(t *testing.T) {
	reasoning := &seedAgent{"system-reasoning", "Breaks down complex problems into logical steps", "Advanced Details:", "- none"}
	agentContext := map[string]any{
		"tools":     []llms.Tool{tools.NewFooTool()}, // Available tools
		"subAgents": []core.SubAgent{reasoning},      // Available sub-agents
	}
	expandTool := tools.NewExpandTool()

	result := expandTool.Call(agentContext, map[string]any{
		"subject_type": "tool",
		"subject_name": "foo",
		"troubleshoot": false,
	})
	if !strings.HasPrefix(result, "=== TOOL: foo ===\n\n📄 Basic Description:\n") || strings.Contains(result, "🔧") {
		t.Errorf("example 1: %q", result)
	}

	result = expandTool.Call(agentContext, map[string]any{
		"subject_type": "tool",
		"subject_name": "foo",
		"troubleshoot": true,
	})
	if !strings.Contains(result, "\n\n🔧 Troubleshooting:\n- If the tool fails") {
		t.Errorf("example 2: %q", result)
	}

	result = expandTool.Call(agentContext, map[string]any{
		"subject_type": "agent",
		"subject_name": "system-reasoning",
		"troubleshoot": true,
	})
	want := "=== AGENT: system-reasoning ===\n\n" +
		"📄 Basic Description:\nBreaks down complex problems into logical steps\n\n" +
		"📚 Advanced Description:\nAdvanced Details:\n\n" +
		"🔧 Troubleshooting:\n- none"
	if result != want {
		t.Errorf("example 3: %q", result)
	}
}

// Through the loop as well, the errors of expand are its own: nothing checks
// the arguments before it does.
func TestSeedErrorsReachTheModelWordByWord(t *testing.T) {
	engine := llmtest.New(llmtest.Script(
		llmtest.Call("expand", map[string]any{"subject_type": "invalid", "subject_name": "foo"}).
			And("expand", map[string]any{"subject_type": "tool", "subject_name": "nonexistent"}).
			And("expand", map[string]any{"subject_type": "agent", "subject_name": "nonexistent"}),
		llmtest.Say("I see"),
	))
	agent := agents.NewAgent(agents.AgentConfig{
		LLMEngine: engine, AgentName: "main", Tools: []llms.Tool{tools.NewExpandTool()},
	})
	if _, err := agent.ChatStream("try").Start().Text(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Error: Invalid subject_type 'invalid'. Must be either 'tool' or 'agent'",
		"Error: Tool 'nonexistent' not found in context. \nAvailable tools can be seen in your system prompt or by listing your tools.",
		"Error: Agent 'nonexistent' not found in context. \nAvailable agents are listed in your system prompt under [SUB AGENTS].",
	}
	got := toolOutputs(engine.Requests()[1])
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("the model read %q", got)
	}
}

// toolOutputs returns the texts of the tool results in a request.
func toolOutputs(r llms.Request) []string {
	var texts []string
	for _, m := range r.Messages {
		for _, result := range m.ToolResults() {
			texts = append(texts, result.Output[0].Text)
		}
	}
	return texts
}
