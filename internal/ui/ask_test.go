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

func TestLinkPlaces(t *testing.T) {
	text := `<p>user#81: a (#87–#90) b#4 <code>tool#5</code> <a href="https://x/(#6)" title="user#7: ">user#8</a> (#12)</p>`
	want := `<p><a href="/session/3?at=91">user#81</a>: a (<a href="/session/3?at=97">#87</a>–<a href="/session/3?at=100">#90</a>) b#4 <code><a href="/session/3?at=15">tool#5</a></code> ` +
		`<a href="https://x/(#6)" title="user#7: ">user#8</a> (<a href="/session/3?at=22">#12</a>)</p>`
	if got := linkPlaces(3, 10, markup(text)); string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
