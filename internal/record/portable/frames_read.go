package portable

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"

	"github.com/klauspost/compress/zstd"
)

// headPrefix begins every head.
var headPrefix = head{}.append(nil)[:12]

// frame is a piece of the tar file.
type frame struct {
	start bool
	data  []byte
	lost  int64 // missing bytes of the tar file before it
}

// frameReader reads the frames of an archive. It computes a damaged frame from the
// parity of its group, or skips it and continues with the next.
type frameReader struct {
	r        *bufio.Reader
	zip      *zstd.Decoder
	limits   Limits
	read     int64 // bytes of the file
	unpacked int64
	repaired int // damaged frames that were computed

	group   uint32
	units   [groupFrames][]byte
	parity  []byte
	count   int // frames of the group, from its parity
	pending *block
	ready   []frame
	next    uint64 // the expected offset
	done    bool
}

// block is a head and its frame.
type block struct {
	head
	data []byte
}

func newFrameReader(r io.Reader, l Limits) (*frameReader, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(4*frameBytes))
	return &frameReader{r: bufio.NewReaderSize(r, 4*maxPacked), zip: z, limits: l}, err
}

// frame returns the next frame, and io.EOF after the last one.
func (f *frameReader) frame() (frame, error) {
	for len(f.ready) == 0 {
		if f.done {
			return frame{}, io.EOF
		}
		if err := f.readGroup(); err != nil {
			return frame{}, err
		}
	}
	out := f.ready[0]
	f.ready = f.ready[1:]
	f.unpacked += int64(len(out.data)) + out.lost
	if f.unpacked > freeBytes && f.unpacked/f.limits.Ratio > f.read {
		return frame{}, errBomb
	}
	return out, nil
}

// readGroup reads the blocks of the next group and unpacks its frames.
func (f *frameReader) readGroup() error {
	f.units, f.parity, f.count = [groupFrames][]byte{}, nil, 0
	first := true
	for {
		b, err := f.block()
		if err == io.EOF {
			f.done = true
			break
		}
		if err != nil {
			return err
		}
		if first {
			f.group, first = b.Group, false
		}
		if b.Group != f.group {
			f.pending = b
			break
		}
		switch {
		case b.Kind == kindParity && len(b.data) >= 8:
			f.parity, f.count = b.data[8:], int(b.Index)
		case b.Kind == kindData && b.Index < groupFrames:
			f.units[b.Index] = unit(b.head, b.data)
		}
	}
	f.repair()
	for _, u := range f.units {
		h, packed, ok := parseUnit(u)
		if !ok {
			continue // it is missing
		}
		data, err := f.zip.DecodeAll(packed, make([]byte, 0, h.Raw))
		if err != nil || len(data) != int(h.Raw) || h.Offset < f.next {
			continue
		}
		f.ready = append(f.ready, frame{start: h.Start, data: data, lost: int64(h.Offset - f.next)})
		f.next = h.Offset + uint64(h.Raw)
	}
	return nil
}

// repair computes the missing frame of a group if it is the only one.
func (f *frameReader) repair() {
	missing := -1
	for i := range f.count {
		if f.units[i] != nil {
			continue
		}
		if missing >= 0 {
			return // a parity can replace only one
		}
		missing = i
	}
	if missing < 0 || f.parity == nil {
		return
	}
	whole := bytes.Clone(f.parity)
	for i := range f.count {
		if i != missing {
			if len(f.units[i]) > len(whole) {
				return
			}
			whole = xor(whole, f.units[i])
		}
	}
	if _, _, ok := parseUnit(whole); ok {
		f.units[missing] = whole
		f.repaired++
	}
}

// block returns the next undamaged head with an undamaged frame.
func (f *frameReader) block() (*block, error) {
	if b := f.pending; b != nil {
		f.pending = nil
		return b, nil
	}
	for {
		begin, err := f.r.Peek(headSize)
		if len(begin) < headSize {
			if err == io.EOF || err == nil {
				return nil, io.EOF
			}
			return nil, err
		}
		h, ok := parseHead(begin)
		if !ok {
			if err := f.resync(); err != nil {
				return nil, err
			}
			continue
		}
		all, err := f.r.Peek(headSize + int(h.Packed))
		if err != nil && err != io.EOF {
			return nil, err
		}
		if len(all) < headSize+int(h.Packed) || shortSum(all[headSize:]) != h.Sum {
			if err := f.skip(headSize); err != nil {
				return nil, err
			}
			continue
		}
		data := bytes.Clone(all[headSize:])
		if h.Kind == kindParity && (len(data) < 8 || binary.LittleEndian.Uint32(data) != parityMagic) {
			data = nil
		}
		return &block{head: h, data: data}, f.skip(len(all))
	}
}

// resync skips to where the next head may begin.
func (f *frameReader) resync() error {
	all, err := f.r.Peek(f.r.Size())
	if err != nil && err != io.EOF {
		return err
	}
	at := bytes.Index(all[1:], headPrefix)
	switch {
	case at >= 0:
		return f.skip(at + 1)
	case err == io.EOF:
		return f.skip(len(all))
	}
	return f.skip(len(all) - len(headPrefix))
}

func (f *frameReader) skip(n int) error {
	done, err := f.r.Discard(n)
	f.read += int64(done)
	return err
}

// section is one entry of the tar file: its first frame and those up to the next
// entry. Missing bytes inside read as zeros.
type section struct {
	f     *frameReader
	first *frame // of the next section
	rest  []byte
	zeros int64
	ended bool
	err   error
}

// nextSection skips to the next entry, and returns how many bytes before it are
// missing.
func (s *section) nextSection() (*section, int64, error) {
	lost := int64(0)
	for !s.ended { // skip the unread rest
		s.fill()
		s.rest, s.zeros = nil, 0
	}
	if s.err != nil && s.err != io.EOF {
		return nil, 0, s.err
	}
	next := s.first
	for next == nil || !next.start {
		fr, err := s.f.frame()
		if err != nil {
			return nil, lost, err
		}
		lost += fr.lost
		if !fr.start {
			lost += int64(len(fr.data))
		}
		next = &fr
	}
	if next == s.first {
		lost = next.lost
	}
	return &section{f: s.f, rest: next.data}, lost, nil
}

// fill reads the next frame of the section.
func (s *section) fill() {
	fr, err := s.f.frame()
	switch {
	case err != nil:
		s.ended, s.err = true, err
	case fr.start:
		s.ended, s.first = true, &fr
	default:
		s.rest, s.zeros = fr.data, fr.lost
	}
}

// Read implements [io.Reader].
func (s *section) Read(p []byte) (int, error) {
	for len(s.rest) == 0 && s.zeros == 0 {
		if s.ended {
			if s.err != nil && s.err != io.EOF {
				return 0, s.err
			}
			return 0, io.EOF
		}
		s.fill()
	}
	if s.zeros > 0 {
		n := int(min(s.zeros, int64(len(p))))
		clear(p[:n])
		s.zeros -= int64(n)
		return n, nil
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}
