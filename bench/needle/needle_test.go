package needle_test

import (
	"strings"
	"testing"

	"github.com/lossless-context/lcm/bench/needle"
)

// Every needle comes first, wherever it lies.
func TestEveryNeedleComesFirst(t *testing.T) {
	r, err := needle.Measure(t.Context(), needle.Options{Sizes: []int{32_000}, Seed: 3, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if want := needle.Positions * 4 * (needle.MaxDepth + 1) * 2; len(r.Finds) != want {
		t.Fatalf("%d needles were looked for, want %d", len(r.Finds), want)
	}
	for _, f := range r.Missed() {
		t.Errorf("missed: %+v", f)
	}
	all := r.Figures(func(needle.Find) bool { return true })
	if all.Calls > 2 || all.Tokens > 4000 {
		t.Errorf("it took %.1f calls and %.0f tokens", all.Calls, all.Tokens)
	}
	if text := r.Text(); !strings.Contains(text, "32000") || !strings.Contains(text, "missed: 0") {
		t.Errorf("the report says:\n%s", text)
	}
}

func TestBadSize(t *testing.T) {
	if _, err := needle.Measure(t.Context(), needle.Options{Sizes: []int{0}}); err == nil {
		t.Error("a haystack of no tokens was measured")
	}
}
