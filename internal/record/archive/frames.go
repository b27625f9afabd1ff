package archive

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"
)

// An archive consists of zstd frames that are compressed independently, so that
// damage to one leaves the others readable. A head precedes each frame. It is a
// skippable frame: for other programs the file is an ordinary .tar.zst. Some archives from
// before have frames of another kind between them, which are passed over.
const (
	frameBytes = 128 << 10 // bytes of the tar file in one frame

	headMagic = 0x184d2a5c
	headBody  = 40 // bytes after magic and size
	headSize  = 8 + headBody

	// maxPacked bounds the size of a frame that a reader accepts.
	maxPacked = 2 * frameBytes
)

var (
	headTag    = [4]byte{'l', 'c', 'm', '1'}
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// head describes the frame that follows it. Its fields are encoded in this order,
// between magic, size and tag, and a checksum.
type head struct {
	Kind   byte // 0, of frames that have a piece of the tar file
	Start  bool // an entry of the tar file begins with it
	_      [6]byte
	Offset uint64 // in the tar file
	Raw    uint32 // unpacked bytes
	Packed uint32 // bytes after the head
	Sum    [8]byte
}

// appendLE appends a value of fixed size.
func appendLE(b []byte, v any) []byte {
	b, err := binary.Append(b, binary.LittleEndian, v)
	if err != nil { // impossible: all callers pass values of fixed size
		panic(err)
	}
	return b
}

func (h head) append(b []byte) []byte {
	at := len(b)
	b = appendLE(appendLE(append(appendLE(b, [2]uint32{headMagic, headBody}), headTag[:]...), h), uint32(0))
	binary.LittleEndian.PutUint32(b[len(b)-4:], crc32.Checksum(b[at:len(b)-4], castagnoli))
	return b
}

// parseHead parses a head. It returns false for anything else.
func parseHead(b []byte) (h head, ok bool) {
	if len(b) < headSize || binary.LittleEndian.Uint32(b) != headMagic || [4]byte(b[8:12]) != headTag ||
		binary.LittleEndian.Uint32(b[headSize-4:]) != crc32.Checksum(b[:headSize-4], castagnoli) {
		return head{}, false
	}
	_, err := binary.Decode(b[12:], binary.LittleEndian, &h)
	return h, err == nil && h.Kind == 0 && h.Raw <= frameBytes && h.Packed <= maxPacked
}

func shortSum(b []byte) [8]byte {
	sum := sha256.Sum256(b)
	return [8]byte(sum[:8])
}

// frameWriter splits its input into frames.
type frameWriter struct {
	w      io.Writer
	zip    *zstd.Encoder
	raw    []byte
	start  bool // the next frame begins an entry
	offset uint64
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
	h := head{Start: f.start, Offset: f.offset, Raw: uint32(len(f.raw)), Packed: uint32(len(frame)), Sum: shortSum(frame)}
	f.offset += uint64(len(f.raw))
	f.raw, f.start = f.raw[:0], false
	_, err := f.w.Write(append(h.append(make([]byte, 0, headSize+len(frame))), frame...))
	return err
}
