package segment

import (
	"encoding/binary"
	"math/bits"
	"sort"
)

// LengthColumn reads the lengths of passages section by section.
type LengthColumn struct {
	r     *Reader
	first uint32
	bytes []byte
}

// PassageLengths reads how many words each passage has.
func (r *Reader) PassageLengths() LengthColumn { return LengthColumn{r: r} }

func (c *LengthColumn) At(p uint32) (uint8, error) {
	if i := int(p) - int(c.first); i >= 0 && i < len(c.bytes) {
		return c.bytes[i], nil
	}
	c.first = p / sectionBytes * sectionBytes
	size := min(sectionBytes, c.r.Segment.streams[streamLengths].size-int64(c.first))
	b, err := c.r.read(streamLengths, int64(c.first), size)
	if err != nil {
		return 0, err
	}
	c.bytes = b
	if int(p-c.first) >= len(b) {
		return 0, corrupt("passage lengths")
	}
	return b[p-c.first], nil
}

// docColumn reads the documents of passages.
type docColumn struct {
	r     *Reader
	known bool // the block at first
	first uint32
	block startBlock
}

// startBlock tells of some passages which of them begin a document. In memory and
// on disk it is a thirtieth of the numbers of their documents: a search that
// matches everywhere read a thousand sections of those in a million messages.
type startBlock struct {
	before uint32 // documents that begin before the block
	starts [startPassages / 64]uint64
}

const (
	startPassages   = 512
	startBlockBytes = 4 + startPassages/8
)

// appendStarts writes the blocks of the documents of passages, and the documents
// in order of passages if that is not the order of ids.
func appendStarts(docOf []uint32) (starts, order []byte) {
	var docs []uint32
	for p := 0; p < len(docOf); p += startPassages {
		starts = binary.LittleEndian.AppendUint32(starts, uint32(len(docs)))
		var block [startPassages / 8]byte
		for i := p; i < min(p+startPassages, len(docOf)); i++ {
			if i == 0 || docOf[i] != docOf[i-1] {
				block[(i-p)/8] |= 1 << ((i - p) % 8)
				docs = append(docs, docOf[i])
			}
		}
		starts = append(starts, block[:]...)
	}
	for i, doc := range docs {
		if doc != uint32(i) {
			order = make([]byte, 0, 4*len(docs))
			for _, doc := range docs {
				order = binary.LittleEndian.AppendUint32(order, doc)
			}
			break
		}
	}
	return starts, order
}

// PassageDocs reads the document of each passage.
func (r *Reader) PassageDocs() docColumn { return docColumn{r: r} }

// At is the document of a passage, in order of ids.
func (c *docColumn) At(p uint32) (uint32, error) {
	if err := c.load(p); err != nil {
		return 0, err
	}
	n, at := c.block.before, p-c.first
	for i := range at / 64 {
		n += uint32(bits.OnesCount64(c.block.starts[i]))
	}
	n += uint32(bits.OnesCount64(c.block.starts[at/64] << (63 - at%64)))
	if n == 0 {
		return 0, corrupt("passage table")
	}
	if c.r.Segment.streams[streamOrder].size == 0 {
		return n - 1, nil
	}
	return c.r.uint32At(streamOrder, n-1)
}

// load reads the block of a passage.
func (c *docColumn) load(p uint32) error {
	first := p / startPassages * startPassages
	if c.known && first == c.first {
		return nil
	}
	b, err := c.r.read(streamStarts, int64(first/startPassages)*startBlockBytes, startBlockBytes)
	if err != nil {
		return err
	}
	c.known, c.first, c.block.before = true, first, binary.LittleEndian.Uint32(b)
	for i := range c.block.starts {
		c.block.starts[i] = binary.LittleEndian.Uint64(b[4+8*i:])
	}
	return nil
}

// Range is the passages of the document that holds a passage. They lie side by side.
func (c *docColumn) Range(p uint32) (within PassageRange, err error) {
	if p >= c.r.Segment.passages {
		return within, corrupt("passage out of range")
	}
	within = PassageRange{p, p + 1}
	for within.From > 0 {
		if start, err := c.begins(within.From); err != nil {
			return within, err
		} else if start {
			break
		}
		within.From--
	}
	for within.To < c.r.Segment.passages {
		if start, err := c.begins(within.To); err != nil || start {
			return within, err
		}
		within.To++
	}
	return within, nil
}

// InOneDocument reports whether the passages from first to last are of one document.
// Unlike Range it does not walk through the rest of the document.
func (c *docColumn) InOneDocument(first, last uint32) (bool, error) {
	if first >= c.r.Segment.passages {
		return false, corrupt("passage out of range")
	}
	if last >= c.r.Segment.passages {
		return false, nil
	}
	for p := first + 1; p <= last; p++ {
		if start, err := c.begins(p); err != nil || start {
			return false, err
		}
	}
	return true, nil
}

// begins reports whether a passage begins a document.
func (c *docColumn) begins(p uint32) (bool, error) {
	err := c.load(p)
	at := p - c.first
	return err == nil && c.block.starts[at/64]&(1<<(at%64)) != 0, err
}

// DocsBelow is how many documents have lower ids; they are the first ones.
func (r *Reader) DocsBelow(id int64) (uint32, error) {
	var failed error
	n := sort.Search(r.Segment.info.Docs, func(i int) bool {
		at, err := r.DocID(uint32(i))
		if err != nil {
			failed = err
		}
		return at >= id
	})
	return uint32(n), failed
}
