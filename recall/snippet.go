package recall

import (
	"strings"
	"unicode/utf8"
)

// snippetRunes is how much text is shown around a match.
const snippetRunes = 240

// excerpt is a piece of a text with what matched in it, in bytes of the text.
type excerpt struct {
	start, end int
	ranges     [][2]int
}

// excerpt chooses what to show of a text. Where nothing matches it is how the
// text begins.
func (q *query) excerpt(text []byte) (excerpt, bool) {
	if q.words != nil {
		width := snippetRunes
		if n := utf8.RuneCount(text[:min(len(text), 4096)]); n > 0 {
			width = snippetRunes * min(len(text), 4096) / n
		}
		e := q.words.Excerpt(text, width)
		return excerpt{e.Start, e.End, e.Ranges}, len(e.Ranges) > 0
	}
	hit := q.re.FindIndex(text)
	if hit == nil {
		return excerpt{0, forward(text, 0, snippetRunes), nil}, false
	}
	e := excerpt{start: back(text, hit[0], snippetRunes/4)}
	e.end = forward(text, e.start, snippetRunes)
	if missing := snippetRunes - utf8.RuneCount(text[e.start:e.end]); missing > 0 {
		e.start = back(text, e.start, missing)
	}
	// Beyond the snippet the expression is given some more text, so that the
	// end of the snippet does not look like the end of the text.
	for _, r := range q.re.FindAllIndex(text[:min(len(text), e.end+4096)], 1024) {
		if r[0] >= e.start && r[0] <= e.end && (r[0] < e.end || r[1] == r[0]) {
			e.ranges = append(e.ranges, [2]int{r[0], min(r[1], e.end)})
		}
	}
	return e, true
}

// back returns the position n runes before at, or the beginning.
func back(text []byte, at, n int) int {
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRune(text[:at])
		at -= size
	}
	return at
}

// forward returns the position n runes after at, or the end.
func forward(text []byte, at, n int) int {
	for ; n > 0 && at < len(text); n-- {
		_, size := utf8.DecodeRune(text[at:])
		at += size
	}
	return at
}

// show sets a match's snippet.
func (m *Match) show(text []byte, e excerpt) {
	shown := text[e.start:e.end]
	m.Snippet = valid(shown)
	m.Truncated = len(shown) < len(text)
	m.MatchRanges = make([][2]int, len(e.ranges))
	for i, r := range e.ranges {
		from := utf8.RuneCount(text[e.start:r[0]])
		m.MatchRanges[i] = [2]int{from, from + utf8.RuneCount(text[r[0]:r[1]])}
	}
}

// valid returns text with each byte that is not UTF-8 as one U+FFFD, as JSON
// would carry it; so ranges in code points hold on both sides.
func valid(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		b.WriteRune(r)
		text = text[size:]
	}
	return b.String()
}

// opening is how a text begins.
func opening(text string) (snippet string, truncated bool) {
	b := []byte(text[:min(len(text), snippetRunes*utf8.UTFMax)])
	end := forward(b, 0, snippetRunes)
	return valid(b[:end]), end < len(text)
}

// Mark returns the snippet with what matched between open and close. Other
// text goes through shown, which may be nil.
func (m Match) Mark(open, close string, shown func(string) string) string {
	if shown == nil {
		shown = func(s string) string { return s }
	}
	runes := []rune(m.Snippet)
	var b strings.Builder
	at := 0
	for _, r := range m.MatchRanges {
		if r[0] < at || r[1] < r[0] || r[1] > len(runes) {
			continue
		}
		b.WriteString(shown(string(runes[at:r[0]])))
		if r[1] > r[0] {
			b.WriteString(open + shown(string(runes[r[0]:r[1]])) + close)
		}
		at = r[1]
	}
	b.WriteString(shown(string(runes[at:])))
	return b.String()
}
