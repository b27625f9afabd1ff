package compact_test

import (
	"fmt"
	"testing"

	"github.com/lossless-context/lcm/internal/view/assemble"
	"github.com/lossless-context/lcm/internal/view/compact"
)

// Cases that lie just on, below or above a number in Plan: a change of the
// number, or of the comparison with it, changes one of them.
func TestPlanAtItsBoundaries(t *testing.T) {
	big := compact.Limits{Budget: 128_000}
	pressed := compact.Limits{Budget: 128_000, Soft: 60_000, Hard: 80_000}
	tail := compact.Policy{LeafChunkTokens: 20_000, TargetTokens: 2_400, Fanout: 8, SummaryPrefixTokens: 20_000,
		Policy: assemble.Policy{FreshTail: 2, FreshTailTokens: 100_000}}
	one := compact.Policy{LeafChunkTokens: 200_000, Policy: assemble.Policy{FreshTailTokens: 1}}
	const (
		relaxed = "exhausted: everything outside the fresh tail is folded as far as the soft threshold asks for"
		stuck   = "exhausted: the fresh tail and the newest user message leave no room; nothing else is left to fold"
	)
	tiny := compact.Limits{Budget: 128_000, Soft: 500, Hard: 1000}
	// Calls that overlap, each answered after the next one, around the newest
	// user message.
	overlap := func(last int) string {
		s := "(0:5000 u:100 "
		for i := range 6 {
			s += fmt.Sprintf("(%d:2500 )%d:2500 ", i+1, i)
		}
		return s + fmt.Sprintf(")6:%d a:22500 a:22500", last)
	}
	tests := []struct {
		name string
		view string
		lim  compact.Limits
		pol  compact.Policy
		want string
	}{
		{"at the soft threshold", repeat("a:1000", 96), big, tail, "leaf 0-20 depth 0, 20000 to 2400"},
		{"a token below the soft threshold", repeat("a:1000", 95) + " a:999", big, tail, "nothing"},
		{"at the soft threshold of the default budget", repeat("a:1000", 96), compact.Limits{}, tail, "leaf 0-20 depth 0, 20000 to 2400"},
		{"a token below that", repeat("a:1000", 95) + " a:999", compact.Limits{}, tail, "nothing"},
		{"no more than the low threshold needs", repeat("a:1000", 70), compact.Limits{Budget: 128_000, Soft: 64_000, Low: 60_000}, tail, "leaf 0-5 depth 0, 5000 to 1750"},
		{"a token below the hard limit", repeat("a:1000", 77) + " a:2999", pressed, tail, "leaf 0-20 depth 0, 20000 to 2400"},
		{"at the hard limit", repeat("a:1000", 80), pressed, tail, "leaf 0-20 depth 0 pressure, 20000 to 2400"},

		{"the tail has half the budget", repeat("a:4000", 30), big, compact.Policy{LeafChunkTokens: 200_000}, "leaf 0-7 depth 0, 28000 to 2000"},
		{"a tail of one token is the newest message", repeat("a:4000", 30), big, one, "leaf 0-7 depth 0, 28000 to 2000"},

		{"instructions of an eighth stay", "i:5000 i:5000 " + repeat("a:1000", 11) + " " + repeat("u:30000", 2), pressed, tail, "leaf 2-13 depth 0 pressure, 11000 to 2400"},
		{"instructions of more than an eighth go", "i:5000 i:5001 " + repeat("a:1000", 11) + " " + repeat("u:30000", 2), pressed, tail, "leaf 1-13 depth 0 pressure, 16001 to 2400"},
		{"instructions after a message go", "a:1000 i:5000 " + repeat("a:1000", 11) + " " + repeat("u:30000", 2), pressed, tail, "leaf 0-13 depth 0, 17000 to 2400"},
		{"instructions are not folded for the soft threshold", "i:10000 u:33000 u:33000", pressed, tail, relaxed},
		{"instructions are folded last", "i:10000 u:35000 u:35000", pressed, tail, "leaf 0-1 depth 0 pressure, 10000 to 2400"},
		{"instructions are not folded while a stub helps", "i:10000 u:10 a:70001", pressed, tail, "stub 2"},
		{"instructions end at the gap", "i:5000 i:5000 | " + repeat("i:1000", 80), pressed, tail, "leaf 2-22 depth 0 pressure, 20000 to 2400"},

		{"calls that hold half the limit together", overlap(4900), pressed, tail, stuck},
		{"calls that hold more than half together", overlap(4901), pressed, tail, "leaf 2-10 depth 0 pressure, 20000 to 2400"},

		{"a full chunk before half an older one", repeat("a:1000", 9) + " a:999 s0:3000 " + repeat("a:1000", 10) + " " + repeat("u:42000", 2), big, tail, "leaf 11-21 depth 0, 10000 to 2400"},
		{"the older of two chunks", repeat("a:1000", 10) + " s0:3000 " + repeat("a:1000", 10) + " " + repeat("u:42000", 2), big, tail, "leaf 0-10 depth 0, 10000 to 2400"},
		{"a rest before the tail will grow", repeat("a:1000", 21) + " " + repeat("u:40000", 2), big, tail, "leaf 0-20 depth 0, 20000 to 2400"},
		{"a rest before a summary goes along", repeat("a:1000", 21) + " s0:3000 " + repeat("u:40000", 2), big, tail, "leaf 0-21 depth 0, 21000 to 2400"},

		{"crowded summaries of two depths are condensed together", "s2:12000 s1:12000 " + repeat("u:40000", 2), big, tail, "condensed 0-2 depth 3, 24000 to 2400"},
		{"one crowded summary is not condensed alone", "s2:24000 " + repeat("u:40000", 2), big, tail, relaxed},
		{"two are, with what stands between them", "s1:12000 s0:300 s1:12000 " + repeat("u:40000", 2), big, tail, "condensed 0-3 depth 2, 24300 to 2400"},
		{"messages are folded first where summaries have no neighbours", "s2:12000 a:3000 s1:12000 " + repeat("u:40000", 2), big, tail, "leaf 1-2 depth 0, 3000 to 1050"},

		{"a leaf of twice the floor", "s0:140 a:240 s1:140 u:300 u:200", tiny, tail, "leaf 1-2 depth 0 pressure, 240 to 84"},
		{"less than twice the floor", "s0:140 a:239 s1:140 u:300 u:200", tiny, tail, "condensed 0-2 depth 1 pressure, 379 to 132"},
		{"neighbours that a summary is smaller than", "s0:78 a:79 u:443 u:400", tiny, tail, "condensed 0-2 depth 1 pressure, 157 to 24"},
		{"neighbours that are not the first items", "i:100 s0:78 a:79 u:443 u:300", tiny, tail, "condensed 1-3 depth 1 pressure, 157 to 24"},
		{"neighbours that no summary is smaller than", "s0:78 a:78 u:444 u:400", tiny, tail, stuck},

		{"a summary that is worth writing again", "s0:172 u:443 u:400", tiny, tail, "condensed 0-1 depth 1 pressure, 172 to 24"},
		{"a summary that is not", "s0:171 u:443 u:400", tiny, tail, stuck},

		{"a third of a small run", "a:1000 u:300 u:200", tiny, tail, "leaf 0-1 depth 0 pressure, 1000 to 350"},
		{"the room beside the floor", repeat("s0:30", 17) + " u:300 u:200", tiny, tail, "condensed 0-16 depth 1 pressure, 480 to 71"},
		{"seventeen summaries as long as one", repeat("s0:24", 17) + " u:400 u:300", tiny, tail, stuck},
		{"seventeen summaries a token longer", repeat("s0:24", 16) + " s0:25 u:400 u:300", tiny, tail, "condensed 0-17 depth 1 pressure, 409 to 24"},

		{"a message of seven eighths", "a:10000 u:10 a:70000", pressed, tail, "leaf 0-1 depth 0 pressure, 10000 to 2400"},
		{"a message of more than seven eighths", "a:10000 u:10 a:70001", pressed, tail, "stub 2"},
		{"a pinned message of the whole limit", "u:80000 a:10", pressed, tail, stuck},
		{"a pinned message beyond the limit", "u:80001 a:10", pressed, tail, "stub 0"},
		{"a pinned message of the whole limit in the tail", "a:10000 u:80000", pressed, tail, "leaf 0-1 depth 0 pressure, 10000 to 2400"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			step := compact.Plan(view(tt.view), tt.lim, tt.pol)
			got := describe(step)
			if f := step.Fold; f != nil && len(step.Stubs) == 0 {
				got += fmt.Sprintf(", %d to %d", f.Tokens, f.Target)
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	t.Run("a gap of one item", func(t *testing.T) {
		for _, item := range []string{"a:1000", "i:1000"} {
			v := view(repeat(item, 5) + " | " + repeat(item, 90))
			v.Skipped, v.Count = 1, len(v.Items)+1
			if got := describe(compact.Plan(v, big, tail)); got != "leaf 5-25 depth 0 pressure" {
				t.Errorf("%s: %s", item, got)
			}
		}
	})
}
