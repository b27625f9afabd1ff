package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrCorrupt reports bytes that are not a segment of this package. The index is
// derived from the record: the cure is to build the segment again.
var ErrCorrupt = errors.New("index: corrupt segment (rebuild it from the record)")

func corrupt(what string) error { return fmt.Errorf("%w: %s", ErrCorrupt, what) }

// postingBlock is how many postings share an entry of the skip table. A search
// inside one conversation decodes only the blocks that touch it.
const postingBlock = 128

// A posting says that a term occurs count times in a passage.
type Posting struct {
	Passage uint32
	Count   uint8
}

// appendPostings encodes a list with strictly increasing passages: the skip
// table when the list has more than one block, then the blocks.
func appendPostings(dst []byte, list []listed) []byte {
	if len(list) <= postingBlock {
		return appendBlock(dst, list, -1)
	}
	var skips, blocks []byte
	last := int64(-1)
	for len(list) > 0 {
		n := min(postingBlock, len(list))
		start := len(blocks)
		blocks = appendBlock(blocks, list[:n], last)
		end := int64(list[n-1].Passage)
		skips = binary.AppendUvarint(skips, uint64(end-last))
		skips = binary.AppendUvarint(skips, uint64(len(blocks)-start))
		last = end
		list = list[n:]
	}
	dst = binary.AppendUvarint(dst, uint64(len(skips)))
	dst = append(dst, skips...)
	return append(dst, blocks...)
}

// appendBlock writes the gap to the last passage shifted left by one, the low
// bit saying whether a count above one follows.
func appendBlock(dst []byte, list []listed, last int64) []byte {
	for _, p := range list {
		gap := uint64(int64(p.Passage)-last-1) << 1
		if p.Count > 1 {
			dst = binary.AppendUvarint(dst, gap|1)
			dst = append(dst, p.Count)
		} else {
			dst = binary.AppendUvarint(dst, gap)
		}
		last = int64(p.Passage)
	}
	return dst
}

// decodeBlock appends n postings that follow passage last.
func decodeBlock(dst []Posting, b []byte, n int, last int64) ([]Posting, error) {
	at := 0
	for range n {
		var gap uint64
		if at < len(b) && b[at] < 0x80 {
			gap = uint64(b[at])
			at++
		} else {
			v, size := binary.Uvarint(b[at:])
			if size <= 0 {
				return dst, corrupt("short posting list")
			}
			gap = v
			at += size
		}
		count := uint8(1)
		if gap&1 != 0 {
			if at >= len(b) {
				return dst, corrupt("short posting list")
			}
			count = b[at]
			at++
		}
		last += int64(gap>>1) + 1
		if last > int64(^uint32(0)) {
			return dst, corrupt("passage out of range")
		}
		dst = append(dst, Posting{uint32(last), count})
	}
	return dst, nil
}

// PassageRange is a half-open range of passages.
type PassageRange struct{ From, To uint32 }

func (r PassageRange) Len() int { return int(r.To) - int(r.From) }

// PostingsIn decodes the postings of a term inside the range.
func (r *Reader) PostingsIn(dst []Posting, e DictEntry, within PassageRange) ([]Posting, error) {
	if e.DF == 1 {
		if p := e.single; p.Passage >= within.From && p.Passage < within.To {
			dst = append(dst, p)
		}
		return dst, nil
	}
	if e.DF <= postingBlock {
		b, err := r.read(streamPostings, e.offset, e.size)
		if err != nil {
			return dst, err
		}
		return appendWithin(dst, b, int(e.DF), -1, within)
	}
	return r.skipTo(dst, e, within)
}

func (r *Reader) skipTo(dst []Posting, e DictEntry, within PassageRange) ([]Posting, error) {
	w, err := r.skips(e)
	for err == nil && w.left > 0 && w.end+1 < int64(within.To) {
		if err = w.next(); err != nil || w.end < int64(within.From) {
			continue
		}
		var block []byte
		if block, err = r.read(streamPostings, w.offset, w.size); err == nil {
			dst, err = appendWithin(dst, block, w.count, w.last, within)
		}
	}
	return dst, err
}

// skipWalk goes over the blocks of a long list by its skip table.
type skipWalk struct {
	table        numbers
	left         int   // postings behind the block
	count        int   // postings of the block
	last, end    int64 // the passage before its first, and its last
	offset, size int64 // where it lies
}

// skips begins before the first block.
func (r *Reader) skips(e DictEntry) (skipWalk, error) {
	head, err := r.read(streamPostings, e.offset, min(e.size, binary.MaxVarintLen32))
	if err != nil {
		return skipWalk{}, err
	}
	size, n := binary.Uvarint(head)
	if n <= 0 || size > uint64(e.size-int64(n)) {
		return skipWalk{}, corrupt("skip table")
	}
	table, err := r.read(streamPostings, e.offset+int64(n), int64(size))
	return skipWalk{table: numbers{b: table}, left: int(e.DF), end: -1, offset: e.offset + int64(n) + int64(size)}, err
}

// next goes on to the next block; left must not be zero.
func (w *skipWalk) next() error {
	gap, size := w.table.unsigned(), w.table.unsigned()
	if w.table.bad {
		return corrupt("skip table")
	}
	w.last, w.end = w.end, w.end+int64(gap)
	w.offset, w.size = w.offset+w.size, int64(size)
	w.count = min(w.left, postingBlock)
	w.left -= w.count
	return nil
}

// appendWithin decodes one block and keeps the postings in the range.
func appendWithin(dst []Posting, b []byte, n int, last int64, within PassageRange) ([]Posting, error) {
	start := len(dst)
	dst, err := decodeBlock(dst, b, n, last)
	if err != nil {
		return dst, err
	}
	list := dst[start:]
	for len(list) > 0 && list[len(list)-1].Passage >= within.To {
		list = list[:len(list)-1]
	}
	skip := 0
	for skip < len(list) && list[skip].Passage < within.From {
		skip++
	}
	return append(dst[:start], list[skip:]...), nil
}

// PostingsAmong decodes the postings of a term inside many ranges, which are in
// order.
func (r *Reader) PostingsAmong(dst []Posting, e DictEntry, ranges []PassageRange) ([]Posting, error) {
	if len(ranges) == 1 {
		return r.PostingsIn(dst, e, ranges[0])
	}
	if e.DF <= postingBlock {
		start := len(dst)
		dst, err := r.PostingsIn(dst, e, PassageRange{0, r.Segment.passages})
		return keepAmong(dst, start, ranges), err
	}
	w, err := r.skips(e)
	for err == nil && w.left > 0 {
		if err = w.next(); err != nil {
			break
		}
		for len(ranges) > 0 && int64(ranges[0].To) <= w.last+1 {
			ranges = ranges[1:]
		}
		if len(ranges) == 0 {
			break
		}
		if int64(ranges[0].From) > w.end {
			continue
		}
		var block []byte
		if block, err = r.read(streamPostings, w.offset, w.size); err == nil {
			start := len(dst)
			dst, err = decodeBlock(dst, block, w.count, w.last)
			dst = keepAmong(dst, start, ranges)
		}
	}
	return dst, err
}

// keepAmong drops the postings from start on that lie in none of the ranges.
func keepAmong(list []Posting, start int, ranges []PassageRange) []Posting {
	out := list[:start]
	for _, post := range list[start:] {
		for len(ranges) > 0 && ranges[0].To <= post.Passage {
			ranges = ranges[1:]
		}
		if len(ranges) == 0 {
			break
		}
		if post.Passage >= ranges[0].From {
			out = append(out, post)
		}
	}
	return out
}
