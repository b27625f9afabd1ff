package index

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Excerpt is the part of a text that shows best why it matched.
type Excerpt struct {
	Start, End int      // bytes of the text, never inside a rune
	Ranges     [][2]int // what matched in it, as bytes of the text, in order
}

// Excerpt chooses about width bytes of a text around the densest group of the
// query's words.
func (q *Query) Excerpt(text []byte, width int) Excerpt {
	type mark struct {
		at   [2]int
		term int
	}
	var marks []mark
	const enough = 4096
	eachToken(text, func(t textToken) bool {
		if n := q.termOf(t); n >= 0 {
			marks = append(marks, mark{[2]int{t.start, t.end}, n})
		}
		return len(marks) < enough
	})
	best, bestScore := 0, -1
	for i := range marks {
		seen := uint64(0)
		score := 0
		for _, m := range marks[i:] {
			if m.at[1] > marks[i].at[0]+width {
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
	var e Excerpt
	if len(marks) > 0 {
		e.Start = max(0, marks[best].at[0]-width/4)
	}
	e.End = min(len(text), e.Start+width)
	e.Start = max(0, min(e.Start, e.End-width))
	e.Start, e.End = runeFloor(text, e.Start), runeFloor(text, e.End)
	for _, m := range marks {
		if m.at[0] < e.Start || m.at[1] > e.End {
			continue
		}
		if n := len(e.Ranges); n > 0 && m.at[0] < e.Ranges[n-1][1] {
			e.Ranges[n-1][1] = max(e.Ranges[n-1][1], m.at[1])
			continue
		}
		e.Ranges = append(e.Ranges, m.at)
	}
	return e
}

// termOf is the place of the query's term that a token matches, or -1.
func (q *Query) termOf(t textToken) int {
	if n, ok := q.index[t.term()]; ok && !q.terms[n].not {
		return n
	}
	return slices.IndexFunc(q.terms, func(qt queryTerm) bool {
		return qt.prefix != "" && !qt.not && strings.HasPrefix(t.plain, qt.prefix)
	})
}

// runeFloor moves a position back to the start of a rune.
func runeFloor(text []byte, at int) int {
	for back := 0; back < utf8.UTFMax && at > 0 && at < len(text) && !utf8.RuneStart(text[at]); back++ {
		at--
	}
	return at
}
