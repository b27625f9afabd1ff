package search

import (
	"github.com/lossless-context/lcm/internal/search/segment"
)

const (
	reach       = 2  // how far from a message its neighbours count
	hiddenReach = 16 // hidden messages in a row that are passed over for a neighbour
)

// neighbourhood is a list of candidates that grows by their neighbours.
type neighbourhood struct {
	*search
	list []Hit
	have map[int64]int // places in list, by id
	own  int           // the first ones, which have words of the query
}

// surround gives candidates their sessions, lengths and neighbours, and adds
// the neighbours that have no words of the query themselves: an answer often
// stands beside the words of its question.
func (p *search) surround(list []Hit) ([]Hit, error) {
	n := neighbourhood{search: p, list: list, have: make(map[int64]int, len(list)), own: len(list)}
	for i, c := range list {
		n.have[c.ID] = i
	}
	strict := p.query.strict()
	for i := range n.own {
		at := p.placed[n.list[i].ID]
		row, err := p.shares[at.share].r.Doc(at.doc)
		if err != nil {
			return nil, err
		}
		if n.list[i].Session, err = p.session(at, row); err != nil {
			return nil, err
		}
		if n.list[i].Words, err = p.words(at, row); err != nil {
			return nil, err
		}
		if strict {
			continue
		}
		for _, forward := range []bool{false, true} {
			if err = n.walk(i, forward); err != nil {
				return nil, err
			}
		}
	}
	return n.list, n.setTurns()
}

// turnReach is how many messages a turn has at most: what comes later is one of its own.
const turnReach = 400

// setTurns gives the candidates their turns: each is named by the prompt that it begins with.
func (n *neighbourhood) setTurns() error {
	known := make(map[place]int64)
	for i := range n.list {
		var passed []place
		at, turn := n.placed[n.list[i].ID], int64(0)
		for range turnReach {
			if turn = known[at]; turn != 0 {
				break
			}
			row, err := n.shares[at.share].r.Doc(at.doc)
			if err != nil {
				return err
			}
			passed, turn = append(passed, at), row.ID
			if row.Role == userRole {
				break
			}
			before, ok, err := n.visible(at, row, false)
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			at = before
		}
		for _, at := range passed {
			known[at] = turn
		}
		n.list[i].Turn = turn
	}
	return nil
}

// walk links a candidate to the messages before or after it that are of the
// same session and in scope, and adds those that are no candidates yet. It ends
// at a candidate with words of the query, whose own walk goes on from there.
func (n *neighbourhood) walk(from int, forward bool) error {
	at := n.placed[n.list[from].ID]
	for i, step := from, 0; step < reach; step++ {
		row, err := n.shares[at.share].r.Doc(at.doc)
		if err != nil {
			return err
		}
		next, ok, err := n.visible(at, row, forward)
		if err != nil || !ok {
			return err
		}
		other, ok, err := n.neighbour(next, n.list[from].Session)
		if err != nil {
			return err
		}
		if forward {
			n.list[i].Next, other.Prev = other.ID, n.list[i].ID
		} else {
			n.list[i].Prev, other.Next = other.ID, n.list[i].ID
		}
		if !ok {
			return nil
		}
		j, known := n.have[other.ID]
		if !known {
			j = len(n.list)
			n.have[other.ID] = j
			n.list = append(n.list, other)
		} else if forward {
			n.list[j].Prev = n.list[i].ID
		} else {
			n.list[j].Next = n.list[i].ID
		}
		if j < n.own {
			return nil
		}
		i, at = j, next
	}
	return nil
}

// nameMatches sets NextTo of the hits that are no matches.
func nameMatches(hits []Hit) {
	at := make(map[int64]*Hit, len(hits))
	for i := range hits {
		at[hits[i].ID] = &hits[i]
	}
	for i := range hits {
		if hits[i].Matched {
			continue
		}
		for _, step := range []func(*Hit) int64{func(c *Hit) int64 { return c.Prev }, func(c *Hit) int64 { return c.Next }} {
			c := &hits[i]
			for range reach {
				if c = at[step(c)]; c == nil {
					break
				}
				if c.Matched {
					hits[i].NextTo = append(hits[i].NextTo, c.ID)
				}
			}
		}
	}
}

// visible finds the nearest message before or after a document that the search
// sees: hosts write records of their own between a question and its answer.
func (n *neighbourhood) visible(at place, row segment.DocRow, forward bool) (place, bool, error) {
	for range hiddenReach {
		next, ok, err := beside(n.shares, at, row, forward)
		if err != nil || !ok {
			return next, ok, err
		}
		r := n.shares[next.share].r
		hidden, err := n.filter.hides(r, next.doc)
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
func (n *neighbourhood) neighbour(at place, session int64) (Hit, bool, error) {
	r := n.shares[at.share].r
	row, err := r.Doc(at.doc)
	if err != nil {
		return Hit{}, false, err
	}
	c := hitOf(row, 0)
	n.placed[c.ID] = at
	if c.Session, err = n.session(at, row); err != nil || c.Session != session {
		return c, false, err
	}
	if c.Words, err = n.words(at, row); err != nil {
		return c, false, err
	}
	ok, err := n.filter.passes(r, at.doc)
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
func beside(shares []*share, at place, row segment.DocRow, forward bool) (place, bool, error) {
	r := shares[at.share].r
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
	for n := at.share + step; n >= 0 && n < len(shares); n += step {
		r := shares[n].r
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
		before, ok, err := beside(p.shares, place{at.share, row.Session}, start, false)
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
