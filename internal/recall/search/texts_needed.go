package search

import (
	"regexp/syntax"
	"slices"

	"github.com/lossless-context/lcm/internal/recall/search/analysis"
	"github.com/lossless-context/lcm/internal/recall/search/segment"
)

// toRead divides the candidates into those whose texts are read and the rest,
// which keep the score of their postings. Reading took most of the time of a
// search, and the texts of candidates beyond the first hundred do not raise
// r@10. All texts are read for phrases and prefixes, and those that may have an
// identifier of the query, which decides.
func (p *search) toRead(list []found) (read, rest []found, err error) {
	if p.verify {
		return list, nil, nil
	}
	blocks, wholes := newIdentifierBlocks(p.query, p.shares), p.query.identifierTerms()
	for _, f := range list {
		var need bool
		if wholes != 0 && f.terms&wholes == wholes {
			f.exact = uint16(len(p.query.identifiers)) // the postings have them whole
		} else if need, err = blocks.mayHave(f); err != nil {
			return nil, nil, err
		}
		if !need && f.scored {
			need, err = p.needsText(f)
		}
		if err != nil {
			return nil, nil, err
		}
		if need {
			read = append(read, f)
		} else {
			rest = append(rest, f)
		}
	}
	return read, rest, nil
}

// needsText reports whether the text of a candidate may change its score or
// that of its neighbours. Where no two words of the query can stand side by
// side, the postings tell all of it, unless the message is a turn of a dialogue,
// which may end with a question.
func (p *search) needsText(f found) (bool, error) {
	q := p.query
	if len(p.skipped) > 0 || len(p.also) > 0 {
		return true, nil
	}
	has := func(term int) bool { return f.terms&(1<<term) != 0 }
	if slices.ContainsFunc(q.pairs, func(pair pair) bool { return has(pair.first) && has(pair.second) }) {
		return true, nil
	}
	row, err := p.shares[f.share].r.Doc(f.doc)
	if err != nil {
		return false, err
	}
	n, err := p.words(place{f.share, f.doc}, row)
	return n <= maxTurnWords, err
}

// identifierTerms are the terms of the query that are its identifiers, zero if
// one of them has no term of its own.
func (q *Query) identifierTerms() (terms uint64) {
	for _, id := range q.identifiers {
		tokens := analysis.QueryTokens(string(id))
		if len(tokens) == 0 || !tokens[0].Whole() {
			return 0
		}
		n, ok := q.index[tokens[0].Term()]
		if !ok {
			return 0
		}
		terms |= 1 << n
	}
	return terms
}

// identifierBlocks tells by trigrams which texts may have an identifier of the
// query.
type identifierBlocks struct {
	shares []*share
	grams  []*analysis.TrigramQuery // of each identifier
	sets   [][]*segment.BlockSet    // by share, once it was asked for
}

func newIdentifierBlocks(q *Query, shares []*share) *identifierBlocks {
	b := &identifierBlocks{shares: shares, sets: make([][]*segment.BlockSet, len(shares))}
	for _, id := range q.identifiers {
		b.grams = append(b.grams, analysis.RequiredTrigrams(&syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune(string(id))}))
	}
	return b
}

// mayHave reports whether the text of a candidate may have an identifier.
func (b *identifierBlocks) mayHave(f found) (bool, error) {
	if len(b.grams) > 0 && b.sets[f.share] == nil {
		for _, g := range b.grams {
			set, err := b.shares[f.share].r.Blocks(g)
			if err != nil {
				return false, err
			}
			b.sets[f.share] = append(b.sets[f.share], set)
		}
	}
	for _, set := range b.sets[f.share] {
		if has, err := set.Has(f.doc); err != nil || has {
			return has, err
		}
	}
	return false, nil
}

// scoreFirst scores the texts of the first documents that passed. Of a query
// that verifies many texts it is not known before which these are.
func (p *search) scoreFirst(docs []scoredDoc, fetch Fetch) error {
	if !p.verify {
		return nil
	}
	at := make(map[int64]int)
	var list []found
	for i, d := range docs[:min(scoredCount, len(docs))] {
		if !d.scored {
			d.scored = true
			at[d.id] = i
			list = append(list, d.found)
		}
	}
	got, err := p.readWindow(list, fetch)
	for _, d := range got {
		p.scorer.count(d.text)
		docs[at[d.id]] = d.scoredDoc
	}
	return err
}
