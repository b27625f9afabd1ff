package compact

import (
	"math/rand/v2"
	"testing"

	"github.com/lossless-context/lcm/internal/record/store"
)

// The summary before a fold is given for continuity, but not one beyond a gap.
func TestSummaryBeforeAFold(t *testing.T) {
	n := run{view: store.View{Items: []store.Item{{Node: store.Node{Summary: "sum_a"}}, {Node: store.Node{Message: 1}}}, Gap: 1}}
	if got := n.before(Fold{From: 1, To: 2}); got != "sum_a" {
		t.Errorf("got %q", got)
	}
	n.view.Skipped = 7
	if got := n.before(Fold{From: 1, To: 2}); got != "" {
		t.Errorf("beyond a gap: got %q", got)
	}
}

func TestIsTidy(t *testing.T) {
	pieces := []string{
		"a", " ", "\n", "\t", "\r", "\x00", "\x1b", "\x7f", "é", "\u0080", "\u009f", "\u00a0", "\u00c2", "漢", "😀", "\uFFFD",
		"\xc2", "\xff", "\xe6\xbc", "\x85",
	}
	rng := rand.New(rand.NewPCG(1, 2))
	tidy := 0
	for range 20_000 {
		text := ""
		for range rng.IntN(4) {
			text += pieces[rng.IntN(len(pieces))]
		}
		if isTidy(text) != (clean(text) == text) {
			t.Fatalf("isTidy(%q) = %v, clean returns %q", text, isTidy(text), clean(text))
		}
		if isTidy(text) {
			tidy++
		}
	}
	if tidy < 2000 || tidy > 18_000 {
		t.Errorf("%d of 20,000 texts were tidy: the others were hardly tried", tidy)
	}
}
