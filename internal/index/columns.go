package index

import (
	"encoding/binary"
	"sort"
)

// lengthColumn reads the lengths of passages section by section.
type lengthColumn struct {
	r     *reader
	first uint32
	bytes []byte
}

func (c *lengthColumn) at(p uint32) (uint8, error) {
	if i := int(p) - int(c.first); i >= 0 && i < len(c.bytes) {
		return c.bytes[i], nil
	}
	c.first = p / sectionBytes * sectionBytes
	size := min(sectionBytes, c.r.seg.streams[streamLengths].size-int64(c.first))
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
	r     *reader
	first uint32
	bytes []byte
}

func (c *docColumn) at(p uint32) (uint32, error) {
	const perSection = sectionBytes / 4
	i := (int(p) - int(c.first)) * 4
	if i < 0 || i >= len(c.bytes) {
		c.first = p / perSection * perSection
		offset := int64(c.first) * 4
		b, err := c.r.read(streamPassageDocs, offset, min(sectionBytes, c.r.seg.streams[streamPassageDocs].size-offset))
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

// docsBelow is how many documents have lower ids; they are the first ones.
func (r *reader) docsBelow(id int64) (uint32, error) {
	var failed error
	n := sort.Search(r.seg.info.Docs, func(i int) bool {
		at, err := r.docID(uint32(i))
		if err != nil {
			failed = err
		}
		return at >= id
	})
	return uint32(n), failed
}
