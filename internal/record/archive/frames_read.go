package archive

import (
	"bufio"
	"bytes"
	"cmp"
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

// frameReader reads the frames of an archive. It skips damaged ones.
type frameReader struct {
	r        *bufio.Reader
	zip      *zstd.Decoder
	limits   Limits
	read     int64 // bytes of the file
	unpacked int64
	next     uint64 // the expected offset
	ahead    *frame // the one that peek returned
	over     error  // what peek returns if there are no more
}

func newFrameReader(r io.Reader, l Limits) (*frameReader, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(4*frameBytes))
	return &frameReader{r: bufio.NewReaderSize(r, 4*maxPacked), zip: z, limits: l}, err
}

// peek returns the next frame without taking it. It returns an error once, and then io.EOF; it
// goes on refusing an archive that unpacks to too much.
func (f *frameReader) peek() (_ *frame, err error) {
	if f.over != nil {
		return nil, f.over
	}
	if f.ahead == nil {
		if f.ahead, err = f.frame(); err != nil {
			f.over = io.EOF
		}
		if err == errBomb {
			f.over = err
		}
	}
	return f.ahead, err
}

// frame returns the next frame, and io.EOF after the last one.
func (f *frameReader) frame() (*frame, error) {
	for {
		h, packed, err := f.block()
		if err != nil {
			return nil, err
		}
		if h.Offset < f.next {
			continue
		}
		data, err := f.zip.DecodeAll(packed, make([]byte, 0, h.Raw))
		if err != nil || len(data) != int(h.Raw) {
			continue
		}
		out := &frame{start: h.Start, data: data, lost: int64(h.Offset - f.next)}
		f.next = h.Offset + uint64(h.Raw)
		f.unpacked += int64(len(out.data)) + out.lost
		if f.unpacked > freeBytes && f.unpacked/f.limits.Ratio > f.read {
			return nil, errBomb
		}
		return out, nil
	}
}

// block returns the next undamaged head with an undamaged frame.
func (f *frameReader) block() (h head, packed []byte, err error) {
	for {
		begin, err := f.r.Peek(headSize)
		if len(begin) < headSize {
			return h, nil, cmp.Or(err, io.EOF)
		}
		h, ok := parseHead(begin)
		if !ok {
			if err := f.resync(); err != nil {
				return h, nil, err
			}
			continue
		}
		all, err := f.r.Peek(headSize + int(h.Packed))
		if err != nil && err != io.EOF {
			return h, nil, err
		}
		if len(all) < headSize+int(h.Packed) || shortSum(all[headSize:]) != h.Sum {
			if err := f.skip(headSize); err != nil {
				return h, nil, err
			}
			continue
		}
		packed := bytes.Clone(all[headSize:])
		return h, packed, f.skip(len(all))
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
	rest  []byte
	zeros int64 // before rest
}

// nextSection skips to the next entry, and returns how many bytes before it are
// missing.
func (f *frameReader) nextSection() (*section, int64, error) {
	for lost := int64(0); ; {
		fr, err := f.peek()
		if err != nil {
			return nil, lost, err
		}
		f.ahead = nil
		if lost += fr.lost; fr.start {
			return &section{f: f, rest: fr.data}, lost, nil
		}
		lost += int64(len(fr.data))
	}
}

// Read implements [io.Reader].
func (s *section) Read(p []byte) (int, error) {
	for len(s.rest) == 0 && s.zeros == 0 {
		fr, err := s.f.peek()
		if err != nil {
			return 0, err
		}
		if fr.start {
			return 0, io.EOF
		}
		s.rest, s.zeros, s.f.ahead = fr.data, fr.lost, nil
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
