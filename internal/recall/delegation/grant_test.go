package delegation_test

import (
	"context"
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
		return says("read"), nil
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
