package ui

import (
	"html"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/recall"
)

// mark writes a snippet for a list of matches: escaped, the words of its matches marked, with "…"
// where it is cut.
func mark(m recall.Match) markup {
	text, at, out := []rune(m.Snippet), 0, ""
	write := func(to int) {
		to = min(max(to, at), len(text))
		out += html.EscapeString(safetext.Text(string(text[at:to])))
		at = to
	}
	cuts := func(i int) bool { return i > 0 && i < len(text) && prose.SameWord(text[i-1], text[i]) }
	for _, r := range m.MatchRanges {
		for cuts(r[0]) {
			r[0]--
		}
		for cuts(r[1]) {
			r[1]++
		}
		if r[1] <= at && at > 0 {
			continue // in the word before
		}
		write(r[0])
		out += "<mark>"
		write(r[1])
		out += "</mark>"
	}
	write(len(text))
	return markup(m.Ellipses(out, "…"))
}
