package ui

import (
	"strings"
	"testing"
)

// TestWholeWords checks that a quote never begins or ends inside a word of usual length.
func TestWholeWords(t *testing.T) {
	long := strings.Repeat("x", longestWord+1)
	for _, c := range []struct{ before, quote, after, want string }{
		{"we clean th", "e chart. Baltline 1", "5m, Fjordex", "the chart. Baltline 15m"},
		{"TRAC", "KD_PAKKIT: 3m", "", "TRACKD_PAKKIT: 3m"},
		{"one ", "two", " three", "two"},
		{"one", " two ", "three", " two "},
		{"", "größ", "er", "größer"},
		{long, "a b", long, "a b"},
	} {
		before, quote, after := wholeWords(c.before, c.quote, c.after)
		if quote != c.want {
			t.Errorf("%q became %q, want %q", c.quote, quote, c.want)
		}
		if before+quote+after != c.before+c.quote+c.after {
			t.Errorf("the text around %q changed", c.quote)
		}
	}
}
