package imports

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteLong writes a transcript of Claude Code of so many records, about 1.9 kB
// each on average, as one long session has them: most tools print about a
// kilobyte, one in twenty-five prints tens of kilobytes. It returns how many
// bytes were written.
func WriteLong(out io.Writer, session string, records int, seed uint64) (int64, error) {
	w := newWriter("", seed)
	lines := bufio.NewWriter(out)
	n := w.claudeSession(lines, session, w.printed, func(written int, _ int64) bool { return written < records })
	return n, lines.Flush()
}

// printed is the output of a tool: text of the bundled session, a log whose lines
// all differ, or JSON without a line break.
func (w *writer) printed() string {
	size := 1000 + w.rng.IntN(600)
	if w.rng.IntN(25) == 0 {
		size = 10_000 + w.rng.IntN(30_000)
	}
	var b strings.Builder
	switch w.rng.IntN(4) {
	case 0:
		for b.Len() < size {
			fmt.Fprintf(&b, "%s level=info request=%08x path=/v%d/%s/%d took=%dms\n", w.now(), w.rng.Uint32(), w.rng.IntN(3), w.word(), w.rng.IntN(1e6), w.rng.IntN(900))
		}
	case 1:
		b.WriteString("[")
		for b.Len() < size {
			fmt.Fprintf(&b, `{"id":%d,"name":"%s_%x","score":%.4f,"tags":["%s","%s"]},`, w.rng.IntN(1e9), w.word(), w.rng.IntN(1e5), w.rng.Float64(), w.word(), w.word())
		}
		b.WriteString("{}]")
	default:
		for b.Len() < size {
			b.WriteString(w.say(size))
		}
	}
	return b.String()
}

// word is a word of letters.
func (w *writer) word() string {
	const letters = "etaoinshrdlucmfwypvbgkjqxz"
	b := make([]byte, 3+w.rng.IntN(8))
	for i := range b {
		b[i] = letters[min(w.rng.IntN(len(letters)), w.rng.IntN(len(letters)))]
	}
	return string(b)
}
