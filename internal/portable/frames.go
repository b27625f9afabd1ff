package portable

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"
)

// An archive consists of zstd frames that are compressed independently, so that
// damage to one leaves the others readable. A head precedes each frame, and a
// parity follows each group of frames, from which one damaged frame of the group
// can be computed. Heads and parities are skippable frames: for other programs
// the file is an ordinary .tar.zst.

const (
	frameBytes  = 128 << 10 // bytes of the tar file in one frame
	groupFrames = 16        // frames that share a parity

	headMagic   = 0x184d2a5c
	parityMagic = 0x184d2a5d
	headBody    = 40 // bytes after magic and size
	headSize    = 8 + headBody

	// maxPacked bounds the size of a frame that a reader accepts.
	maxPacked = 2 * frameBytes
)

var (
	headTag    = [4]byte{'l', 'c', 'm', '1'}
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// The kinds of frame.
const (
	kindData   = 0
	kindParity = 1
)

// head describes the frame that follows it.
type head struct {
	kind   byte
	start  bool   // an entry of the tar file begins with it
	index  byte   // its index in its group; in a parity the number of frames in the group
	group  uint32 // from 0
	offset uint64 // in the tar file
	raw    uint32 // unpacked bytes
	packed uint32 // bytes after the head
	sum    [8]byte
}

func (h head) append(b []byte) []byte {
	at := len(b)
	b = binary.LittleEndian.AppendUint32(b, headMagic)
	b = binary.LittleEndian.AppendUint32(b, headBody)
	b = append(b, headTag[:]...)
	start := byte(0)
	if h.start {
		start = 1
	}
	b = append(b, h.kind, start, h.index, 0)
	b = binary.LittleEndian.AppendUint32(b, h.group)
	b = binary.LittleEndian.AppendUint64(b, h.offset)
	b = binary.LittleEndian.AppendUint32(b, h.raw)
	b = binary.LittleEndian.AppendUint32(b, h.packed)
	b = append(b, h.sum[:]...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[at:], castagnoli))
}

// parseHead parses a head. It returns false for anything else.
func parseHead(b []byte) (head, bool) {
	if len(b) < headSize || binary.LittleEndian.Uint32(b) != headMagic || [4]byte(b[8:12]) != headTag ||
		binary.LittleEndian.Uint32(b[headSize-4:]) != crc32.Checksum(b[:headSize-4], castagnoli) {
		return head{}, false
	}
	h := head{
		kind: b[12], start: b[13] == 1, index: b[14], group: binary.LittleEndian.Uint32(b[16:]), offset: binary.LittleEndian.Uint64(b[20:]),
		raw: binary.LittleEndian.Uint32(b[28:]), packed: binary.LittleEndian.Uint32(b[32:]), sum: [8]byte(b[36:44]),
	}
	return h, h.kind <= kindParity && h.index <= groupFrames && h.raw <= frameBytes && h.packed <= maxPacked
}

func shortSum(b []byte) [8]byte {
	sum := sha256.Sum256(b)
	return [8]byte(sum[:8])
}

// unit is the data that a parity covers: a frame and the fields of its head.
func unit(h head, frame []byte) []byte {
	b := make([]byte, 0, 17+len(frame))
	start := byte(0)
	if h.start {
		start = 1
	}
	b = append(b, start)
	b = binary.LittleEndian.AppendUint32(b, h.raw)
	b = binary.LittleEndian.AppendUint64(b, h.offset)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(frame)))
	return append(b, frame...)
}

// parseUnit is the inverse of unit; zeros may follow a unit.
func parseUnit(b []byte) (h head, frame []byte, ok bool) {
	if len(b) < 17 || b[0] > 1 {
		return h, nil, false
	}
	h = head{start: b[0] == 1, raw: binary.LittleEndian.Uint32(b[1:]), offset: binary.LittleEndian.Uint64(b[5:]), packed: binary.LittleEndian.Uint32(b[13:])}
	if h.raw > frameBytes || int64(h.packed) > int64(len(b)-17) {
		return h, nil, false
	}
	return h, b[17 : 17+h.packed], true
}

// xor adds a unit to a parity.
func xor(parity, unit []byte) []byte {
	for len(parity) < len(unit) {
		parity = append(parity, 0)
	}
	for i, c := range unit {
		parity[i] ^= c
	}
	return parity
}

// frameWriter splits its input into frames.
type frameWriter struct {
	w      io.Writer
	zip    *zstd.Encoder
	raw    []byte
	start  bool // the next frame begins an entry
	offset uint64
	group  uint32
	frames byte // of the group
	parity []byte
}

func newFrameWriter(w io.Writer) (*frameWriter, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1))
	return &frameWriter{w: w, zip: z, raw: make([]byte, 0, frameBytes)}, err
}

// Write implements [io.Writer].
func (f *frameWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		part := p[:min(len(p), frameBytes-len(f.raw))]
		f.raw, p = append(f.raw, part...), p[len(part):]
		if len(f.raw) == frameBytes {
			if err := f.flush(); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

// entry marks the beginning of an entry of the tar file.
func (f *frameWriter) entry() error {
	err := f.flush()
	f.start = true
	return err
}

func (f *frameWriter) flush() error {
	if len(f.raw) == 0 {
		return nil
	}
	frame := f.zip.EncodeAll(f.raw, nil)
	h := head{
		kind: kindData, start: f.start, index: f.frames, group: f.group, offset: f.offset, raw: uint32(len(f.raw)), packed: uint32(len(frame)), sum: shortSum(frame),
	}
	f.parity = xor(f.parity, unit(h, frame))
	f.offset += uint64(len(f.raw))
	f.raw, f.start = f.raw[:0], false
	if f.frames++; f.frames < groupFrames {
		return f.write(h, frame)
	}
	if err := f.write(h, frame); err != nil {
		return err
	}
	return f.endGroup()
}

// endGroup writes the parity of the frames since the last one.
func (f *frameWriter) endGroup() error {
	if f.frames == 0 {
		return nil
	}
	b := binary.LittleEndian.AppendUint32(nil, parityMagic)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(f.parity)))
	b = append(b, f.parity...)
	h := head{kind: kindParity, index: f.frames, group: f.group, offset: f.offset, packed: uint32(len(b)), sum: shortSum(b)}
	f.group, f.frames, f.parity = f.group+1, 0, f.parity[:0]
	return f.write(h, b)
}

func (f *frameWriter) write(h head, frame []byte) error {
	_, err := f.w.Write(append(h.append(make([]byte, 0, headSize+len(frame))), frame...))
	return err
}

// Close writes the rest.
func (f *frameWriter) Close() error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.endGroup()
}
