package segment

import (
	"encoding/binary"
	"sort"
	"sync"

	"github.com/lossless-context/lcm/internal/search/analysis"
)

// gramSet is a set of all grams as bits, empty between uses.
type gramSet [analysis.TrigramCount / 64]uint64

var gramSets = sync.Pool{New: func() any { return new(gramSet) }}

// gramBuilder gathers the grams of blocks of documents. A block is a run of
// documents with consecutive ids; a list of blocks costs a fraction of a list of
// documents, and candidates are verified against the text in any case.
type gramBuilder struct {
	blockBytes int
	set        *gramSet
	seen       []analysis.Trigram // of the open block
	size       int                // text bytes in the open block
	open       bool
	entries    []uint64 // gram<<32 | block
	firsts     []uint32 // first document of each block
	folded     []byte
}

// add indexes the document with this number.
func (g *gramBuilder) add(doc uint32, text []byte) {
	if g.set == nil {
		g.set = gramSets.Get().(*gramSet)
	}
	if !g.open {
		g.firsts = append(g.firsts, doc)
		g.open = true
	}
	g.folded = analysis.AppendTrigramText(g.folded[:0], text)
	if len(g.folded) >= 3 {
		b := g.folded
		v := analysis.Trigram(b[0])<<8 | analysis.Trigram(b[1])
		for _, c := range b[2:] {
			v = v<<8&(analysis.TrigramCount-1) | analysis.Trigram(c)
			word, bit := v>>6, uint64(1)<<(v&63)
			if g.set[word]&bit == 0 {
				g.set[word] |= bit
				g.seen = append(g.seen, v)
			}
		}
	}
	g.size += len(text)
	if g.size >= g.blockBytes {
		g.close()
	}
}

// close ends the open block.
func (g *gramBuilder) close() {
	if !g.open {
		return
	}
	block := uint64(len(g.firsts) - 1)
	for _, v := range g.seen {
		g.entries = append(g.entries, uint64(v)<<32|block)
		g.set[v>>6] = 0
	}
	g.seen, g.size, g.open = g.seen[:0], 0, false
}

// finish returns the entries in order of grams, then blocks.
func (g *gramBuilder) finish() []uint64 {
	g.close()
	if g.set != nil {
		gramSets.Put(g.set)
		g.set = nil
	}
	from, to := g.entries, make([]uint64, len(g.entries))
	const digit = 1 << 12
	for shift := 32; shift < 56; shift += 12 {
		var count [digit + 1]uint32
		for _, e := range from {
			count[e>>shift&(digit-1)+1]++
		}
		for i := 1; i < digit; i++ {
			count[i] += count[i-1]
		}
		for _, e := range from {
			d := e >> shift & (digit - 1)
			to[count[d]] = e
			count[d]++
		}
		from, to = to, from
	}
	return from
}

// gramBlock locates one block of the trigram directory.
type gramBlock struct {
	first            analysis.Trigram
	offset, postings int64
}

const gramBlockEntries = 512

// gramWriter writes lists in increasing order of grams.
type gramWriter struct {
	terms, postings sectionWriter
	blocks          []gramBlock
	inBlock         int
	last            analysis.Trigram
	scratch         []byte
}

func (w *gramWriter) add(v analysis.Trigram, blocks []uint32, total uint32) {
	if len(w.blocks) == 0 || w.inBlock == gramBlockEntries {
		w.blocks = append(w.blocks, gramBlock{v, w.terms.size(), w.postings.size()})
		w.inBlock, w.last = 0, v
	}
	w.inBlock++
	b := w.scratch[:0]
	b = binary.AppendUvarint(b, uint64(v-w.last))
	b = binary.AppendUvarint(b, uint64(len(blocks)))
	w.last = v
	if len(blocks) == 1 {
		b = binary.AppendUvarint(b, uint64(blocks[0]))
	} else {
		head := len(b)
		b = appendRice(b, blocks, total)
		w.postings.write(b[head:])
		b = binary.AppendUvarint(b[:head], uint64(len(b)-head))
	}
	w.terms.write(b)
	w.scratch = b
}

// gramEntry locates the list of a gram.
type gramEntry struct {
	gram         analysis.Trigram
	df           uint32
	single       uint32 // the block itself, when df is one
	offset, size int64
}

// gramCursor walks one block of the directory.
type gramCursor struct {
	numbers
	last     analysis.Trigram
	postings int64
}

func (c *gramCursor) next() (gramEntry, error) {
	c.last += analysis.Trigram(c.unsigned())
	e := gramEntry{gram: c.last, df: uint32(c.unsigned()), offset: c.postings}
	n := c.unsigned()
	if c.bad {
		return gramEntry{}, corrupt("trigram directory")
	}
	if e.df == 1 {
		e.single = uint32(n)
		return e, nil
	}
	e.size = int64(n)
	c.postings += e.size
	return e, nil
}

func (r *Reader) gramBlockAt(i int) (*gramCursor, error) {
	blocks := r.Segment.grams
	end := r.Segment.streams[streamGramTerms].size
	if i+1 < len(blocks) {
		end = blocks[i+1].offset
	}
	b, err := r.read(streamGramTerms, blocks[i].offset, end-blocks[i].offset)
	if err != nil {
		return nil, err
	}
	return &gramCursor{numbers: numbers{b: b}, last: blocks[i].first, postings: blocks[i].postings}, nil
}

// gram finds the list of a gram; its df is zero when no block has it.
func (r *Reader) gram(v analysis.Trigram) (gramEntry, error) {
	if e, ok := r.grams[v]; ok {
		return e, nil
	}
	e, err := r.findGram(v)
	if err == nil {
		r.grams[v] = e
	}
	return e, err
}

func (r *Reader) findGram(v analysis.Trigram) (gramEntry, error) {
	i := sort.Search(len(r.Segment.grams), func(i int) bool { return r.Segment.grams[i].first > v }) - 1
	if i < 0 {
		return gramEntry{gram: v}, nil
	}
	c, err := r.gramBlockAt(i)
	if err != nil {
		return gramEntry{}, err
	}
	for len(c.b) > 0 {
		e, err := c.next()
		if err != nil {
			return gramEntry{}, err
		}
		if e.gram == v {
			return e, nil
		}
		if e.gram > v {
			break
		}
	}
	return gramEntry{gram: v}, nil
}

func (r *Reader) gramList(dst []uint32, e gramEntry) ([]uint32, error) {
	if e.df == 1 {
		if e.single >= r.Segment.blocks {
			return dst, corrupt("block out of range")
		}
		return append(dst, e.single), nil
	}
	b, err := r.read(streamGrams, e.offset, e.size)
	if err != nil {
		return dst, err
	}
	return decodeRice(dst, b, e.df, r.Segment.blocks)
}
