package lcm_test

import (
	"strings"
	"testing"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/recall"
)

// A sub-agent runs on the model of the agent that asks, without being told.
func TestTheCallersModelIsInherited(t *testing.T) {
	l := newLong(t)
	for _, model := range []string{"", "large"} {
		var result string
		read := reader(fact, nil)
		engine := llmtest.New(func(r llms.Request) llmtest.Reply {
			if r.Model != model {
				t.Errorf("a request for the model %q, want %q", r.Model, model)
			}
			if !strings.HasPrefix(r.System, "You are the pilot.") {
				return read(r) // the sub-agent
			}
			if results := r.Messages[len(r.Messages)-1].ToolResults(); len(results) > 0 {
				result = results[0].Output[0].Text
				return llmtest.Say("done")
			}
			return llmtest.Call("lcm_expand_query", map[string]any{"query": "sluice valve", "prompt": "At what pressure does the sluice valve open?"})
		})
		agent, err := agents.New(agents.AgentConfig{
			LLMEngine: engine, Model: model, AgentName: "pilot", SystemPrompt: "You are the pilot.", Tools: l.session.Tools(),
		})
		if err != nil {
			t.Fatal(err)
		}
		stream := agent.ChatStream("At what pressure?").StartContext(t.Context())
		for range stream.EventsContext(t.Context()) {
		}
		if !strings.Contains(result, `"method":"delegated"`) || !strings.Contains(result, "47.25 kPa") || !strings.Contains(result, `"usage":{"calls":2,`) {
			t.Errorf("the answer: %s", result)
		}
	}
}

// A model of the engine's own, and one that is named, come before it.
func TestTheInheritedModelIsTheLastChoice(t *testing.T) {
	none := llmtest.New(func(llms.Request) llmtest.Reply {
		t.Error("the caller's model was asked")
		return llmtest.Status(500, "no")
	})
	own := llmtest.New(reader(fact, nil))
	ctx := llms.WithModel(t.Context(), none)
	for name, l := range map[string]*long{"the engine's": newLong(t, lcm.WithAskModel(own)), "the request's": newLong(t)} {
		r := recall.Question{Query: "sluice valve", Prompt: "At what pressure does the sluice valve open?"}
		if name == "the request's" {
			r.Model = own
		}
		a, err := l.session.Ask(ctx, r)
		if err != nil || a.Method != recall.MethodDelegated {
			t.Errorf("%s: %v %s (%s)", name, err, a.Method, a.Reason)
		}
	}
}
