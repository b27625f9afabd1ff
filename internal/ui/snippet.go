package ui

import (
	"html"

	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/recall"
)

// mark writes a snippet for a list of matches: escaped, its matches marked, with "…" where it
// is cut.
func mark(m recall.Match) markup {
	text, at, out := []rune(m.Snippet), 0, ""
	write := func(to int) {
		to = min(max(to, at), len(text))
		out += html.EscapeString(safetext.Text(string(text[at:to])))
		at = to
	}
	for _, r := range m.MatchRanges {
		write(r[0])
		out += "<mark>"
		write(r[1])
		out += "</mark>"
	}
	write(len(text))
	return markup(m.Ellipses(out, "…"))
}
