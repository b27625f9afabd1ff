package ui

import (
	"html"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/recall"
	"github.com/lossless-context/lcm/llms"
)

// looksLikeJSON finds signs of JSON in a snippet, which may begin and end anywhere in
// the arguments of a tool call.
var looksLikeJSON = lazyregexp.New(`\\"|\{"|"\s*:\s*["\[{\d]`)

// mark writes a snippet for a list of matches: escaped, its matches marked, with "…" where it
// is cut. It is for reading: line breaks that JSON writes as \n are line breaks, and
// the signs of Markdown are left out. The page of the message has the exact text.
func mark(m recall.Match) markup {
	w := snippetWriter{text: []rune(m.Snippet)}
	if m.Role != llms.RoleTool && m.Type != "file" {
		w.markdown = true
		w.json = m.Role != llms.RoleUser && looksLikeJSON().MatchString(m.Snippet)
	}
	for _, r := range m.MatchRanges {
		w.write(r[0])
		w.flush()
		w.out.WriteString("<mark>")
		w.write(r[1])
		w.flush()
		w.out.WriteString("</mark>")
	}
	w.write(len(w.text))
	w.flush()
	return markup(m.Ellipses(w.out.String(), "…"))
}

// snippetWriter writes the text of a snippet up to one place after another.
type snippetWriter struct {
	text           []rune
	at             int
	json, markdown bool
	last           rune // that was written
	plain, out     strings.Builder
}

// write adds the text up to a place.
func (w *snippetWriter) write(to int) {
	for to = min(to, len(w.text)); w.at < to; w.at++ {
		r := w.text[w.at]
		next := rune(0)
		if w.at+1 < len(w.text) {
			next = w.text[w.at+1]
		}
		if w.json && r == '\\' && strings.ContainsRune(`nt"\/`, next) {
			w.at++
			r = map[rune]rune{'n': '\n', 't': ' '}[next]
			if r == 0 {
				r = next
			}
			w.put(r)
			continue
		}
		if w.markdown && (r == '`' || r == '*' && (next == '*' || w.at > 0 && w.text[w.at-1] == '*') || r == '#' && w.beginsHeading()) {
			continue
		}
		w.put(r)
	}
}

func (w *snippetWriter) put(r rune) {
	if r == ' ' && (w.last == '\n' || w.last == 0) && w.at > 0 && w.text[w.at-1] == '#' {
		return // between the signs of a heading and its text
	}
	w.plain.WriteRune(r)
	w.last = r
}

// beginsHeading reports whether the signs at the place begin a heading.
func (w *snippetWriter) beginsHeading() bool {
	if w.last != '\n' && w.last != 0 {
		return false
	}
	rest := strings.TrimLeft(string(w.text[w.at:min(w.at+8, len(w.text))]), "#")
	return strings.HasPrefix(rest, " ")
}

// flush writes the text so far, escaped.
func (w *snippetWriter) flush() {
	w.out.WriteString(html.EscapeString(safetext.Text(w.plain.String())))
	w.plain.Reset()
}
