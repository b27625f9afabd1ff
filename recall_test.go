package lcm_test

import (
	"strings"
	"testing"

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
