package search

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/recall/search/analysis"
)

// An identifier such as subProcess or sub_process is looked for as it is and as
// its words, since people also write "sub process". A passage with some of the
// words only, such as every "process" of a record, does not match it.

// termSet is a set of terms of a query, by their places.
type termSet uint64

func setOf(place int) termSet {
	if place < 0 {
		return 0
	}
	return 1 << place
}

// splitName is an identifier of a query that was split into words.
type splitName struct {
	whole termSet // its own term
	words termSet // those that the query does not have by themselves
	need  termSet // those that a passage must have together
	known bool    // the record has the identifier itself
}

// addNames notes the identifiers among the tokens of a clause, whose terms have
// the given places. A path or a compound such as long-term is no identifier here:
// its words are worth finding alone.
func (p *queryParser) addNames(c clause, tokens []analysis.TextToken, places []int) {
	for i := 0; i < len(tokens); i++ {
		raw := string(tokens[i].Raw)
		if !tokens[i].Whole() || c.must || c.not || strings.ContainsAny(raw, `./-:@\#+`) {
			p.alone |= setOf(places[i])
			continue
		}
		n := splitName{whole: setOf(places[i])}
		for left := len(raw) - strings.Count(raw, "_"); left > 0 && i+1 < len(tokens); i++ {
			left -= len(tokens[i+1].Raw)
			n.words |= setOf(places[i+1])
		}
		n.need = n.words
		if bits.OnesCount64(uint64(n.need)) < 2 { // the others are function words, as in isReady
			n.need = n.whole
		}
		p.q.names = append(p.q.names, n)
	}
}

// keepWords counts words that the query also has by themselves as such.
func (q *Query) keepWords(alone termSet) {
	for i := range q.names {
		q.names[i].words &^= alone
	}
}

// splitNames returns the identifiers of the query, with those marked that the
// record has.
func (p *search) splitNames() []splitName {
	out := slices.Clone(p.query.names)
	for i, n := range out {
		out[i].known = n.whole != 0 && p.lists[bits.TrailingZeros64(uint64(n.whole))].df > 0
	}
	return out
}

// withoutParts leaves out of the terms that a passage has the words of identifiers
// that it does not match. Unseen terms, which were not looked up, are taken as
// present, unless the record has the identifier itself.
func withoutParts(terms, unseen termSet, names []splitName) termSet {
	for _, n := range names {
		need := n.need &^ unseen
		guessed := need == 0 || need != n.need && n.known
		if terms&n.whole == 0 && (guessed || terms&need != need) {
			terms &^= n.words
		}
	}
	return terms
}
