package lookup

import (
	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/recall"
)

// WithOtherWords is how many matches are shown of a question with words that no text of
// its scope has.
const WithOtherWords = 3

// absence finds the words of a question that no text of its scope has. It says nothing
// where only a part of the texts was searched.
func absence(q *query, lanes []*lane) search.Absence {
	narrow := q.search
	if q.words == nil || !narrow.Since.IsZero() || !narrow.Before.IsZero() || narrow.Tool != "" || len(narrow.Roles) > 0 || len(narrow.Only) > 0 {
		return search.Absence{}
	}
	var terms []search.Term
	for _, l := range lanes {
		if l.found.Unfinished {
			return search.Absence{}
		}
		for i, w := range l.found.Words {
			if i == len(terms) {
				terms = append(terms, w)
				continue
			}
			t := &terms[i]
			t.Passages, t.Part = t.Passages+w.Passages, t.Part || w.Part
			if len(t.Also) == 0 {
				t.Also, t.Guessed = w.Also, w.Guessed
			}
		}
	}
	return search.Absent(q.search.Pattern, terms)
}

// noMatch is an answer in which no word that carries the question was found.
func noMatch(a recall.GrepAnswer) recall.GrepAnswer {
	a.Matches, a.Total, a.InSummaries, a.TotalIsLowerBound, a.NextCursor = []recall.Match{}, 0, 0, false, ""
	return a
}
