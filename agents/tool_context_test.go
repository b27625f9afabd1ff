package agents_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
)

// A tool may ask the model of its agent and tell the user how far it is.
func TestAToolHasTheModelAndTheStreamOfItsAgent(t *testing.T) {
	ask := tool("ask", func(ctx context.Context, _ map[string]any) (core.Result, error) {
		core.Emit(ctx, core.Event{Kind: core.EventText, Text: "half done"})
		for _, model := range []string{"", "small"} {
			for _, err := range llms.ModelFrom(ctx).Stream(ctx, llms.Request{Model: model}) {
				if err != nil {
					return core.Result{}, err
				}
			}
		}
		return core.TextResult("asked"), nil
	})
	agent, engine := build(t, agents.AgentConfig{Model: "big", Tools: []llms.Tool{ask}}, llmtest.Call("ask", "{}"), llmtest.Say("ok"))
	told := false
	for e := range agent.ChatStream("go").Start().Events() {
		told = told || e.Text == "half done"
	}
	var models []string
	for _, r := range engine.Requests() {
		models = append(models, r.Model)
	}
	if diff := cmp.Diff([]string{"big", "big", "small", "big"}, models); diff != "" || !told {
		t.Errorf("the user is told: %v, the models are (-want +got):\n%s", told, diff)
	}
}

// Tools that run sub-agents may take longer than others.
func TestToolsThatDelegateHaveMoreTime(t *testing.T) {
	for name, want := range map[string]string{
		"delegate": "done", "llm_map": "done", "agentic_map": "done", "sh": "Error: tool 'sh' did not answer within 1m0s and was given up",
	} {
		synctest.Test(t, func(t *testing.T) {
			slow := tool(name, func(context.Context, map[string]any) (core.Result, error) {
				time.Sleep(2 * time.Minute) // virtual time
				return core.TextResult("done"), nil
			})
			agent, engine := build(t, agents.AgentConfig{Tools: []llms.Tool{slow}, ToolTimeout: time.Minute, DelegateTimeout: 3 * time.Minute},
				llmtest.Call(name, "{}"), llmtest.Say("ok"))
			if _, err := agent.ChatStream("go").StartContext(t.Context()).Text(); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Hour) // until the tool that was given up has ended
			if diff := cmp.Diff([]string{want}, toolOutputs(engine.Requests()[1])); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		})
	}
}

// Memories that Go cannot compare are told apart by nobody, and do not end the program.
func TestMemoriesThatCannotBeCompared(t *testing.T) {
	helper, _ := build(t, agents.AgentConfig{AgentName: "helper", Memory: recalling{Transcript: agents.NewTranscript()}}, llmtest.Say("helped"))
	root, engine := build(t, agents.AgentConfig{Memory: recalling{Transcript: agents.NewTranscript()}, SubAgents: []core.SubAgent{helper}},
		llmtest.Call("delegate", delegation("helper", "work", "")), llmtest.Say("ok"))
	if _, err := root.ChatStream("go").Start().Text(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"helped"}, toolOutputs(engine.Requests()[1])); diff != "" {
		t.Error(diff)
	}
}
