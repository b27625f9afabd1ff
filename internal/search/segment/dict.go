package segment

import (
	"encoding/binary"
	"sort"
	"unicode/utf8"
)

// dictBlockBytes is the size at which a block of the dictionary is closed. A
// lookup parses one block.
const dictBlockBytes = 2 << 10

// dictBlock locates one block of the dictionary.
type dictBlock struct {
	first    string // its first term
	offset   int64  // where it begins in streamTerms
	postings int64  // where the lists of its terms begin in streamPostings
	// positions is where the positions of its terms begin in streamPositions.
	positions int64
}

// DictEntry is a term and where its postings are.
type DictEntry struct {
	term         string
	DF           uint32
	offset, size int64
	single       Posting // the posting itself, when df is one
	// positions and positionSize are where the positions are. A term that is no
	// word of a text has none.
	positions, positionSize int64
}

// dictWriter writes terms in increasing order.
type dictWriter struct {
	terms, postings, positions sectionWriter

	blocks  []dictBlock
	last    []byte
	scratch []byte
}

// add writes a term with its postings and, if it has forms, the codes of its
// positions.
func (w *dictWriter) add(term []byte, list []listed, forms []string, codes []byte) {
	start := len(w.blocks) == 0 || w.terms.size()-w.blocks[len(w.blocks)-1].offset >= dictBlockBytes
	if start {
		w.blocks = append(w.blocks, dictBlock{string(term), w.terms.size(), w.postings.size(), w.positions.size()})
		w.last = w.last[:0]
	}
	shared := sharedPrefix(w.last, term)
	b := w.scratch[:0]
	b = binary.AppendUvarint(b, uint64(shared))
	b = binary.AppendUvarint(b, uint64(len(term)-shared))
	b = append(b, term[shared:]...)
	b = binary.AppendUvarint(b, uint64(len(list)))
	if len(list) == 1 {
		b = appendBlock(b, list, -1)
	} else {
		head := len(b)
		b = appendPostings(b, list)
		w.postings.write(b[head:])
		b = binary.AppendUvarint(b[:head], uint64(len(b)-head))
	}
	head := len(b)
	if len(forms) > 0 {
		b = appendPositions(b, term, forms, list, codes)
		w.positions.write(b[head:])
	}
	b = binary.AppendUvarint(b[:head], uint64(len(b)-head))
	w.terms.write(b)
	w.scratch = b
	w.last = append(w.last[:0], term...)
}

func sharedPrefix[T string | []byte](a, b T) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// dictCursor walks the entries of one block.
type dictCursor struct {
	numbers
	term                []byte
	postings, positions int64
}

// next returns the following entry. Its term is valid until the next call.
func (c *dictCursor) next() (e DictEntry, term []byte, err error) {
	shared := c.unsigned()
	suffix := c.bytes(c.unsigned())
	if shared > uint64(len(c.term)) {
		return e, nil, corrupt("dictionary")
	}
	c.term = append(c.term[:shared], suffix...)
	df, passage := c.unsigned(), uint64(0)
	if e.DF = uint32(df); df == 1 {
		v := c.unsigned()
		passage = v >> 1
		e.single = Posting{uint32(passage), 1}
		if count := c.bytes(v & 1); len(count) > 0 {
			e.single.Count = count[0]
		}
	} else {
		e.offset, e.size = c.postings, int64(c.unsigned())
		c.postings += e.size
	}
	e.positions, e.positionSize = c.positions, int64(c.unsigned())
	c.positions += e.positionSize
	if c.bad || df == 0 || max(df, passage) > uint64(^uint32(0)) {
		return e, nil, corrupt("dictionary")
	}
	return e, c.term, nil
}

// dictBlockAt opens a cursor on block i.
func (r *Reader) dictBlockAt(i int) (*dictCursor, error) {
	blocks := r.Segment.terms
	end := r.Segment.streams[streamTerms].size
	if i+1 < len(blocks) {
		end = blocks[i+1].offset
	}
	b, err := r.read(streamTerms, blocks[i].offset, end-blocks[i].offset)
	if err != nil {
		return nil, err
	}
	return &dictCursor{numbers: numbers{b: b}, postings: blocks[i].postings, positions: blocks[i].positions}, nil
}

// blockOf is the only block that may hold the term, or -1.
func (r *Reader) blockOf(term string) int {
	return sort.Search(len(r.Segment.terms), func(i int) bool { return r.Segment.terms[i].first > term }) - 1
}

// Lookup finds a term.
func (r *Reader) Lookup(term string) (DictEntry, bool, error) {
	i := r.blockOf(term)
	if i < 0 {
		return DictEntry{}, false, nil
	}
	c, err := r.dictBlockAt(i)
	if err != nil {
		return DictEntry{}, false, err
	}
	for len(c.b) > 0 {
		e, t, err := c.next()
		if err != nil {
			return DictEntry{}, false, err
		}
		if string(t) >= term {
			e.term = term
			return e, string(t) == term, nil
		}
	}
	return DictEntry{}, false, nil
}

// WithPrefix returns the terms that begin with prefix, at most limit of them,
// and whether there were more.
func (r *Reader) WithPrefix(prefix string, limit int) (found []DictEntry, more bool, err error) {
	for i := max(r.blockOf(prefix), 0); i < len(r.Segment.terms); i++ {
		c, err := r.dictBlockAt(i)
		if err != nil {
			return nil, false, err
		}
		for len(c.b) > 0 {
			e, t, err := c.next()
			if err != nil {
				return nil, false, err
			}
			switch {
			case len(t) >= len(prefix) && string(t[:len(prefix)]) == prefix:
				if len(found) == limit {
					return found, true, nil
				}
				e.term = string(t)
				found = append(found, e)
			case string(t) > prefix:
				return found, false, nil
			}
		}
	}
	return found, false, nil
}

// Term is the term of the entry.
func (e DictEntry) Term() string { return e.term }

// Walk yields terms of the dictionary, in order: those of the blocks that enter
// accepts, up to a number of blocks. Enter is given letters with which terms of a
// block begin, and tells whether such a term is wanted, so that a walk reads the
// few blocks that matter.
func (r *Reader) Walk(blocks int, enter func(beginning []byte) bool, yield func(term []byte)) error {
	for i := range r.Segment.terms {
		if !r.wanted(i, enter) {
			continue
		}
		if blocks--; blocks < 0 {
			return nil
		}
		c, err := r.dictBlockAt(i)
		if err != nil {
			return err
		}
		for len(c.b) > 0 {
			_, term, err := c.next()
			if err != nil {
				return err
			}
			yield(term)
		}
	}
	return nil
}

// wanted reports whether block i may hold a term that enter accepts. The terms of
// a block begin with the letters that its first term shares with the first of the
// next block, and go on with a letter between those of the two.
func (r *Reader) wanted(i int, enter func([]byte) bool) bool {
	const most = 8 // letters that are asked for one by one
	if i+1 == len(r.Segment.terms) {
		return true
	}
	first, next := r.Segment.terms[i].first, r.Segment.terms[i+1].first
	n := sharedPrefix(first, next)
	if n == len(first) || next[n] >= utf8.RuneSelf || next[n]-first[n] > most {
		for n > 0 && !utf8.ValidString(first[:n]) { // cut inside of a rune
			n--
		}
		return enter([]byte(first[:n]))
	}
	beginning := append([]byte(first[:n]), 0)
	for c := first[n]; c <= next[n]; c++ {
		if beginning[n] = c; enter(beginning) {
			return true
		}
	}
	return false
}
