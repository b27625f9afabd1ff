package lookup

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/recall"
)

// snippetRunes is how much text is shown around a match unless the request
// says otherwise.
const snippetRunes = 300

// excerpt is a piece of a text with its matches, in bytes of the text.
// The last matches may lie behind the piece.
type excerpt struct {
	start, end int
	ranges     [][2]int
}

// excerpt chooses the part of a text to show: around the match, else the beginning
// of the text. It cuts between words.
func (q *query) excerpt(text []byte) (excerpt, bool) {
	e, found := q.choose(text)
	e.trim(text)
	return e, found
}

// choose returns an excerpt that may begin and end inside a word.
func (q *query) choose(text []byte) (excerpt, bool) {
	width := q.runes
	if n := utf8.RuneCount(text[:min(len(text), 4096)]); n > 0 {
		width = q.runes * min(len(text), 4096) / n
	}
	e := excerpt{}
	var all [][2]int
	if q.words != nil {
		// The rest of the width is for whole sentences.
		found := q.words.Excerpt(text, width*2/3)
		e.ranges, all = wholeWords(text, found.Ranges), wholeWords(text, found.All)
	} else if hit := q.re.FindIndex(text); hit != nil {
		e.ranges = [][2]int{{hit[0], hit[1]}}
	}
	e.sentences(text, width)
	if q.words != nil { // the sentences may have more
		e.ranges = slices.DeleteFunc(all, func(r [2]int) bool { return r[0] < e.start || r[0] >= e.end })
	} else if len(e.ranges) > 0 {
		e.ranges = append(e.ranges, q.further(text, e.ranges[0][:], e.end)...)
	}
	return e, len(e.ranges) > 0
}

// sentences sets the ends of an excerpt around its matches to ends of sentences, as far as
// that takes no more than width bytes: those of the matches, then what follows, then
// what is before.
func (e *excerpt) sentences(text []byte, width int) {
	first, last := 0, 0
	if n := len(e.ranges); n > 0 {
		first, last = e.ranges[0][0], e.ranges[n-1][1]
	}
	e.start = runeStart(text, max(0, first-width/4))
	for at := first; at >= max(0, first-width/2); at-- {
		if beginsSentence(text, at) {
			e.start = at
			break
		}
	}
	most := runeStart(text, min(len(text), e.start+width))
	e.end = most
	for at := most; at >= last && at > e.start && most < len(text); at-- {
		if beginsSentence(text, at) {
			e.end = at
			break
		}
	}
	for at := e.start; at >= 0 && e.end-at <= width; at-- {
		if beginsSentence(text, at) {
			e.start = at
		}
	}
}

// beginsSentence reports whether a sentence or a line begins at a position.
func beginsSentence(text []byte, at int) bool {
	if at == 0 || at == len(text) || text[at-1] == '\n' {
		return true
	}
	before := bytes.TrimRight(text[:at], " ")
	r, _ := utf8.DecodeLastRune(before[max(0, len(before)-utf8.UTFMax):])
	if strings.ContainsRune("。！？", r) {
		return utf8.RuneStart(text[at])
	}
	next, _ := utf8.DecodeRune(text[at:])
	return len(before) < at && strings.ContainsRune(".!?:", r) && !unicode.IsLower(next) && next != ' '
}

// runeStart moves a position back to the beginning of a character.
func runeStart(text []byte, at int) int {
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// longestWord is how many bytes an excerpt gives up at each end so as not to cut a
// word, and never more than a quarter of them. A longer run of letters is cut: it is
// text without spaces, or data.
const longestWord = 40

// trim moves the ends of an excerpt to the nearest ends of words inside it. It cuts
// off no match.
func (e *excerpt) trim(text []byte) {
	first, last := e.end, e.start
	if n := len(e.ranges); n > 0 {
		first, last = e.ranges[0][0], e.ranges[n-1][1]
	}
	start, end, most := e.start, e.end, min(longestWord, (e.end-e.start)/4)
	for start < first && insideWord(text, start) {
		start = forward(text, start, 1)
	}
	for start < first && unicode.IsSpace(rune(text[start])) {
		start++
	}
	for end > last && insideWord(text, end) {
		end = back(text, end, 1)
	}
	for end > last && unicode.IsSpace(rune(text[end-1])) {
		end--
	}
	if e.start > 0 && start-e.start <= most {
		e.start = start
	}
	if e.end < len(text) && e.end-end <= most {
		e.end = end
	}
}

// insideWord reports whether a position lies between two characters of a word.
func insideWord(text []byte, at int) bool {
	before, _ := utf8.DecodeLastRune(text[:at])
	after, _ := utf8.DecodeRune(text[at:])
	return wordRune(before) && wordRune(after)
}

// wholeWords extends ranges to the ends of words.
func wholeWords(text []byte, ranges [][2]int) (whole [][2]int) {
	for _, r := range ranges {
		for cutsWord(text, r[0]) {
			r[0] = back(text, r[0], 1)
		}
		for cutsWord(text, r[1]) {
			r[1] = forward(text, r[1], 1)
		}
		if n := len(whole); n > 0 && r[0] < whole[n-1][1] {
			whole[n-1][1] = max(whole[n-1][1], r[1])
			continue
		}
		whole = append(whole, r)
	}
	return whole
}

// cutsWord is insideWord for scripts with spaces between words.
func cutsWord(text []byte, at int) bool {
	before, _ := utf8.DecodeLastRune(text[:at])
	after, _ := utf8.DecodeRune(text[at:])
	return prose.SameWord(before, after)
}

// wordRune reports whether a character is part of a word.
func wordRune(r rune) bool {
	return r != utf8.RuneError && (r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// showing returns the query with the words that the search took for its own, so
// that snippets show them.
func (q *query) showing(lanes []*lane) *query {
	var terms []search.Term
	for _, l := range lanes {
		terms = append(terms, l.found.Words...)
	}
	if q.words == nil {
		return q
	}
	out := *q
	out.words = q.words.With(terms)
	return &out
}

// further finds the matches behind the first hit and begins before end. The
// expression is given some more text than that, so that the end of the snippet
// does not look like the end of the text; a match that reaches the end of this
// piece may owe itself to it, and is left unmarked.
func (q *query) further(text []byte, hit []int, end int) [][2]int {
	if hit[1] >= end {
		return nil
	}
	piece := text[:min(len(text), end+4096)]
	var more [][2]int
	for _, r := range q.re.FindAllIndex(piece, 1024) {
		inside := r[0] < end || r[0] == end && r[1] == end
		torn := r[1] == len(piece) && len(piece) < len(text)
		if r[0] > hit[0] && r[0] >= hit[1] && inside && !torn {
			more = append(more, [2]int{r[0], r[1]})
		}
	}
	return more
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

// show sets a match's snippet, and marks the matches that begin in it.
func show(m *recall.Match, text []byte, e excerpt) {
	shown := text[e.start:e.end]
	m.Snippet = valid(shown)
	m.CutBefore, m.CutAfter = e.start > 0, e.end < len(text)
	m.Truncated = m.CutBefore || m.CutAfter
	m.MatchRanges = make([][2]int, 0, len(e.ranges))
	for _, r := range e.ranges {
		if r[0] < e.end || r[1] == e.end { // an empty match may stand at the end
			from := utf8.RuneCount(text[e.start:r[0]])
			m.MatchRanges = append(m.MatchRanges, [2]int{from, from + utf8.RuneCount(text[r[0]:min(r[1], e.end)])})
		}
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

// opening returns the beginning of a text.
func opening(text string) (snippet string, truncated bool) {
	b := []byte(text[:min(len(text), (snippetRunes+1)*utf8.UTFMax)])
	e := excerpt{end: forward(b, 0, snippetRunes)}
	e.trim(b)
	return valid(b[:e.end]), e.end < len(text)
}
