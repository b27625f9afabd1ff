package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/llms"
)

// TestAfterCompaction: a session that the host has compacted with lcm's summary is folded again
// when its next turn is above the budget.
func TestAfterCompaction(t *testing.T) {
	l := &loop{adapter: start(t, t.TempDir(), "loop"), session: "s"}
	const budget = 40_000
	for i := range 150 {
		l.step(i, 200)
		l.ingest()
		l.assemble(budget)
	}
	var c struct{ Summary string }
	if err := json.Unmarshal(l.ask("compact", map[string]any{"session": "s", "budget": 4000}), &c); err != nil {
		t.Fatal(err)
	}
	// The host goes on with the summary, the last exchange and what is new.
	ids := l.stored
	tail := l.history[len(l.history)-2:]
	l.history = append([]any{map[string]any{"role": "user", "content": "What did we do so far?"}, map[string]any{"role": "user", "content": c.Summary}}, tail...)
	before := len(l.history)
	for i := range 60 {
		l.step(200+i, 200)
		var fresh []any
		for _, m := range l.history[before:] {
			fresh = append(fresh, map[string]any{"id": fmt.Sprint("m", ids), "message": m})
			ids++
		}
		before = len(l.history)
		l.ask("ingest", map[string]any{"session": "s", "form": "openai", "messages": fresh})
		sent, got := l.assemble(budget)
		valid(t, sent)
		if got.Tokens > budget || got.Over != "" {
			t.Fatalf("step %d: %d tokens: %s", i, got.Tokens, got.Over)
		}
	}
}

// TestCompactBudget: a summary is within its budget, and a budget that is too small is an error.
func TestCompactBudget(t *testing.T) {
	for _, large := range []int{0, 8_000, 60_000} {
		l := &loop{adapter: start(t, t.TempDir(), "loop"), session: "s"}
		for i := range 60 {
			l.step(i, 60)
		}
		l.history = append(l.history, map[string]any{"role": "user", "content": "Look at this. " + prose(large)})
		l.ingest()
		for _, budget := range []int{16_000, 4_000, 2_000, 1_500, 1_200, 1_000} {
			var c struct {
				Summary string
				Tokens  int
			}
			if err := json.Unmarshal(l.ask("compact", map[string]any{"session": "s", "budget": budget}), &c); err != nil || c.Tokens != llms.Estimate.Count(c.Summary) || c.Tokens > budget {
				t.Errorf("a prompt of %d tokens, a budget of %d: %d tokens: %v", large, budget, c.Tokens, err)
			}
		}
		for _, budget := range []int{999, 1, -1} {
			if got := l.get("compact", map[string]any{"session": "s", "budget": budget}); got.Error == nil || got.Error.Code != "bad_request" || !strings.Contains(got.Error.Message, "1000") {
				t.Errorf("a budget of %d: %+v", budget, got)
			}
		}
	}
}
