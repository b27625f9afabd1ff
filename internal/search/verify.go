package search

import (
	"slices"

	"github.com/lossless-context/lcm/internal/search/analysis"
)

// satisfied checks a text for the conditions that postings cannot check: quoted
// phrases, in their order and unstemmed, and required or excluded beginnings of
// words.
func (q *Query) satisfied(text []byte) bool {
	for _, ph := range q.phrases {
		if analysis.Holds(text, ph.words) == ph.not {
			return false
		}
	}
	return !q.prefixed() || q.prefixesSatisfied(analysis.RawWords(text))
}

// verifies reports whether the query has such conditions.
func (q *Query) verifies() bool { return len(q.phrases) > 0 || q.prefixed() }

// prefixed reports whether the query has beginnings of words.
func (q *Query) prefixed() bool {
	return slices.ContainsFunc(q.terms, func(t queryTerm) bool { return t.prefix != "" })
}

// prefixesSatisfied also refuses a text that was found only through a stem too
// short to tell.
func (q *Query) prefixesSatisfied(words []analysis.Token) bool {
	optional, others := 0, false
	has := false
	for _, t := range q.terms {
		if t.prefix == "" {
			others = others || !t.not
			continue
		}
		present := slices.ContainsFunc(words, func(w analysis.Token) bool { return w.Begins(t.prefix) })
		if t.must && !present || t.not && present {
			return false
		}
		if !t.not {
			optional++
			has = has || present
		}
	}
	return optional == 0 || has || others
}
