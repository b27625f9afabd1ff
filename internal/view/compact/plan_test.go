package compact_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/assemble"
	"github.com/lossless-context/lcm/internal/view/compact"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

// view reads a compact notation, an item a word: "u", "a", "i" (system), "(x" and
// ")x" are messages, "s0" a summary of depth 0; ":n" gives its tokens (100 if it
// is missing), "|" is a gap.
func view(notation string) store.View {
	v := store.View{Conversation: 1}
	for _, word := range strings.Fields(notation) {
		if word == "|" {
			v.Skipped, v.Gap = 1000, len(v.Items)
			continue
		}
		name, tokens, sized := strings.Cut(word, ":")
		n := len(v.Items) + 1
		it := store.Item{Pos: int64(n), ID: store.ID{Message: store.MessageID(n)}, Tokens: 100, Role: llms.RoleAssistant}
		if sized {
			fmt.Sscan(tokens, &it.Tokens)
		}
		switch name[0] {
		case 'u':
			it.Role = llms.RoleUser
			v.LastUser = it.Pos
		case 'i':
			it.Role = llms.RoleSystem
		case 's':
			it.ID, it.Role = store.ID{Summary: store.SummaryID(fmt.Sprintf("sum_%016x", n))}, ""
			fmt.Sscan(name[1:], &it.Depth)
		case '(':
			it.Calls = []string{name[1:]}
		case ')':
			it.Role, it.Results = llms.RoleTool, []string{name[1:]}
		}
		v.Items = append(v.Items, it)
		v.Tokens += it.Tokens
	}
	v.Count = len(v.Items) + v.Skipped
	if v.Skipped == 0 {
		v.Gap = len(v.Items)
	} else {
		v.Tokens += 100 * v.Skipped
	}
	return v
}

func repeat(word string, n int) string { return strings.TrimSpace(strings.Repeat(word+" ", n)) }

// At a budget of 128,000 a policy applies as it is written.
func TestPlan(t *testing.T) {
	big := compact.Limits{Budget: 128_000}
	pressed := compact.Limits{Budget: 128_000, Soft: 60_000, Hard: 80_000}
	small := compact.Limits{Budget: 4000}
	tail := compact.Policy{LeafChunkTokens: 20_000, TargetTokens: 2_400, Fanout: 8, SummaryPrefixTokens: 20_000,
		Policy: assemble.Policy{FreshTail: 2, FreshTailTokens: 100_000}}
	const (
		relaxed = "exhausted: everything outside the fresh tail is folded as far as the soft threshold asks for"
		stuck   = "exhausted: the fresh tail and the newest user message leave no room; nothing else is left to fold"
	)
	tests := []struct {
		name string
		view string
		lim  compact.Limits
		pol  compact.Policy
		want string
	}{
		{"below the threshold", repeat("u:900 a:99", 90), big, tail, "nothing"},
		{"oldest chunk", repeat("u:1000 a:1000", 60), big, tail, "leaf 0-20 depth 0"},
		{"chunk ends at a legal cut", repeat("a:1000", 19) + " (1:500 )1:900 " + repeat("u:1000", 90), big, tail, "leaf 0-19 depth 0"},
		{"one message beyond the chunk size is not alone", "a:50000 " + repeat("u:1000", 60), big, tail, "leaf 0-16 depth 0"},
		{"messages before summaries", repeat("s0:2500", 8) + " " + repeat("u:1000", 90), big, tail, "leaf 8-28 depth 0"},
		{"condense when the prefix is large", repeat("s0:2500", 12) + " u:3000 " + repeat("u:32000", 2), big, tail, "condensed 0-8 depth 1"},
		{"shallowest first", repeat("s1:2500", 4) + " " + repeat("s0:2500", 8) + " " + repeat("u:33000", 2), big, tail, "condensed 4-12 depth 1"},
		{"too few to condense", repeat("s0:2500", 7) + " " + repeat("u:40000", 2), big, tail, relaxed},
		{"fan-out of two above the hard limit", repeat("s0:10000", 2) + " " + repeat("u:33000", 2), pressed, tail, "condensed 0-2 depth 1 pressure"},
		{"stranded messages go along", repeat("s0:2500", 4) + " u:300 " + repeat("s0:2500", 4) + " " + repeat("u:40000", 2), big, tail, "condensed 0-9 depth 1"},
		{"stranded summaries go along", "s1:2500 s0:2500 " + repeat("s1:2500", 7) + " " + repeat("u:37000", 2), big, tail, "condensed 0-9 depth 2"},
		{"neighbours of any depth", "s2:10000 s0:9000 " + repeat("u:33000", 2), pressed, tail, "condensed 0-2 depth 3 pressure"},
		{"a lone summary is written again", "s3:20000 " + repeat("u:33000", 2), pressed, tail, "condensed 0-1 depth 4 pressure"},
		{"around the pinned message", "a:1500 a:1500 u:500 " + repeat("(1:500 )1:500", 20) + " (1:33000 )1:33000", pressed, tail, "leaf 3-43 depth 0 pressure"},
		{"never across the pinned message", repeat("a:1000", 11) + " u:500 " + repeat("(1:500 )1:500", 10) + " (1:33000 )1:33000", pressed, tail, "leaf 0-11 depth 0 pressure"},
		{"a pair around the pinned message", repeat("a:1000", 11) + " (1:1000 u:500 )1:1000 " + repeat("(2:500 )2:500", 10) + " (3:33000 )3:33000", pressed, tail, "leaf 0-11 depth 0 pressure"},
		{"never across a gap", repeat("a:1000", 11) + " | " + repeat("a:1000", 20), big, tail, "leaf 0-11 depth 0 pressure"},
		{"only the tail is left", repeat("u:33000", 2) + " (1:8000 )1:8000", pressed, compact.Policy{Policy: assemble.Policy{FreshTail: 4, FreshTailTokens: 200_000}}, "leaf 0-1 depth 0 pressure"},
		{"only the newest round is left", "u:10 (1:45000 )1:40000", pressed, tail, stuck},
		{"a message that can never fit", "u:10 a:4500", small, compact.Policy{}, "stub 1"},
		{"a pinned message that can never fit", "u:4500 (1 )1", small, compact.Policy{}, "stub 0"},
		{"a pinned message that fits alone", "u:3700 (1:150 )1", small, compact.Policy{}, stuck},
		{"small budgets fold small chunks", repeat("u:100 a:100", 18), small, compact.Policy{}, "leaf 0-8 depth 0"},
		{"empty", "", compact.Limits{Budget: 4000, Soft: 1}, compact.Policy{}, "nothing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := describe(compact.Plan(view(tt.view), tt.lim, tt.pol)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func describe(s compact.Step) string {
	switch f := s.Fold; {
	case len(s.Stubs) > 0:
		return "stub " + strings.Trim(fmt.Sprint(s.Stubs), "[]")
	case f != nil:
		d := fmt.Sprintf("%s %d-%d depth %d", f.Kind, f.From, f.To, f.Depth)
		if f.Pressure {
			d += " pressure"
		}
		return d
	case s.Exhausted != "":
		return "exhausted: " + s.Exhausted
	}
	return "nothing"
}

// drawView draws a view that could have come out of compaction, or of a
// broken host.
func drawView(t *rapid.T) store.View {
	var b strings.Builder
	item := rapid.SampledFrom([]string{"u", "a", "a", "(1", ")1", "(2", ")2", "s0", "s0", "s1", "s2"})
	for range rapid.IntRange(0, 60).Draw(t, "items") {
		fmt.Fprintf(&b, "%s:%d ", item.Draw(t, "item"), rapid.IntRange(1, 900).Draw(t, "tokens"))
	}
	return view(b.String())
}

func TestPlannedFoldsAreAllowed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawView(t)
		budget := rapid.IntRange(1000, 20000).Draw(t, "budget")
		lim := compact.Limits{Budget: budget, Soft: budget * 3 / 4, Hard: budget * 95 / 100}
		pol := compact.Policy{Policy: assemble.Policy{FreshTail: rapid.IntRange(1, 20).Draw(t, "tail"), FreshTailTokens: budget / 2}}
		step := compact.Plan(v, lim, pol)
		if again := compact.Plan(v, lim, pol); !cmp.Equal(step, again) {
			t.Fatal("the same view was planned for in two ways")
		}
		if v.Tokens < lim.Soft {
			if describe(step) != "nothing" {
				t.Fatalf("below the soft threshold: %s", describe(step))
			}
			return
		}
		if (step.Exhausted != "") != (step.Fold == nil && len(step.Stubs) == 0) {
			t.Fatalf("%+v", step)
		}
		f := step.Fold
		if f == nil {
			return
		}
		if !allowed(v, f, pol, lim) {
			t.Fatalf("fold %+v of\n%s", f, dump(v))
		}
		tokens, depth, kind := 0, 0, summary.Leaf
		for _, it := range v.Items[f.From:f.To] {
			tokens += it.Tokens
			if it.IsSummary() {
				depth, kind = max(depth, it.Depth+1), summary.Condensed
			}
		}
		if f.Tokens != tokens || f.Depth != depth || f.Kind != kind || f.Target <= 0 || f.Target >= tokens {
			t.Fatalf("fold %+v of %d tokens to depth %d", f, tokens, depth)
		}
	})
}

// allowed reports whether a fold is outside the tail, spares the pinned message
// and parts no pair, unless pairs hold more than half the limit together.
func allowed(v store.View, f *compact.Fold, pol compact.Policy, lim compact.Limits) bool {
	pin := assemble.Pinned(v)
	for _, reach := range assemble.Reaches() {
		cuts := assemble.CutsWithin(v, reach)
		tail := assemble.TailAt(v, cuts, pol.Policy, lim.Hard)
		if f.From < f.To && f.To <= tail && cuts[f.From] && cuts[f.To] && (pin < f.From || pin >= f.To) {
			return true
		}
		if piece(v, cuts) <= lim.Hard/2 {
			break
		}
	}
	return false
}

// piece is the cost of the largest run that may not be parted.
func piece(v store.View, cuts []bool) int {
	largest, tokens := 0, 0
	for i, it := range v.Items {
		if cuts[i] {
			tokens = 0
		}
		tokens += it.Tokens
		largest = max(largest, tokens)
	}
	return largest
}

// Folding as planned, each time to the shortest summary that the plan counts
// on, comes to an end below the hard limit or with only the tail, the pinned
// message and one summary on either side of it.
func TestPlanConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawView(t)
		lim := compact.Limits{Budget: rapid.IntRange(1000, 8000).Draw(t, "budget")}
		lim.Soft, lim.Hard = lim.Budget*3/4, lim.Budget*95/100
		pol := compact.Policy{SummaryFloor: 100, SourceFloor: 10, Policy: assemble.Policy{FreshTailTokens: lim.Budget / 2}}
		for range 200 {
			step := compact.Plan(v, lim, pol)
			f := step.Fold
			if f == nil {
				if v.Tokens < lim.Hard {
					return
				}
				left := assemble.Tail(v, pol.Policy, lim.Hard)
				if assemble.Pinned(v) < left && assemble.Pinned(v) >= 0 {
					left--
				}
				// Small leftovers that no summary is smaller than may remain.
				small := 0
				for _, it := range v.Items[:assemble.Tail(v, pol.Policy, lim.Hard)] {
					if it.Tokens <= 100+10 {
						small++
					}
				}
				if left > 2 && left > small+2 && allLegal(v) {
					t.Fatalf("%d items are left in a view of %d tokens, hard limit %d:\n%s", left, v.Tokens, lim.Hard, dump(v))
				}
				return
			}
			size := min(f.Tokens-1, pol.SummaryFloor+pol.SourceFloor*min(16, f.To-f.From)+f.Target)
			v.Tokens -= f.Tokens - size
			v.Items[f.From] = store.Item{Pos: v.Items[f.From].Pos, ID: store.ID{Summary: "sum_x"}, Tokens: size, Depth: f.Depth}
			v.Items = append(v.Items[:f.From+1], v.Items[f.To:]...)
			v.Gap = len(v.Items)
		}
		t.Fatal("200 folds were not enough")
	})
}

func allLegal(v store.View) bool {
	for _, legal := range assemble.Cuts(v) {
		if !legal {
			return false
		}
	}
	return true
}
