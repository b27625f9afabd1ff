package delegation_test

import (
	"context"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/recall/delegation"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// A sub-agent whose first reply cannot be read may still read the record if it has read nothing; one that has
// read is only to repeat its answer.
func TestAnUnreadableReplyIsAskedForAgain(t *testing.T) {
	for _, lazy := range []bool{true, false} {
		runner := &scripted{lazy: lazy}
		runner.do = func(ctx context.Context, s *subAgent, _ string) (string, error) {
			if s.turns == 1 {
				return "Let me think.", nil
			}
			page := s.expand(ctx, map[string]any{"messageIds": []string{"msg_1"}})
			if strings.HasPrefix(page, "Error") == lazy {
				t.Errorf("lazy %v: %s", lazy, page)
			}
			return says("12 fathoms", "msg_1"), nil
		}
		f := newFixture(t, func(c *delegation.Config) { c.Runner = runner })
		c := f.talk("s", "the anchor lies at 12 fathoms")
		a, err := f.Ask(t.Context(), recall.Question{Query: "anchor", Prompt: "How deep?", Where: recall.Where{Current: c}})
		if err != nil || a.Method != recall.MethodDelegated || a.Answer != "12 fathoms" {
			t.Errorf("lazy %v: %+v, %v", lazy, a, err)
		}
	}
}

// lcm_expand finds summaries by words, among those that were granted.
func TestExpandByWords(t *testing.T) {
	h := newHarbour(t, recall.Limits{})
	h.ask(func(use func(string, map[string]any) string) string {
		for _, c := range []struct {
			args map[string]any
			want string
		}{
			{map[string]any{"query": "measured"}, "12 fathoms"},
			{map[string]any{"query": "fathoms", "conversationId": 1}, "12 fathoms"},
			{map[string]any{"query": "keel"}, `nothing that you may expand matches "keel"`},
			{map[string]any{"query": " "}, "say what to expand"},
			{map[string]any{"query": "anchor", "conversationId": 9}, "conversation 9 is not part of the grant"},
			{map[string]any{"messageIds": []string{"msg_5"}}, "you may expand " + string(h.granted)},
		} {
			if text := use("lcm_expand", c.args); !strings.Contains(text, c.want) || strings.Contains(text, "sold for") {
				t.Errorf("%v: %.300s", c.args, text)
			}
		}
		return says("12 fathoms", "msg_1")
	})
}

// A sub-agent goes no deeper in one call than the limits allow, and is told which messages it may read.
func TestExpandToADepth(t *testing.T) {
	runner := &scripted{lazy: true}
	f := newFixture(t, func(c *delegation.Config) { c.Runner, c.Limits.Depth = runner, 1 })
	c := f.talk("s", "the anchor lies at 12 fathoms", "the tide is low", "the keel is sound", "an anchor of spare iron")
	leaf := f.fold(c, 2, "It was measured.")
	top := f.fold(c, 2, "All was measured.")
	runner.do = func(ctx context.Context, s *subAgent, _ string) (string, error) {
		for _, depth := range []map[string]any{{}, {"maxDepth": 1}, {"maxDepth": 5}} {
			depth["summaryIds"] = []string{string(top)}
			if got := pieces(s.expand(ctx, depth)); got[string(leaf)] == "" || got["msg_3"] == "" || got["msg_1"] != "" {
				t.Errorf("%v: %v", depth, got)
			}
		}
		if text := s.expand(ctx, map[string]any{"messageIds": []string{"msg_99"}}); !strings.Contains(text, "msg_4") {
			t.Errorf("it is not told what it may read: %s", text)
		}
		return says("12 fathoms", string(leaf)), nil
	}
	if _, err := f.Ask(t.Context(), recall.Question{SummaryIDs: []store.SummaryID{top}, Query: "spare iron", Prompt: "How deep?", Where: recall.Where{Current: c}}); err != nil {
		t.Fatal(err)
	}
}
