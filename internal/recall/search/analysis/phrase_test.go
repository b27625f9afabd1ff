package analysis

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A text holds a run of words if its words do.
func TestHolds(t *testing.T) {
	pieces := []string{"don't", "Anna's", "dogs'", "'s", "s", "fooBar", "snake_case", "__x__", "a", "B", "it", "'", " ", "  ", ", ", "-", ".", "/", "_", "é", "９", "\n", "v1.2", "O'Neil's", "x'y'z", "’", "don’t", "Anna’s", "’s", "—", "“", "…", "配置", "🎉", "\xff", "\xe2\x80"}
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 12).Draw(t, "text"), ""))
		words := PlainWords(text)
		if len(words) == 0 {
			return
		}
		from := rapid.IntRange(0, len(words)-1).Draw(t, "from")
		to := rapid.IntRange(from+1, len(words)).Draw(t, "to")
		run := words[from:to]
		at := bytes.Clone(text)
		if len(words) > 2 && rapid.Bool().Draw(t, "other") { // a text that may not have the run
			at = []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 12).Draw(t, "text"), ""))
		}
		if got, want := Holds(at, run), ContainsRun(RawWords(at), run); got != want {
			t.Fatalf("%q holds %q: %v, want %v", at, run, got, want)
		}
	})
}
