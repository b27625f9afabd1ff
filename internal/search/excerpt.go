package search

import (
	"bytes"
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/search/analysis"
)

// Excerpt is the part of a text that shows best why it matched.
type Excerpt struct {
	Start, End int      // bytes of the text, never inside a rune
	Ranges     [][2]int // the matches in it, as bytes of the text, in order
	Terms      []int    // the terms of the query that it has, in the order of [Result].Terms
	All        [][2]int // the matches in the whole text, like Ranges
}

// maxMarks bounds the matches that are weighed for an excerpt.
const maxMarks = 4096

// mark is a word of the text that the query asks for.
type mark struct {
	start, end int
	term       int
}

// Excerpt chooses about width bytes of a text around the densest group of the
// query's words.
func (q *Query) Excerpt(text []byte, width int) Excerpt {
	marks := q.marks(text)
	var e Excerpt
	first := len(text)
	if len(marks) > 0 {
		first = marks[densest(marks, width)].start
		e.Start = max(0, first-width/4)
	}
	e.End = min(len(text), e.Start+width)
	e.Start = max(0, min(e.Start, e.End-width))
	e.Start, e.End = runeFloor(text, e.Start), runeFloor(text, e.End)
	if e.Start > 0 && text[e.Start-1] > ' ' { // a word is not cut in two where it ends soon
		if i := bytes.IndexAny(text[e.Start:max(e.Start, min(first, e.Start+24))], " \n\t"); i >= 0 {
			e.Start += i + 1
		}
	}
	for _, m := range marks {
		e.All = join(e.All, m)
		if m.start < e.Start || m.end > e.End {
			continue
		}
		if !slices.Contains(e.Terms, m.term) {
			e.Terms = append(e.Terms, m.term)
		}
		e.Ranges = join(e.Ranges, m)
	}
	slices.Sort(e.Terms)
	return e
}

// join adds a mark to ranges. One that overlaps the last range extends it.
func join(ranges [][2]int, m mark) [][2]int {
	if n := len(ranges); n > 0 && m.start < ranges[n-1][1] {
		ranges[n-1][1] = max(ranges[n-1][1], m.end)
		return ranges
	}
	return append(ranges, [2]int{m.start, m.end})
}

// marks finds the query's words in a text.
func (q *Query) marks(text []byte) []mark {
	sc := &scorer{query: q, terms: q.termFilter()}
	var out []mark
	runs := analysis.Spans{Text: text}
	for sp, ok := runs.Next(); ok && len(out) < maxMarks; sp, ok = runs.Next() {
		sc.tokens = analysis.Analyse(sc.tokens[:0], text, sp)
		var places [][2]int
		word := -1
		for _, t := range sc.tokens {
			if !t.Whole() {
				word++
			}
			n := sc.find(t)
			if n < 0 || q.terms[n].not {
				continue
			}
			m := mark{sp.Start, sp.End, n}
			if !t.Whole() {
				if places == nil {
					places = analysis.TokenPlaces(text, sp)
				}
				at := places[min(word, len(places)-1)]
				m.start, m.end = at[0], at[1]
			}
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(x, y mark) int { return cmp.Compare(x.start, y.start) })
	return out
}

// densest is the mark that begins the window with the most different words.
func densest(marks []mark, width int) int {
	best, bestScore := 0, -1
	for i := range marks {
		seen, score := uint64(0), 0
		for _, m := range marks[i:] {
			if m.end > marks[i].start+width {
				break
			}
			if bit := uint64(1) << m.term; seen&bit == 0 {
				seen |= bit
				score += 100
			}
			score++
		}
		if score > bestScore {
			best, bestScore = i, score
		}
	}
	return best
}

// runeFloor moves a position back to the start of a rune.
func runeFloor(text []byte, at int) int {
	for back := 0; back < utf8.UTFMax && at > 0 && at < len(text) && !utf8.RuneStart(text[at]); back++ {
		at--
	}
	return at
}
