package compact_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/assemble"
	"github.com/lossless-context/lcm/internal/view/compact"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

const words = "compaction folds older messages into summaries and keeps src/store/fold.go at v1.4.2 while tests run against port 8080 "

func text(n int) string { return strings.Repeat(words, n/len(words)+1)[:n] }

// turn draws the messages of one turn: a question, rounds of tool calls, some
// of them never answered or answered late, and an answer.
func turn(t *rapid.T, n int, budget int) []llms.Message {
	size := func(label string, most int) string { return text(rapid.IntRange(1, most).Draw(t, label)) }
	ms := []llms.Message{llms.User(size("question", 1200))}
	for k := range rapid.IntRange(0, 6).Draw(t, "rounds") {
		a, b := fmt.Sprintf("a%d_%d", n, k), fmt.Sprintf("b%d_%d", n, k)
		call := func(id string) llms.ToolCall { return llms.ToolCall{ID: id, Name: "sh", Arguments: `{"cmd":"make"}`} }
		result := func(id string) llms.Message { return llms.Result(id, "sh", size("output", 900), false) }
		switch rapid.IntRange(0, 6).Draw(t, "shape") {
		case 0, 1, 2:
			ms = append(ms, llms.Calls(size("text", 100), call(a)), result(a))
		case 3:
			ms = append(ms, llms.Calls("", call(a), call(b)), result(b), result(a))
		case 4: // one reply in two records
			ms = append(ms, llms.Calls("", call(a)), llms.Calls("", call(b)), result(a), result(b))
		case 5: // never answered
			ms = append(ms, llms.Calls("", call(a)))
		case 6: // Anthropic's shape
			r := result(a)
			r.Role = llms.RoleUser
			ms = append(ms, llms.Calls("", call(a)), r)
		}
	}
	if rapid.IntRange(0, 30).Draw(t, "huge") == 0 {
		ms = append(ms, llms.Assistant(text(budget*5)))
	}
	return append(ms, llms.Assistant(size("answer", 800)))
}

// checkView checks everything that must hold after a turn.
func checkView(t *rapid.T, s *memory, before, v store.View, lim compact.Limits, pol compact.Policy) {
	if v.Tokens > lim.Hard {
		t.Fatalf("the view has %d tokens, the hard limit is %d:\n%s", v.Tokens, lim.Hard, dump(v))
	}
	for i, id := range s.covered() {
		if id != store.MessageID(i+1) {
			t.Fatalf("message %d of the view's sources is %s", i+1, id)
		}
	}
	if n := len(s.covered()); n != len(s.messages) {
		t.Fatalf("the view leads to %d of %d messages", n, len(s.messages))
	}
	shown := map[store.ID]store.Item{}
	for _, it := range v.Items {
		shown[it.ID] = it
	}
	untouched := func(it store.Item, what string) {
		now, found := shown[it.ID]
		fits := it.Tokens <= lim.Hard-lim.Hard/8
		if !found || (now.Stub && !it.Stub && fits) {
			t.Fatalf("%s of the %s was touched (%d → %d tokens, stub %v, hard limit %d):\n%s\n%s", it.ID, what, it.Tokens, now.Tokens, now.Stub, lim.Hard, dump(before), dump(v))
		}
	}
	policy := pol.Policy
	if policy.FreshTailTokens == 0 {
		policy.FreshTailTokens = lim.Budget / 2
		if lim.Low > 0 {
			policy.FreshTailTokens = min(lim.Budget, lim.Low) * 2 / 5
		}
	}
	for _, it := range before.Items[assemble.Tail(before, policy, lim.Hard):] {
		untouched(it, "tail")
	}
	if pin := assemble.Pinned(before); pin >= 0 {
		untouched(before.Items[pin], "newest user message")
	}
	checkPairs(t, s)
}

// checkPairs checks that each call is on the same side of every fold as its
// result.
func checkPairs(t *rapid.T, s *memory) {
	where := map[string]store.ID{}
	var walk func(n, top store.ID)
	walk = func(n, top store.ID) {
		if n.IsSummary() {
			for _, src := range s.sources[n.Summary] {
				walk(src, top)
			}
			return
		}
		m := s.messages[n.Message-1].Body
		for _, c := range m.ToolCalls() {
			where[c.ID] = top
		}
		for _, r := range m.ToolResults() {
			if called := where[r.CallID]; called.IsSummary() != top.IsSummary() || (top.IsSummary() && called != top) {
				t.Fatalf("call %s is in %s and its result in %s", r.CallID, called, top)
			}
		}
	}
	for _, it := range s.items {
		walk(it.ID, it.ID)
	}
}

func dump(v store.View) string {
	var b strings.Builder
	for _, it := range v.Items {
		fmt.Fprintf(&b, "%s %s depth %d: %d\n", it.ID, it.Role, it.Depth, it.Tokens)
	}
	return b.String()
}

// Each summariser holds several hundred conversations. They fall back to a
// summariser that costs next to nothing, except for two that use the real one.
func TestViewStaysWithinTheHardLimit_Long(t *testing.T) {
	for name, s := range hostile() {
		t.Run(name, func(t *testing.T) {
			talk := conversing{primary: s, fallback: &summariser{write: cut}}
			if name == "hang" {
				talk.bounds.SummaryTimeout = 10 * time.Microsecond
			}
			if name == "fail" {
				talk.fallback = nil
			}
			for range 3 {
				rapid.Check(t, talk.converse)
			}
		})
	}
	t.Run("extractive", func(t *testing.T) { rapid.Check(t, conversing{}.converse) })
	t.Run("low threshold", func(t *testing.T) {
		rapid.Check(t, conversing{fallback: &summariser{write: cut}, low: true}.converse)
	})
}

// cut keeps the beginning of the material.
func cut(_ context.Context, r summary.Request) (string, error) {
	return text(min(len(material(r)), 2*r.Target)) + "\n" + summary.Footer + "the rest", nil
}

// conversing has the settings with which conversations are compacted.
type conversing struct {
	primary  *summariser
	fallback summary.Summariser
	bounds   compact.Bounds
	low      bool // with a low threshold
}

// converse holds a conversation and compacts it as an engine would.
func (c conversing) converse(t *rapid.T) {
	ctx := context.Background()
	s := newMemory()
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	s.clock = func() time.Time { return now }
	budget := rapid.IntRange(4000, 10000).Draw(t, "budget")
	lim := compact.Limits{Budget: budget, Soft: budget * 75 / 100, Hard: budget * 95 / 100}
	if c.low {
		lim.Low = budget * rapid.IntRange(10, 70).Draw(t, "low") / 100
	}
	pol := compact.Policy{Policy: assemble.Policy{FreshTail: rapid.IntRange(1, 64).Draw(t, "tail")}}
	cfg := compact.Config{Store: s, State: s, Fallback: c.fallback, Policy: pol, Bounds: c.bounds, Clock: s.clock, Owner: "test"}
	calls := func() int64 { return 0 }
	if c.primary != nil {
		cfg.Summariser = c.primary
		calls = c.primary.calls.Load
	}
	r, err := compact.NewRunner(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for n := range rapid.IntRange(1, 30).Draw(t, "turns") {
		s.append(turn(t, n, budget)...)
		before, _ := s.View(ctx, 1, store.Window{})
		called := calls()
		mode := compact.Soft
		if before.Tokens >= lim.Hard {
			mode = compact.Hard
		}
		rep, err := r.Run(ctx, 1, lim, mode)
		if err != nil {
			t.Fatal(err)
		}
		after, _ := s.View(ctx, 1, store.Window{})
		if rep.TokensAfter != after.Tokens || rep.Passes > 64 {
			t.Fatalf("%v, but the view has %d tokens", rep, after.Tokens)
		}
		if before.Tokens < lim.Soft && (rep.Reason != compact.Below || !slices.EqualFunc(before.Items, after.Items, func(a, b store.Item) bool { return a.ID == b.ID })) {
			t.Fatalf("below the soft threshold: %v", rep)
		}
		if before.Tokens < lim.Soft && calls() != called {
			t.Fatal("the summariser was called below the soft threshold")
		}
		checkView(t, s, before, after, lim, pol)
		now = now.Add(time.Minute) // calls are bounded per window
	}
	for _, made := range s.summaries {
		if !summary.HasFooter(made.Body) || made.Level == "" || made.Method == "" {
			t.Fatalf("summary %+v", made)
		}
	}
}
