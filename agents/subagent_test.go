package agents_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/tools"
)

func delegation(agent, task, kept string) map[string]any {
	return map[string]any{"agent_name": agent, "task": task, "kept_work": kept}
}

func TestDelegationRelaysTheWholeTree(t *testing.T) {
	leaf, _ := build(t, agents.AgentConfig{AgentName: "leaf"}, llmtest.Reply{Text: "7", Usage: llms.Usage{InputTokens: 3, OutputTokens: 1}})
	middle, _ := build(t, agents.AgentConfig{AgentName: "middle", SubAgents: []core.SubAgent{leaf}},
		llmtest.Call("delegate", delegation("leaf", "count the apples", "counting the pears")), llmtest.Say("7 apples"))
	root, engine := build(t, agents.AgentConfig{SubAgents: []core.SubAgent{middle}},
		llmtest.Call("delegate", delegation("middle", "look at all the fruit in the basket", "")), llmtest.Say("There are 7."))
	var got []string
	for e := range root.ChatStream("how many apples?").Start().Events() {
		if e.Kind == core.EventText || e.Terminal() {
			got = append(got, fmt.Sprintf("%s %v %q", e.Kind, e.From, e.Text))
		}
	}
	want := []string{
		`text [middle leaf] "7"`, `text [middle] "7 "`, `text [middle] "apples"`,
		`text [] "There "`, `text [] "are "`, `text [] "7."`, `done [] "There are 7."`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"7 apples"}, toolOutputs(engine.Requests()[1])); diff != "" {
		t.Errorf("the root reads (-want +got):\n%s", diff)
	}
}

func TestParallelDelegation(t *testing.T) {
	var subs []core.SubAgent
	reply := llmtest.Reply{}
	for _, name := range []string{"a", "b", "c"} {
		sub, _ := build(t, agents.AgentConfig{AgentName: name}, llmtest.Say("answer of "+name))
		subs = append(subs, sub)
		reply = reply.And("delegate", delegation(name, "the part of "+name, ""))
	}
	root, engine := build(t, agents.AgentConfig{SubAgents: subs}, reply, llmtest.Say("ok"))
	if _, err := root.ChatStream("go").Start().Text(); err != nil {
		t.Fatal(err)
	}
	want := []string{"answer of a", "answer of b", "answer of c"}
	if diff := cmp.Diff(want, toolOutputs(engine.Requests()[1])); diff != "" {
		t.Error(diff)
	}
}

// A sub-agent that passes its task on, in nearly the same words, is told to do
// the work itself, and can.
func TestPassingTheTaskOnIsRefused(t *testing.T) {
	const task = "Find the three largest files below the directory and say what they hold"
	leaf, leafEngine := build(t, agents.AgentConfig{AgentName: "leaf"}, llmtest.Say("never asked"))
	lazy, lazyEngine := build(t, agents.AgentConfig{AgentName: "lazy", SubAgents: []core.SubAgent{leaf}},
		llmtest.Call("delegate", delegation("leaf", "Please find the three largest files below the directory and say what they hold.", "waiting for the answer")),
		llmtest.Call("delegate", delegation("leaf", "List the files", "")),
		llmtest.Say("done by myself"))
	root, engine := build(t, agents.AgentConfig{SubAgents: []core.SubAgent{lazy}},
		llmtest.Call("delegate", delegation("lazy", task, "")), llmtest.Say("ok"))
	if _, err := root.ChatStream(task).Start().Text(); err != nil {
		t.Fatal(err)
	}
	if got := len(leafEngine.Requests()); got != 0 {
		t.Errorf("the leaf was asked %d times", got)
	}
	refusals := toolOutputs(lazyEngine.Requests()[2])
	if !strings.HasPrefix(refusals[0], "Error: this is nearly the task") || !strings.Contains(refusals[1], "kept_work") {
		t.Errorf("the sub-agent reads %q", refusals)
	}
	if diff := cmp.Diff([]string{"done by myself"}, toolOutputs(engine.Requests()[1])); diff != "" {
		t.Error(diff)
	}
}

func TestASpentBudgetStopsSubAgentsButNotTheRoot(t *testing.T) {
	greedyEngine := llmtest.New(func(llms.Request) llmtest.Reply {
		reply := llmtest.Call("foo", `{"echo":"more"}`)
		reply.Usage = llms.Usage{InputTokens: 90, OutputTokens: 10}
		return reply
	})
	greedy, err := agents.New(agents.AgentConfig{LLMEngine: greedyEngine, AgentName: "greedy", Tools: []llms.Tool{tools.NewFooTool()}})
	if err != nil {
		t.Fatal(err)
	}
	root, engine := build(t, agents.AgentConfig{SubAgents: []core.SubAgent{greedy}, DelegationBudget: tools.Budget{Tokens: 250}},
		llmtest.Call("delegate", delegation("greedy", "eat", "")),
		llmtest.Call("delegate", delegation("greedy", "eat more", "")),
		llmtest.Say("enough"))
	if text, err := root.ChatStream("go").Start().Text(); text != "enough" || err != nil {
		t.Fatalf("got %q, %v", text, err)
	}
	if got := len(greedyEngine.Requests()); got != 3 {
		t.Errorf("the sub-agent asked its model %d times under a budget of 250 tokens at 100 each", got)
	}
	outputs := toolOutputs(engine.Requests()[2])
	if !strings.Contains(outputs[0], "sub-agent 'greedy' failed") || !strings.Contains(outputs[1], "budget for delegated work is spent") {
		t.Errorf("the root reads %q", outputs)
	}
}

func TestASubAgentErrorKeepsItsClass(t *testing.T) {
	sub, _ := build(t, agents.AgentConfig{AgentName: "sub"}, llmtest.Status(401, "bad key"))
	result, err := tools.NewDelegateTool().Run(
		core.WithAgentContext(t.Context(), core.AgentContext{"subAgents": []*agents.Agent{sub}}),
		map[string]any{"agent_name": "sub", "task": "work"})
	var failed *llms.Error
	if !errors.As(err, &failed) || failed.Class != llms.ClassAuth {
		t.Errorf("got %+v, %v", result, err)
	}
}

// An agent that may not delegate may not when it is a sub-agent either,
// whatever the agent above it may.
func TestASubAgentsOwnBudgetBinds(t *testing.T) {
	for _, own := range []tools.Budget{{Depth: -1}, {Handoffs: -1}, {Tokens: -1}} {
		leaf, leafEngine := build(t, agents.AgentConfig{AgentName: "leaf"}, llmtest.Say("done"))
		middle, middleEngine := build(t, agents.AgentConfig{AgentName: "middle", SubAgents: []core.SubAgent{leaf}, DelegationBudget: own},
			llmtest.Call("delegate", delegation("leaf", "look at file b", "file c")), llmtest.Say("by myself"))
		root, _ := build(t, agents.AgentConfig{SubAgents: []core.SubAgent{middle}},
			llmtest.Call("delegate", delegation("middle", "look at everything in the repository", "")), llmtest.Say("ok"))
		if text, err := root.ChatStream("go").Start().Text(); text != "ok" || err != nil {
			t.Fatalf("%+v: %q, %v", own, text, err)
		}
		if got := len(leafEngine.Requests()); got != 0 {
			t.Errorf("%+v: the leaf was asked", own)
		}
		if got := toolOutputs(middleEngine.Requests()[1]); !strings.HasSuffix(got[0], "do the task yourself") {
			t.Errorf("%+v: the sub-agent reads %q", own, got)
		}
	}
}

// worker is a sub-agent that says a word, after a pause, for each of the
// given ones; a negative pause is for ever.
type worker struct {
	seedAgent
	pauses []time.Duration
	freed  chan struct{} // ends the pauses that are for ever
}

func (w *worker) ChatStream(string) core.IResponseChStarter {
	return core.StarterFunc(func(_ context.Context, emit func(core.Event)) (string, error) {
		for _, pause := range w.pauses {
			if pause < 0 {
				<-w.freed // deaf to its context
			}
			time.Sleep(pause)
			emit(core.Event{Kind: core.EventText, Text: "working "})
		}
		return "done", nil
	})
}

func TestAStuckSubAgentIsGivenUp(t *testing.T) {
	const minute = time.Minute
	tests := []struct {
		name   string
		pauses []time.Duration
		want   string
	}{
		{"long but lively", []time.Duration{9 * minute, 9 * minute, 9 * minute}, "done"},
		{"stuck from the start", []time.Duration{-1}, "Error: the sub-agent showed no sign of life for 10m0s and was given up"},
		{"stuck in the middle", []time.Duration{minute, -1}, "Error: the sub-agent showed no sign of life for 10m0s and was given up"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				helper := &worker{seedAgent{agentName: "helper"}, test.pauses, make(chan struct{})}
				root, engine := build(t, agents.AgentConfig{SubAgents: []core.SubAgent{helper}, ToolTimeout: minute, DelegateTimeout: 10 * minute},
					llmtest.Call("delegate", delegation("helper", "work", "")), llmtest.Say("ok"))
				if text, err := root.ChatStream("go").Start().Text(); text != "ok" || err != nil {
					t.Errorf("got %q, %v", text, err)
				}
				if diff := cmp.Diff([]string{test.want}, toolOutputs(engine.Requests()[1])); diff != "" {
					t.Errorf("the root reads (-want +got):\n%s", diff)
				}
				close(helper.freed)
			})
		})
	}
}

// A call that needs approval is refused in a sub-agent, also in one without a Memory. An agent
// that a user talks with needs a Memory in which the call waits.
func TestASubAgentCannotWaitForApproval(t *testing.T) {
	var ran int
	deployer, _ := build(t, agents.AgentConfig{AgentName: "deployer", Tools: []llms.Tool{counted("deploy", core.Behavior{NeedsApproval: true}, &ran)}},
		llmtest.Call("deploy", `{}`), llmtest.Say("A person should deploy it."))
	root, engine := build(t, agents.AgentConfig{SubAgents: []core.SubAgent{deployer}},
		llmtest.Call("delegate", delegation("deployer", "deploy the service", "the rest")), llmtest.Say("Please deploy it."))
	text, err := root.ChatStream("deploy").Start().Text()
	if err != nil || text != "Please deploy it." || ran != 0 {
		t.Errorf("%q, %v; deploy ran %d times", text, err, ran)
	}
	if got := toolOutputs(engine.Requests()[1]); len(got) != 1 || got[0] != "A person should deploy it." {
		t.Errorf("the root reads %q", got)
	}
	if _, err := deployer.ChatStream("deploy").Start().Text(); err == nil || !strings.Contains(err.Error(), "must be Resumable") {
		t.Errorf("without a Memory it says %v", err)
	}
}
