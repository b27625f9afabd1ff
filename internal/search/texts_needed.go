package search

import "slices"

// toRead divides the candidates into those whose texts are read and the rest,
// which keep the score of their postings. Reading took most of the time of a
// search, and the texts of candidates beyond the first hundred do not raise
// r@10. All texts are read where they must be checked.
func (p *search) toRead(list []found) (read, rest []found, err error) {
	if p.verify {
		return list, nil, nil
	}
	for _, f := range list {
		need := false
		if f.scored {
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
