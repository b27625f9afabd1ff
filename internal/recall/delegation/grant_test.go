package delegation_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/recall/delegation"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// A sub-agent that keeps its tool can do nothing with it once the question is
// over, and one that is slow is told to answer.
func TestGrantsEnd(t *testing.T) {
	now := time.Date(2026, 2, 1, 8, 0, 0, 0, time.UTC)
	var runner scripted
	var kept *subAgent
	var late string
	args := map[string]any{"messageIds": []string{"msg_1"}}
	runner.do = func(ctx context.Context, s *subAgent, _ string) (string, error) {
		kept = s
		now = now.Add(time.Hour)
		late = s.expand(ctx, args)
		return says("yes"), nil
	}
	f := newFixture(t, func(c *delegation.Config) {
		c.Runner = &runner
		c.Clock = func() time.Time { return now }
	})
	c := f.talk("s", "the anchor is down")
	if _, err := f.Ask(t.Context(), recall.Question{Query: "anchor", Prompt: "Is it?", Where: recall.Where{Current: c}}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(late, "has expired: answer now") {
		t.Errorf("after its expiry: %s", late)
	}
	if after := kept.expand(t.Context(), args); !strings.Contains(after, "was revoked") {
		t.Errorf("after the question: %s", after)
	}
}

// Pages end inside a message where they must, and go on at the same byte: read
// to the end they hold every message once, whole.
func TestPagesAddUp(t *testing.T) {
	texts := []string{
		strings.Repeat("первое слово 字 🙂 and some more; ", 40), "short", strings.Repeat("0123456789 ", 120),
		"the anchor", strings.Repeat("last words, ", 50),
	}
	read := map[string]string{}
	pages := 0
	var folded store.SummaryID
	var runner scripted
	runner.do = func(ctx context.Context, s *subAgent, _ string) (string, error) {
		args := map[string]any{"messageIds": []string{"msg_4", "msg_5"}, "summaryIds": []string{string(folded)}, "tokenCap": 60}
		for {
			page := s.expand(ctx, args)
			if strings.HasPrefix(page, "Error") {
				t.Error(page)
				break
			}
			pages++
			for id, text := range pieces(page) {
				read[id] += text
			}
			_, next, more := strings.Cut(page, `cursor "`)
			if !more {
				break
			}
			args["cursor"] = next[:strings.Index(next, `"`)]
		}
		return says("read", "msg_5"), nil
	}
	f := newFixture(t, func(c *delegation.Config) { c.Runner = &runner })
	c := f.talk("s", texts...)
	folded = f.fold(c, 3, "Things were said.")
	a, err := f.Ask(t.Context(), recall.Question{
		SummaryIDs: []store.SummaryID{folded}, Query: "anchor last words", Prompt: "What was said?", Where: recall.Where{Current: c},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range []string{"msg_1", "msg_2", "msg_3", "msg_4", "msg_5"} {
		if read[id] != texts[i] {
			t.Errorf("%s was read as %q", id, read[id])
		}
	}
	if pages < 10 || a.ExpandedSummaryCount != 1 || a.Truncated {
		t.Errorf("%d pages, %+v", pages, a)
	}
}

// A summary whose messages are read by their own ids counts as expanded; a search that
// shows a passage of a message, and a description of the summary itself, expand nothing.
func TestASummaryReadByItsMessagesIsExpanded(t *testing.T) {
	for _, test := range []struct {
		tool string
		args func(store.SummaryID) map[string]any
		want int
		also []string // the quoted message
	}{
		{"lcm_expand", func(store.SummaryID) map[string]any { return map[string]any{"messageIds": []string{"msg_1"}} }, 1, []string{"msg_1"}},
		{"lcm_describe", func(store.SummaryID) map[string]any { return map[string]any{"id": "msg_1"} }, 1, []string{"msg_1"}},
		{"lcm_grep", func(store.SummaryID) map[string]any { return map[string]any{"pattern": "anchor", "scope": "messages"} }, 0, []string{"msg_1"}},
		{"lcm_describe", func(id store.SummaryID) map[string]any { return map[string]any{"id": string(id)} }, 0, nil},
	} {
		var leaf store.SummaryID
		runner := &scripted{lazy: true}
		runner.do = func(ctx context.Context, s *subAgent, _ string) (string, error) {
			if page := call(ctx, s.child, test.tool, test.args(leaf)); strings.HasPrefix(page, "Error: ") {
				t.Error(page)
			}
			return says("12 fathoms", string(leaf)), nil
		}
		f := newFixture(t, func(c *delegation.Config) { c.Runner = runner })
		c := f.talk("s", "the anchor lies at 12 fathoms", "the tide is low")
		leaf = f.fold(c, 2, "The anchor lies at 12 fathoms.")
		a, err := f.Ask(t.Context(), recall.Question{SummaryIDs: []store.SummaryID{leaf}, Prompt: "How deep?", Where: recall.Where{Current: c}})
		if err != nil || a.Method != recall.MethodDelegated || a.ExpandedSummaryCount != test.want || !slices.Equal(asTexts(a.CitedIDs), append([]string{string(leaf)}, test.also...)) {
			t.Errorf("%s: %v, %s (%s), %d expanded, cited %v", test.tool, err, a.Method, a.Reason, a.ExpandedSummaryCount, a.CitedIDs)
		}
	}
}
