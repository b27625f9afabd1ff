package search

import (
	"github.com/lossless-context/lcm/internal/search/segment"
)

// surround gives candidates their sessions and neighbours, and adds the
// neighbours that have no words of the query themselves: an answer often
// stands beside the words of its question.
func (p *search) surround(list []Candidate) ([]Candidate, error) {
	have := make(map[int64]int, len(list))
	for i, c := range list {
		have[c.ID] = i
	}
	strict := p.strict()
	for i := range len(list) {
		at := p.placed[list[i].ID]
		row, err := p.shares[at.share].r.Doc(at.doc)
		if err != nil {
			return nil, err
		}
		if list[i].Session, err = p.session(at, row); err != nil {
			return nil, err
		}
		if strict {
			continue
		}
		for _, forward := range []bool{false, true} {
			other, ok, err := p.neighbour(&list[i], at, row, forward)
			if err != nil {
				return nil, err
			}
			if _, known := have[other.ID]; ok && !known {
				have[other.ID] = len(list)
				list = append(list, other)
			}
		}
	}
	// A neighbour may stand between two candidates.
	for i, c := range list {
		if j, ok := have[c.Prev]; ok && c.Prev != 0 {
			list[j].Next = list[i].ID
		}
		if j, ok := have[c.Next]; ok && c.Next != 0 {
			list[j].Prev = list[i].ID
		}
	}
	return list, nil
}

// neighbour links a candidate to the message before or after it, and returns
// that message as a candidate if it is of the same session and in scope.
func (p *search) neighbour(c *Candidate, at place, row segment.DocRow, forward bool) (Candidate, bool, error) {
	beside, ok, err := p.beside(at, row, forward)
	if err != nil || !ok {
		return Candidate{}, false, err
	}
	r := p.shares[beside.share].r
	otherRow, err := r.Doc(beside.doc)
	if err != nil {
		return Candidate{}, false, err
	}
	other := candidate(otherRow, 0)
	if forward {
		c.Next, other.Prev = other.ID, c.ID
	} else {
		c.Prev, other.Next = other.ID, c.ID
	}
	if other.Session, err = p.session(beside, otherRow); err != nil || other.Session != c.Session {
		return other, false, err
	}
	ok, err = p.filter.passes(r, beside.doc)
	return other, ok, err
}

// place is where a document is.
type place struct {
	share int
	doc   uint32
}

// strict reports that only documents which match themselves may be returned:
// the query requires or excludes something.
func (p *search) strict() bool {
	if p.query.verifies() {
		return true
	}
	for _, t := range p.query.terms {
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
