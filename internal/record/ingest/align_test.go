package ingest

import (
	"fmt"
	"strings"
	"testing"
)

// TestAlign: letters are messages. A run of three is certain, and so is one that is all there
// is; of two places the first is taken, and a common beginning may be a single message.
func TestAlign(t *testing.T) {
	for _, c := range []struct {
		stored, history, of string
		doubtful            int
		repeat              string // for a history that was stored before with a part outside the view
	}{
		{"abcde", "cdey", "[2 3 4 -1]", 0, ""},
		{"abcde", "dey", "[-1 -1 -1]", 2, ""},
		{"de", "dey", "[0 1 -1]", 0, ""},
		{"de", "xdey", "[-1 0 1 -1]", 0, ""},
		{"abcde", "de", "[3 4]", 0, ""},
		{"abcd", "ax", "[0 -1]", 0, ""},
		{"abcd", "xy", "[-1 -1]", 0, ""},
		{"abc", "abcxabcy", "[0 1 2 -1 -1 -1 -1 -1]", 0, ""},
		{"", "ab", "[-1 -1]", 0, ""},
		{"ab", "", "[]", 0, ""},
		{"acde", "axcde", "[0 -1 1 2 3]", 0, ""},
		{"abxcde", "axbcde", "[0 2 1 3 4 5]", 0, ""}, // moved in the middle
		{"ayxzxcde", "axxxcde", "[0 2 -1 4 5 6 7]", 0, ""},
		{"abcde", "cdexe", "[2 3 4 -1 -1]", 0, "[2 3 -1 -1 4]"},
		{"abcde", "ae", "[0 -1]", 0, "[0 4]"},
		{"abcde", "xde", "[-1 -1 -1]", 2, "[-1 3 4]"},
	} {
		var all []stored
		for _, r := range c.stored {
			all = append(all, stored{hash: hash{byte(r)}})
		}
		var h []hash
		for _, r := range c.history {
			h = append(h, hash{byte(r)})
		}
		got, again := align(all, h)
		repeat := ""
		if again != nil {
			repeat = fmt.Sprint(again.of)
		}
		if fmt.Sprint(got.of) != c.of || got.doubtful != c.doubtful || repeat != c.repeat {
			t.Errorf("%q in %q: %v, %d doubtful, repeat %s; want %s, %d, %s", c.history, c.stored, got.of, got.doubtful, repeat, c.of, c.doubtful, c.repeat)
		}
	}
}

// What the view hides is neither the first nor the last message that a history shares with it. "h" is
// hidden, "s" shown, and "." not known.
func TestFirstAndLastKnown(t *testing.T) {
	for known, want := range map[string][2]int{"": {-1, -1}, "..": {-1, -1}, ".h.": {-1, -1}, "s": {0, 0}, "h.s.s.h": {2, 4}} {
		p := plan{known: make([]*stored, len(known))}
		for i, k := range known {
			if k != '.' {
				p.known[i] = &stored{hidden: k == 'h'}
			}
		}
		if got := [2]int{p.first(), p.last()}; got != want {
			t.Errorf("%q: first and last %v, want %v", known, got, want)
		}
	}
}

// A file is named by its path, not by a directory, a pattern or a text.
func TestNamesFile(t *testing.T) {
	for _, c := range []struct {
		key, value string
		want       bool
	}{
		{"file_path", "/srv/a", true}, {"logfile", "a", true}, {"file", "", false}, {"file", "dir/", false}, {"file", "a\nb", false}, {"file", "*.sql", false},
		{"file", strings.Repeat("a", maxPath), true}, {"file", strings.Repeat("a", maxPath+1), false},
		{"path", "db/a.sql", true}, {"PATH", `C:\db\a.sql`, true}, {"path", "/srv/db", false}, {"path", ".env", false}, {"name", "a.sql", false},
	} {
		if got := namesFile(c.key, c.value); got != c.want {
			t.Errorf("%s: %.40q names a file: %v", c.key, c.value, got)
		}
	}
}
