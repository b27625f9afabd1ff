package segment

import (
	"encoding/binary"
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

// docColumn reads the documents of passages section by section.
type docColumn struct {
	r     *Reader
	first uint32
	bytes []byte
}

// PassageDocs reads the document of each passage.
func (r *Reader) PassageDocs() docColumn { return docColumn{r: r} }

func (c *docColumn) At(p uint32) (uint32, error) {
	const perSection = sectionBytes / 4
	i := (int(p) - int(c.first)) * 4
	if i < 0 || i >= len(c.bytes) {
		c.first = p / perSection * perSection
		offset := int64(c.first) * 4
		b, err := c.r.read(streamPassageDocs, offset, min(sectionBytes, c.r.Segment.streams[streamPassageDocs].size-offset))
		if err != nil {
			return 0, err
		}
		c.bytes = b
		i = (int(p) - int(c.first)) * 4
	}
	if i+4 > len(c.bytes) {
		return 0, corrupt("passage table")
	}
	return binary.LittleEndian.Uint32(c.bytes[i:]), nil
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
