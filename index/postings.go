package index

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
type posting struct {
	passage uint32
	count   uint8
}

// appendPostings encodes a list with strictly increasing passages: the skip
// table when the list has more than one block, then the blocks.
func appendPostings(dst []byte, list []posting) []byte {
	if len(list) <= postingBlock {
		return appendBlock(dst, list, -1)
	}
	var skips, blocks []byte
	last := int64(-1)
	for len(list) > 0 {
		n := min(postingBlock, len(list))
		start := len(blocks)
		blocks = appendBlock(blocks, list[:n], last)
		end := int64(list[n-1].passage)
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
func appendBlock(dst []byte, list []posting, last int64) []byte {
	for _, p := range list {
		gap := uint64(int64(p.passage)-last-1) << 1
		if p.count > 1 {
			dst = binary.AppendUvarint(dst, gap|1)
			dst = append(dst, p.count)
		} else {
			dst = binary.AppendUvarint(dst, gap)
		}
		last = int64(p.passage)
	}
	return dst
}

// decodeBlock appends n postings that follow passage last.
func decodeBlock(dst []posting, b []byte, n int, last int64) ([]posting, error) {
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
		dst = append(dst, posting{uint32(last), count})
	}
	return dst, nil
}

// passageRange is a half-open range of passages.
type passageRange struct{ from, to uint32 }

func (r passageRange) len() int { return int(r.to) - int(r.from) }

// postingsIn decodes the postings of a term inside the range.
func (r *reader) postingsIn(dst []posting, e dictEntry, within passageRange) ([]posting, error) {
	if e.df == 1 {
		if p := e.single; p.passage >= within.from && p.passage < within.to {
			dst = append(dst, p)
		}
		return dst, nil
	}
	if e.df <= postingBlock {
		b, err := r.read(streamPostings, e.offset, e.size)
		if err != nil {
			return dst, err
		}
		return appendWithin(dst, b, int(e.df), -1, within)
	}
	return r.skipTo(dst, e, within)
}

func (r *reader) skipTo(dst []posting, e dictEntry, within passageRange) ([]posting, error) {
	head, err := r.read(streamPostings, e.offset, min(e.size, binary.MaxVarintLen32))
	if err != nil {
		return dst, err
	}
	skipLen, n := binary.Uvarint(head)
	if n <= 0 || int64(skipLen) > e.size-int64(n) {
		return dst, corrupt("skip table")
	}
	skips, err := r.read(streamPostings, e.offset+int64(n), int64(skipLen))
	if err != nil {
		return dst, err
	}
	offset := e.offset + int64(n) + int64(skipLen)
	left, last := int(e.df), int64(-1)
	for left > 0 && last+1 < int64(within.to) {
		gap, a := binary.Uvarint(skips)
		size, b := binary.Uvarint(skips[max(a, 0):])
		if a <= 0 || b <= 0 {
			return dst, corrupt("skip table")
		}
		skips = skips[a+b:]
		if end := last + int64(gap); end >= int64(within.from) {
			block, err := r.read(streamPostings, offset, int64(size))
			if err != nil {
				return dst, err
			}
			if dst, err = appendWithin(dst, block, min(left, postingBlock), last, within); err != nil {
				return dst, err
			}
		}
		last += int64(gap)
		offset += int64(size)
		left -= postingBlock
	}
	return dst, nil
}

// appendWithin decodes one block and keeps what lies in the range.
func appendWithin(dst []posting, b []byte, n int, last int64, within passageRange) ([]posting, error) {
	start := len(dst)
	dst, err := decodeBlock(dst, b, n, last)
	if err != nil {
		return dst, err
	}
	list := dst[start:]
	for len(list) > 0 && list[len(list)-1].passage >= within.to {
		list = list[:len(list)-1]
	}
	skip := 0
	for skip < len(list) && list[skip].passage < within.from {
		skip++
	}
	return append(dst[:start], list[skip:]...), nil
}
