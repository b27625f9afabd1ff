package segment

import (
	"encoding/binary"
	"slices"
)

// A phrase is made of words as they were written, one after the other, and a term
// is a stem. So the index keeps, of each occurrence of a term, where it stands in
// its passage and in which form: "queries" and "query" are forms of "queri". A
// phrase is then found and counted without reading a text.
//
// The positions of a term are its forms, and for each posting as many codes as
// the posting counts occurrences, in order of positions. A code is the number of
// the form times PassageWords, plus the position; it takes one byte for the first
// form. A camelCase identifier is counted under its term but is no word of a
// phrase: its form is empty.

// listed is a posting that is being written, with where its codes begin.
type listed struct {
	Posting
	codes uint32
}

// appendPositions encodes the positions of a term: its forms, the sizes of the
// blocks when the list has more than one, and the codes of each block.
func appendPositions(dst []byte, term []byte, forms []string, list []listed, codes []byte) []byte {
	dst = appendForms(dst, term, forms)
	var sizes, blocks []byte
	for block := range slices.Chunk(list, postingBlock) {
		start := len(blocks)
		for _, l := range block {
			at := codes[l.codes:]
			blocks = append(blocks, at[:codesSize(at, int(l.Count))]...)
		}
		sizes = binary.AppendUvarint(sizes, uint64(len(blocks)-start))
	}
	if len(list) > postingBlock {
		dst = binary.AppendUvarint(dst, uint64(len(sizes)))
		dst = append(dst, sizes...)
	}
	return append(dst, blocks...)
}

// appendForms writes the number of forms and each by the letters that it does not
// share with the term. Zero stands for one form that is the term itself.
func appendForms(dst, term []byte, forms []string) []byte {
	if len(forms) == 1 && forms[0] == string(term) {
		return append(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(len(forms)))
	for _, f := range forms {
		shared := sharedPrefix(string(term), f)
		dst = binary.AppendUvarint(dst, uint64(shared))
		dst = binary.AppendUvarint(dst, uint64(len(f)-shared))
		dst = append(dst, f[shared:]...)
	}
	return dst
}

// codesSize is the size of n codes; fewer if the bytes end before.
func codesSize(b []byte, n int) int {
	at := 0
	for ; n > 0 && at < len(b); at++ {
		if b[at] < 0x80 {
			n--
		}
	}
	return at
}

// positionList is the positions of one term as they are stored.
type positionList struct {
	forms []string
	sizes []byte // of the blocks, if they are more than one
	start int64  // where the codes begin in the stream
	size  int64  // of the codes
}

// positionHead reads the forms of a term and the sizes of its blocks.
func (r *Reader) positionHead(e DictEntry, term []byte) (positionList, error) {
	for n := min(e.positionSize, 256); ; n = min(e.positionSize, 8*n) {
		b, err := r.read(streamPositions, e.positions, n)
		if err != nil {
			return positionList{}, err
		}
		v := &numbers{b: b}
		l := positionList{forms: v.forms(term)}
		if e.DF > postingBlock {
			l.sizes = v.bytes(v.unsigned())
		}
		if !v.bad {
			head := int64(len(b) - len(v.b))
			l.start, l.size = e.positions+head, e.positionSize-head
			return l, nil
		}
		if n == e.positionSize {
			return positionList{}, corrupt("positions")
		}
	}
}

// Occurrences lists the places of a word, which is a form of the term of e, inside
// the ranges, which are in order. A place is the number of the passage times
// PassageWords plus the position in it. The words of a document have places
// that follow each other, since only its last passage is not full.
func (r *Reader) Occurrences(dst []uint64, e DictEntry, word string, among []PassageRange) ([]uint64, error) {
	if e.positionSize == 0 || len(among) == 0 {
		return dst, nil
	}
	l, err := r.positionHead(e, []byte(e.term))
	if err != nil {
		return dst, err
	}
	form := slices.Index(l.forms, word)
	if form < 0 {
		return dst, nil
	}
	dst = slices.Grow(dst, min(int(e.DF), 1<<16))
	block := occurrenceBlock{form: uint64(form), among: among}
	if e.DF <= postingBlock {
		if block.postings, err = r.PostingsIn(nil, e, PassageRange{0, r.Segment.passages}); err != nil {
			return dst, err
		}
		if block.codes, err = r.read(streamPositions, l.start, l.size); err != nil {
			return dst, err
		}
		return block.appendTo(dst)
	}
	w, err := r.skips(e)
	sizes := &numbers{b: l.sizes}
	for err == nil && w.left > 0 && len(block.among) > 0 {
		if err = w.next(); err != nil {
			break
		}
		at, size := l.start, int64(sizes.unsigned())
		l.start += size
		if sizes.bad {
			return dst, corrupt("positions")
		}
		if block.skipTo(w.last + 1); len(block.among) == 0 || int64(block.among[0].From) > w.end {
			continue
		}
		var postings []byte
		if postings, err = r.read(streamPostings, w.offset, w.size); err != nil {
			break
		}
		if block.postings, err = decodeBlock(block.postings[:0], postings, w.count, w.last); err != nil {
			break
		}
		if block.codes, err = r.read(streamPositions, at, size); err == nil {
			dst, err = block.appendTo(dst)
		}
	}
	return dst, err
}

// occurrenceBlock finds a form of a term in one block of postings.
type occurrenceBlock struct {
	form     uint64
	among    []PassageRange // that may still hold postings
	postings []Posting
	codes    []byte
}

// skipTo leaves out the ranges before a passage.
func (o *occurrenceBlock) skipTo(passage int64) {
	for len(o.among) > 0 && int64(o.among[0].To) <= passage {
		o.among = o.among[1:]
	}
}

func (o *occurrenceBlock) appendTo(dst []uint64) ([]uint64, error) {
	for _, p := range o.postings {
		if o.skipTo(int64(p.Passage)); len(o.among) == 0 {
			return dst, nil
		}
		if p.Passage < o.among[0].From {
			o.codes = o.codes[codesSize(o.codes, int(p.Count)):]
			continue
		}
		for range p.Count {
			var code uint64
			n := 1
			if len(o.codes) > 0 && o.codes[0] < 0x80 { // most codes have one byte
				code = uint64(o.codes[0])
			} else if code, n = binary.Uvarint(o.codes); n <= 0 {
				return dst, corrupt("positions")
			}
			o.codes = o.codes[n:]
			if code/PassageWords == o.form {
				dst = append(dst, uint64(p.Passage)*PassageWords+code%PassageWords)
			}
		}
	}
	return dst, nil
}

// forms reads what appendForms wrote.
func (v *numbers) forms(term []byte) []string {
	n := v.count(v.unsigned())
	if n == 0 {
		return []string{string(term)}
	}
	forms := make([]string, n)
	for i := range forms {
		shared := v.unsigned()
		suffix := v.bytes(v.unsigned())
		if v.bad || shared > uint64(len(term)) {
			v.bad = true
			return nil
		}
		forms[i] = string(term[:shared]) + string(suffix)
	}
	return forms
}
