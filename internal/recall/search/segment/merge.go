package segment

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/lossless-context/lcm/internal/recall/search/analysis"
)

// mergeSections is how many sections of each input a merge keeps in memory. It
// reads them once, from end to end.
const mergeSections = 32

// Merge makes one segment of several whose ids follow each other. It needs no
// texts, and stops when ctx ends. To leave out forgotten documents, build the segment again instead.
func Merge(ctx context.Context, segments []*Segment) (Sealed, error) {
	if len(segments) == 0 {
		return Sealed{}, fmt.Errorf("index: nothing to merge")
	}
	m := &merger{}
	var rows []DocRow
	var lengths []uint8
	var docOf []uint32
	var text int64
	for i, seg := range segments {
		if i > 0 && seg.info.FirstID <= segments[i-1].info.LastID {
			return Sealed{}, fmt.Errorf("index: segments %d and %d overlap: merge them in order of ids", segments[i-1].id, seg.id)
		}
		r := seg.Reader(ctx)
		r.maxSections = mergeSections
		in := &mergeInput{r: r, docs: uint32(len(rows)), passages: uint32(len(lengths)), blocks: uint32(len(m.firsts))}
		m.inputs = append(m.inputs, in)
		var err error
		if rows, lengths, docOf, err = in.appendRows(rows, lengths, docOf); err != nil {
			return Sealed{}, err
		}
		if m.firsts, err = in.appendBlocks(m.firsts); err != nil {
			return Sealed{}, err
		}
		text += seg.info.TextBytes
	}
	if len(rows) == 0 {
		return Sealed{}, corrupt("segments without documents")
	}
	if rows[len(rows)-1].ID-rows[0].ID > int64(^uint32(0)) {
		return Sealed{}, fmt.Errorf("index: documents %d and %d are too far apart for one segment", rows[0].ID, rows[len(rows)-1].ID)
	}
	w := newSegmentWriter(rows, lengths, docOf, text)
	w.setBlocks(m.firsts)
	if err := m.mergeWords(w); err != nil {
		return Sealed{}, err
	}
	if err := m.mergeGrams(w); err != nil {
		return Sealed{}, err
	}
	return w.finish(), nil
}

type merger struct {
	inputs []*mergeInput
	firsts []uint32
}

// mergeInput is one segment and where its numbers begin in the merged one.
type mergeInput struct {
	r                      *Reader
	docs, passages, blocks uint32
	order                  []uint32 // passage as stored → passage in order of ids
}

// appendRows adds the documents, in order of ids, with their passages in the
// same order.
func (in *mergeInput) appendRows(rows []DocRow, lengths []uint8, docOf []uint32) ([]DocRow, []uint8, []uint32, error) {
	seg := in.r.Segment
	fail := func(err error) ([]DocRow, []uint8, []uint32, error) { return nil, nil, nil, err }
	stored, err := in.r.read(streamLengths, 0, int64(seg.passages))
	if err != nil {
		return fail(err)
	}
	in.order = make([]uint32, seg.passages)
	docs := in.r.PassageDocs()
	for n := range uint32(seg.info.Docs) {
		row, err := in.r.Doc(n)
		if err != nil {
			return fail(err)
		}
		p := row.Passage
		row.Passage = uint32(len(lengths))
		for ; p < seg.passages; p++ {
			doc, err := docs.At(p)
			if err != nil {
				return fail(err)
			}
			if doc != n {
				break
			}
			in.order[p] = uint32(len(lengths))
			lengths = append(lengths, stored[p])
			docOf = append(docOf, in.docs+n)
		}
		rows = append(rows, row)
	}
	return rows, lengths, docOf, nil
}

func (in *mergeInput) appendBlocks(firsts []uint32) ([]uint32, error) {
	for n := range in.r.Segment.blocks {
		first, err := in.r.uint32At(streamBlocks, n)
		if err != nil {
			return nil, err
		}
		firsts = append(firsts, in.docs+first)
	}
	return firsts, nil
}

// wordSource walks the dictionary of an input.
type wordSource struct {
	in    *mergeInput
	block int
	c     *dictCursor
	term  []byte // valid until the source advances
	entry DictEntry
	done  bool
}

func (s *wordSource) advance() (err error) {
	for s.c == nil || len(s.c.b) == 0 {
		if s.block == len(s.in.r.Segment.terms) {
			s.done = true
			return nil
		}
		if err := s.in.r.ctx.Err(); err != nil {
			return err
		}
		if s.c, err = s.in.r.dictBlockAt(s.block); err != nil {
			return err
		}
		s.block++
	}
	s.entry, s.term, err = s.c.next()
	return err
}

func (m *merger) mergeWords(w *segmentWriter) error {
	var sources []*wordSource
	for _, in := range m.inputs {
		s := &wordSource{in: in}
		if err := s.advance(); err != nil {
			return err
		}
		sources = append(sources, s)
	}
	var merged mergedTerm
	var term []byte
	for {
		sources = slices.DeleteFunc(sources, func(s *wordSource) bool { return s.done })
		if len(sources) == 0 {
			return nil
		}
		least := sources[0].term
		for _, s := range sources[1:] {
			if bytes.Compare(s.term, least) < 0 {
				least = s.term
			}
		}
		term = append(term[:0], least...)
		merged.reset()
		for _, s := range sources {
			if !bytes.Equal(s.term, term) {
				continue
			}
			if err := merged.add(s, w); err != nil {
				return err
			}
			if err := s.advance(); err != nil {
				return err
			}
		}
		list, forms := merged.finish()
		w.words.add(term, list, forms, merged.codes)
	}
}

// mergedTerm gathers the postings and positions of one term.
type mergedTerm struct {
	list, spare []listed
	runs        []int // where the postings of each input begin
	forms       []string
	codes       []byte
	words       bool // the term is a word of a text
	part        []Posting
}

func (m *mergedTerm) reset() {
	m.list, m.runs, m.forms, m.codes, m.words = m.list[:0], m.runs[:0], m.forms[:0], m.codes[:0], false
}

// add appends the postings of an input.
func (m *mergedTerm) add(s *wordSource, w *segmentWriter) (err error) {
	r := s.in.r
	if m.part, err = r.PostingsIn(m.part[:0], s.entry, PassageRange{0, r.Segment.passages}); err != nil {
		return err
	}
	codes, err := m.codesOf(s)
	if err != nil {
		return err
	}
	m.runs = append(m.runs, len(m.list))
	for _, p := range m.part {
		if p.Passage >= uint32(len(s.in.order)) {
			return corrupt("passage out of range")
		}
		m.list = append(m.list, listed{Posting{w.renumber[s.in.order[p.Passage]], p.Count}, uint32(len(m.codes))})
		if m.codes, err = codes.appendTo(m.codes, int(p.Count)); err != nil {
			return err
		}
	}
	return nil
}

// finish returns the postings in order, and the forms of a term that is a word.
func (m *mergedTerm) finish() ([]listed, []string) {
	if !slices.IsSortedFunc(m.list, comparePassages) {
		m.spare = mergeRuns(m.list, m.runs, m.spare)
	}
	if !m.words {
		return m.list, nil
	}
	return m.list, m.forms
}

// codeSource hands over the codes of a term in one input, with the numbers that
// its forms have in the merged segment.
type codeSource struct {
	codes []byte
	to    []int // by the number in the input; nil: the numbers stay
	name  int   // of a term without codes, which stands for identifiers only
}

// codesOf adds the forms of an input to those of the term.
func (m *mergedTerm) codesOf(s *wordSource) (codeSource, error) {
	if s.entry.positionSize == 0 {
		return codeSource{name: m.numberOf(nameForm)}, nil
	}
	m.words = true
	l, err := s.in.r.allPositions(s.entry, s.term)
	c := codeSource{codes: l.codes}
	same := true
	for i, f := range l.forms {
		n := m.numberOf(f)
		c.to = append(c.to, n)
		same = same && n == i
	}
	if same {
		c.to = nil
	}
	return c, err
}

// numberOf is the number of a form, which is added if it is new.
func (m *mergedTerm) numberOf(form string) int {
	n := slices.Index(m.forms, form)
	if n < 0 {
		n = len(m.forms)
		m.forms = append(m.forms, form)
	}
	return n
}

// appendTo appends the codes of the next posting.
func (c *codeSource) appendTo(dst []byte, count int) ([]byte, error) {
	if c.codes == nil {
		for range count {
			dst = binary.AppendUvarint(dst, uint64(c.name)*PassageWords)
		}
		return dst, nil
	}
	if c.to == nil {
		n := codesSize(c.codes, count)
		dst, c.codes = append(dst, c.codes[:n]...), c.codes[n:]
		return dst, nil
	}
	for range count {
		code, n := binary.Uvarint(c.codes)
		if n <= 0 || code/PassageWords >= uint64(len(c.to)) {
			return dst, corrupt("positions")
		}
		c.codes = c.codes[n:]
		dst = binary.AppendUvarint(dst, uint64(c.to[code/PassageWords])*PassageWords+code%PassageWords)
	}
	return dst, nil
}

// mergeRuns sorts a list made of sorted runs, given where each begins: in every
// input passages are in order of conversation, as they are in the result.
func mergeRuns(list []listed, runs []int, spare []listed) []listed {
	ends := append(slices.Clone(runs[1:]), len(list))
	for len(ends) > 1 {
		spare = spare[:0]
		var merged []int
		start := 0
		for i := 0; i < len(ends); i += 2 {
			x, y := list[start:ends[i]], list[ends[i]:ends[min(i+1, len(ends)-1)]]
			for len(x) > 0 && len(y) > 0 {
				if x[0].Passage < y[0].Passage {
					spare, x = append(spare, x[0]), x[1:]
				} else {
					spare, y = append(spare, y[0]), y[1:]
				}
			}
			spare = append(append(spare, x...), y...)
			start = ends[min(i+1, len(ends)-1)]
			merged = append(merged, start)
		}
		copy(list, spare)
		ends = merged
	}
	return spare
}

// gramSource walks the trigram directory of an input.
type gramSource struct {
	in    *mergeInput
	block int
	c     *gramCursor
	entry gramEntry
	done  bool
}

func (s *gramSource) advance() (err error) {
	for s.c == nil || len(s.c.b) == 0 {
		if s.block == len(s.in.r.Segment.grams) {
			s.done = true
			return nil
		}
		if err := s.in.r.ctx.Err(); err != nil {
			return err
		}
		if s.c, err = s.in.r.gramBlockAt(s.block); err != nil {
			return err
		}
		s.block++
	}
	s.entry, err = s.c.next()
	return err
}

// mergeGrams joins the lists end to end: blocks are in order of ids, as the
// inputs are.
func (m *merger) mergeGrams(w *segmentWriter) error {
	var sources []*gramSource
	for _, in := range m.inputs {
		s := &gramSource{in: in}
		if err := s.advance(); err != nil {
			return err
		}
		sources = append(sources, s)
	}
	var list, part []uint32
	for {
		sources = slices.DeleteFunc(sources, func(s *gramSource) bool { return s.done })
		if len(sources) == 0 {
			return nil
		}
		least := analysis.Trigram(analysis.TrigramCount)
		for _, s := range sources {
			least = min(least, s.entry.gram)
		}
		list = list[:0]
		for _, s := range sources {
			if s.entry.gram != least {
				continue
			}
			var err error
			if part, err = s.in.r.gramList(part[:0], s.entry); err != nil {
				return err
			}
			for _, b := range part {
				list = append(list, b+s.in.blocks)
			}
			if err := s.advance(); err != nil {
				return err
			}
		}
		w.grams.add(least, list, w.blocks)
	}
}
