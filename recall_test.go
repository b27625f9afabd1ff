package lcm_test

import (
	"strings"
	"testing"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/kit/toolname"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/recall"
)

// The calls of a search are in the record before it runs. It neither finds them nor
// advises the model to look for them.
func TestAnAgentsSearchDoesNotFindItself(t *testing.T) {
	l := newLong(t)
	var results []string
	engine := llmtest.New(func(r llms.Request) llmtest.Reply {
		for _, result := range r.Messages[len(r.Messages)-1].ToolResults() {
			results = append(results, result.Output[0].Text)
		}
		if len(results) == 2 {
			return llmtest.Say("nothing")
		}
		return llmtest.Call(toolname.Grep, map[string]any{"pattern": "zebra"})
	})
	agent, err := agents.New(agents.AgentConfig{LLMEngine: engine, AgentName: "pilot", Memory: l.session.Memory(0)})
	if err != nil {
		t.Fatal(err)
	}
	for range agent.ChatStream("Which striped animal did we meet?").StartContext(t.Context()).EventsContext(t.Context()) {
	}
	if len(results) != 2 {
		t.Fatalf("%d results", len(results))
	}
	for _, result := range results {
		if !strings.Contains(result, `"total":0`) || strings.Contains(result, "everything: true") {
			t.Errorf("the answer: %s", result)
		}
	}
}

// A pattern of plain words that matches nothing is read as words, unless the caller says
// that it is a regex.
func TestARegexThatWasAskedForStaysOne(t *testing.T) {
	l := newLong(t)
	for mode, want := range map[string]int{"": 1, "full_text": 1, "regex": 0} {
		a, err := l.session.Grep(t.Context(), recall.GrepRequest{Pattern: "valve sluice", Mode: recall.Mode(mode)})
		if err != nil || min(a.Total, 1) != want {
			t.Errorf("mode %q: %v, %d matches", mode, err, a.Total)
		}
	}
}

func TestAskNeedsOnlyAPrompt(t *testing.T) {
	l := newLong(t)
	a, err := l.session.Ask(t.Context(), recall.Question{Prompt: "At what pressure does the sluice valve open?"})
	if err != nil || !strings.Contains(a.Answer, "47.25 kPa") {
		t.Errorf("%v: %s", err, a.Answer)
	}
}

// A program reads the fields to set in the error, and an agent the arguments.
func TestRecallSaysWhereToLook(t *testing.T) {
	l := newLong(t)
	_, err := l.engine.Grep(t.Context(), recall.GrepRequest{Pattern: "valve"})
	_, advice := hint.Split(err)
	for _, want := range []string{"Where.ConversationID", "Where.AllConversations", "conversationId", "allConversations: true"} {
		if !strings.Contains(advice, want) {
			t.Errorf("%v: the hint %q does not name %s", err, advice, want)
		}
	}
	got, err := l.engine.Grep(t.Context(), recall.GrepRequest{Pattern: "valve", Where: recall.Where{AllConversations: true}})
	if err != nil || got.Total == 0 {
		t.Errorf("%d matches: %v", got.Total, err)
	}
}

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
