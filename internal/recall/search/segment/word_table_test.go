package segment

import (
	"testing"

	"pgregory.net/rapid"
)

// The table is a map.
func TestTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringN(1, 4, 8), 0, 400).Draw(t, "words")
		want := make(map[string]uint32)
		table := newTable(0)
		for i, w := range words {
			n, ok := table.get([]byte(w))
			if have, known := want[w]; ok != known || n != have {
				t.Fatalf("%q: %d, %v, want %d, %v", w, n, ok, have, known)
			}
			if !ok {
				start, length := table.put([]byte(w), uint32(i+1))
				if got := string(table.words[start : start+length]); got != w {
					t.Fatalf("%q is kept as %q", w, got)
				}
				want[w] = uint32(i + 1)
			}
		}
	})
}
