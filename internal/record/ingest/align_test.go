package ingest

import (
	"fmt"
	"testing"
)

// TestAlign: letters are messages. A run of three is certain, and so is one that is all there
// is; of two places the first is taken, and a common beginning may be a single message.
func TestAlign(t *testing.T) {
	for _, c := range []struct {
		stored, history, of string
		doubtful            int
	}{
		{"abcde", "cdey", "[2 3 4 -1]", 0},
		{"abcde", "dey", "[-1 -1 -1]", 2},
		{"de", "dey", "[0 1 -1]", 0},
		{"abcde", "de", "[3 4]", 0},
		{"abcd", "ax", "[0 -1]", 0},
		{"abcd", "xy", "[-1 -1]", 0},
		{"abc", "abcxabcy", "[0 1 2 -1 -1 -1 -1 -1]", 0},
		{"", "ab", "[-1 -1]", 0},
	} {
		var all []stored
		for _, r := range c.stored {
			all = append(all, stored{hash: hash{byte(r)}})
		}
		var h []hash
		for _, r := range c.history {
			h = append(h, hash{byte(r)})
		}
		if got, _ := align(all, h); fmt.Sprint(got.of) != c.of || got.doubtful != c.doubtful {
			t.Errorf("%q in %q: %v, %d doubtful; want %s, %d", c.history, c.stored, got.of, got.doubtful, c.of, c.doubtful)
		}
	}
}
