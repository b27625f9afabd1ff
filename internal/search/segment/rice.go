package segment

import (
	"encoding/binary"
	"math/bits"
)

// riceBits is the number of low bits that Rice coding stores as they are, from
// the mean gap between n blocks out of total.
func riceBits(total, n uint32) uint {
	mean := uint64(total) * 69 / 100 / uint64(max(n, 1))
	if mean < 1 {
		return 0
	}
	return uint(bits.Len64(mean)) - 1
}

// appendRice encodes increasing block numbers below total as Rice-coded gaps:
// within a few percent of the least possible size, and never more than a bitmap.
func appendRice(dst []byte, blocks []uint32, total uint32) []byte {
	k := riceBits(total, uint32(len(blocks)))
	var acc uint64 // bits to write, lowest first
	var n uint     // how many, below 32 between gaps
	last := int64(-1)
	for _, b := range blocks {
		gap := uint64(int64(b) - last - 1)
		last = int64(b)
		zeros := gap >> k
		for ; zeros >= 24; zeros -= 24 {
			if n += 24; n >= 32 {
				dst = binary.LittleEndian.AppendUint32(dst, uint32(acc))
				acc >>= 32
				n -= 32
			}
		}
		acc |= 1 << (n + uint(zeros))
		if n += uint(zeros) + 1; n >= 32 {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(acc))
			acc >>= 32
			n -= 32
		}
		acc |= (gap & (1<<k - 1)) << n
		if n += k; n >= 32 {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(acc))
			acc >>= 32
			n -= 32
		}
	}
	for ; n > 0; n -= min(n, 8) {
		dst = append(dst, byte(acc))
		acc >>= 8
	}
	return dst
}

// bitReader reads bits, lowest first.
type bitReader struct {
	b    []byte
	acc  uint64
	have uint
}

// fill tops the accumulator up to at least 32 bits, if there are as many.
func (r *bitReader) fill() {
	if r.have > 32 {
		return
	}
	if len(r.b) >= 4 {
		r.acc |= uint64(binary.LittleEndian.Uint32(r.b)) << r.have
		r.have += 32
		r.b = r.b[4:]
		return
	}
	for len(r.b) > 0 {
		r.acc |= uint64(r.b[0]) << r.have
		r.have += 8
		r.b = r.b[1:]
	}
}

// decodeRice appends n block numbers below total.
func decodeRice(dst []uint32, b []byte, n, total uint32) ([]uint32, error) {
	k := riceBits(total, n)
	r := bitReader{b: b}
	last := int64(-1)
	for range n {
		var zeros uint64
		for r.fill(); r.acc == 0; r.fill() {
			zeros += uint64(r.have)
			r.have = 0
			if len(r.b) == 0 {
				return dst, corrupt("short trigram list")
			}
		}
		run := uint(bits.TrailingZeros64(r.acc))
		zeros += uint64(run)
		r.acc >>= run + 1
		r.have -= run + 1
		r.fill()
		if r.have < k {
			return dst, corrupt("short trigram list")
		}
		last += int64(zeros<<k|r.acc&(1<<k-1)) + 1
		r.acc >>= k
		r.have -= k
		if last >= int64(total) {
			return dst, corrupt("block out of range")
		}
		dst = append(dst, uint32(last))
	}
	return dst, nil
}
