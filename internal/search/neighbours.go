package search

import (
	"github.com/lossless-context/lcm/internal/search/segment"
)

const (
	reach       = 2  // how far from a message its neighbours count
	hiddenReach = 16 // hidden messages in a row that are passed over for a neighbour
)

// surround gives candidates their sessions, lengths and neighbours, and adds
// the neighbours that have no words of the query themselves: an answer often
// stands beside the words of its question.
func (p *search) surround(list []Candidate) ([]Candidate, error) {
	have := make(map[int64]int, len(list))
	for i, c := range list {
		have[c.ID] = i
	}
	own, strict := len(list), p.query.strict()
	for i := range own {
		at := p.placed[list[i].ID]
		row, err := p.shares[at.share].r.Doc(at.doc)
		if err != nil {
			return nil, err
		}
		if list[i].Session, err = p.session(at, row); err != nil {
			return nil, err
		}
		if list[i].Words, err = p.words(at, row); err != nil {
			return nil, err
		}
		if strict {
			continue
		}
		for _, forward := range []bool{false, true} {
			if list, err = p.walk(list, have, own, i, forward); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// walk links a candidate to the messages before or after it that are of the
// same session and in scope, and adds those that are no candidates yet. It ends
// at one of the first own candidates, whose own walk goes on from there.
func (p *search) walk(list []Candidate, have map[int64]int, own, from int, forward bool) ([]Candidate, error) {
	at := p.placed[list[from].ID]
	for i, step := from, 0; step < reach; step++ {
		row, err := p.shares[at.share].r.Doc(at.doc)
		if err != nil {
			return list, err
		}
		next, ok, err := p.visible(at, row, forward)
		if err != nil || !ok {
			return list, err
		}
		other, ok, err := p.neighbour(next, list[from].Session)
		if err != nil {
			return list, err
		}
		if forward {
			list[i].Next, other.Prev = other.ID, list[i].ID
		} else {
			list[i].Prev, other.Next = other.ID, list[i].ID
		}
		if !ok {
			return list, nil
		}
		j, known := have[other.ID]
		if !known {
			j = len(list)
			have[other.ID] = j
			list = append(list, other)
		} else if forward {
			list[j].Prev = list[i].ID
		} else {
			list[j].Next = list[i].ID
		}
		if j < own {
			return list, nil
		}
		i, at = j, next
	}
	return list, nil
}

// nameMatches sets NextTo of the hits that are no matches.
func nameMatches(hits []Hit, ranked []Ranked) {
	at := make(map[int64]*Candidate, len(ranked))
	for i := range ranked {
		at[ranked[i].ID] = &ranked[i].Candidate
	}
	for i, r := range ranked {
		if hits[i].Matched || hits[i].Instruction {
			continue
		}
		for _, step := range []func(*Candidate) int64{func(c *Candidate) int64 { return c.Prev }, func(c *Candidate) int64 { return c.Next }} {
			c := &r.Candidate
			for range reach {
				if c = at[step(c)]; c == nil {
					break
				}
				if c.Score > 0 {
					hits[i].NextTo = append(hits[i].NextTo, c.ID)
				}
			}
		}
	}
}

// visible finds the nearest message before or after a document that the search
// sees: hosts write records of their own between a question and its answer.
func (p *search) visible(at place, row segment.DocRow, forward bool) (place, bool, error) {
	for range hiddenReach {
		next, ok, err := p.beside(at, row, forward)
		if err != nil || !ok {
			return next, ok, err
		}
		r := p.shares[next.share].r
		hidden, err := p.filter.hides(r, next.doc)
		if err != nil || !hidden {
			return next, err == nil, err
		}
		at = next
		if row, err = r.Doc(at.doc); err != nil {
			return at, false, err
		}
	}
	return at, false, nil
}

// neighbour returns the message at a place as a candidate, and whether it is of
// the session and in scope.
func (p *search) neighbour(at place, session int64) (Candidate, bool, error) {
	r := p.shares[at.share].r
	row, err := r.Doc(at.doc)
	if err != nil {
		return Candidate{}, false, err
	}
	c := candidate(row, 0)
	if c.Session, err = p.session(at, row); err != nil || c.Session != session {
		return c, false, err
	}
	if c.Words, err = p.words(at, row); err != nil {
		return c, false, err
	}
	ok, err := p.filter.passes(r, at.doc)
	return c, ok, err
}

// words is the length of a document, exact up to maxTurnWords.
func (p *search) words(at place, row segment.DocRow) (int, error) {
	r := p.shares[at.share].r
	docs, lengths := r.PassageDocs(), r.PassageLengths()
	n := 0
	for passage := row.Passage; n <= maxTurnWords && passage < r.Segment.Passages(); passage++ {
		if doc, err := docs.At(passage); err != nil || doc != at.doc {
			return n, err
		}
		length, err := lengths.At(passage)
		if err != nil {
			return n, err
		}
		n += int(length)
	}
	return n, nil
}

// place is where a document is.
type place struct {
	share int
	doc   uint32
}

// strict reports that only documents which match themselves may be returned:
// the query requires or excludes something.
func (q *Query) strict() bool {
	if q.verifies() {
		return true
	}
	for _, t := range q.terms {
		if t.must || t.not {
			return true
		}
	}
	return false
}

// beside finds the neighbour of a document in its conversation, in this
// segment or the nearest one that holds the conversation.
func (p *search) beside(at place, row segment.DocRow, forward bool) (place, bool, error) {
	r := p.shares[at.share].r
	t, ok, err := r.Segment.Conversation(r, row.Conversation)
	if err != nil || !ok {
		return place{}, false, err
	}
	passage := int64(row.Passage) - 1
	if forward {
		for passage = int64(row.Passage); passage < int64(t.Passages.To); passage++ {
			if doc, err := r.PassageDoc(uint32(passage)); err != nil {
				return place{}, false, err
			} else if doc != at.doc {
				break
			}
		}
	}
	if passage >= int64(t.Passages.From) && passage < int64(t.Passages.To) {
		doc, err := r.PassageDoc(uint32(passage))
		return place{at.share, doc}, err == nil, err
	}
	step := -1
	if forward {
		step = 1
	}
	for n := at.share + step; n >= 0 && n < len(p.shares); n += step {
		r := p.shares[n].r
		t, ok, err := r.Segment.Conversation(r, row.Conversation)
		if err != nil {
			return place{}, false, err
		}
		if !ok || t.Docs == 0 {
			continue
		}
		edge := t.Passages.To - 1
		if forward {
			edge = t.Passages.From
		}
		doc, err := r.PassageDoc(edge)
		return place{n, doc}, err == nil, err
	}
	return place{}, false, nil
}

// session names the session of a document by the id of its first document,
// following it into older segments.
func (p *search) session(at place, row segment.DocRow) (int64, error) {
	for {
		r := p.shares[at.share].r
		start, err := r.Doc(row.Session)
		if err != nil {
			return 0, err
		}
		before, ok, err := p.beside(place{at.share, row.Session}, start, false)
		if err != nil || !ok {
			return start.ID, err
		}
		if before.share == at.share {
			return start.ID, nil
		}
		prev, err := p.shares[before.share].r.Doc(before.doc)
		if err != nil || start.Time-prev.Time >= segment.SessionGap {
			return start.ID, err
		}
		at, row = before, prev
	}
}
