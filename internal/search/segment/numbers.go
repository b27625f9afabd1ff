package segment

import "encoding/binary"

// numbers reads numbers of variable length and bytes between them. It remembers the
// first failure.
type numbers struct {
	b   []byte
	bad bool
}

func (v *numbers) unsigned() uint64 {
	n, size := binary.Uvarint(v.b)
	v.bytes(uint64(max(size, 0)))
	if size <= 0 {
		v.bad, v.b = true, nil
	}
	return n
}

func (v *numbers) signed() int64 {
	n := v.unsigned()
	return int64(n>>1) ^ -int64(n&1)
}

// count checks the length of a list, which cannot exceed the bytes that are left.
func (v *numbers) count(n uint64) int {
	if n > uint64(len(v.b)) {
		v.bad, v.b = true, nil
		return 0
	}
	return int(n)
}

func (v *numbers) bytes(n uint64) []byte {
	size := v.count(n)
	out := v.b[:size]
	v.b = v.b[size:]
	return out
}
