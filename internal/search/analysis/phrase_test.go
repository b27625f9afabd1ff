package analysis

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The quick test never rejects what the exact one accepts.
func TestQuickTestIsSound(t *testing.T) {
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
		if ContainsRun(RawWords(text), run) && !MayHold(text, run) {
			t.Fatalf("%q holds %q", text, run)
		}
	})
}
