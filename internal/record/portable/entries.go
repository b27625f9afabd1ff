package portable

import (
	"archive/tar"
	"bufio"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
)

// entries reads the entries of an archive's tar file. After an error that wraps
// ErrDamaged, next continues behind the damage; io.EOF ends them.
type entries interface {
	next() (*tar.Header, io.Reader, error)
	repaired() int
	close()
}

// openEntries detects whether an archive has frames or is a single stream, as
// version 1 of the program wrote it.
func openEntries(r io.Reader, l Limits) (entries, error) {
	b := bufio.NewReaderSize(r, 4*maxPacked)
	begin, err := b.Peek(4 * maxPacked)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if framed(begin) {
		f, err := newFrameReader(b, l)
		return &framedEntries{frames: f, section: &section{f: f, ended: true}}, err
	}
	packed := &counter{r: b}
	z, err := newUnzip(packed)
	if err != nil {
		return nil, err
	}
	return &streamEntries{zip: z, tar: tar.NewReader(&counter{r: z, packed: packed, ratio: l.Ratio})}, nil
}

// newUnzip unpacks a single stream within bounds.
func newUnzip(r io.Reader) (*zstd.Decoder, error) {
	return zstd.NewReader(r, zstd.WithDecoderMaxMemory(256<<20), zstd.WithDecoderMaxWindow(128<<20), zstd.WithDecoderConcurrency(1))
}

// streamEntries reads a single stream. Nothing behind damage can be read.
type streamEntries struct {
	zip   *zstd.Decoder
	tar   *tar.Reader
	ended bool
}

func (e *streamEntries) next() (*tar.Header, io.Reader, error) {
	if e.ended {
		return nil, nil, io.EOF
	}
	h, err := e.tar.Next()
	e.ended = err != nil
	if err != nil && !errors.Is(err, io.EOF) {
		err = broken(err)
	}
	return h, e.tar, err
}

func (e *streamEntries) repaired() int { return 0 }
func (e *streamEntries) close()        { e.zip.Close() }

// framedEntries reads an archive of frames.
type framedEntries struct {
	frames  *frameReader
	section *section
	held    bool // next has not returned the section yet
	ended   bool
}

func (e *framedEntries) next() (*tar.Header, io.Reader, error) {
	if e.ended {
		return nil, nil, io.EOF
	}
	if !e.held {
		s, lost, err := e.section.nextSection()
		if err != nil {
			e.ended = true
			if !errors.Is(err, io.EOF) {
				err = broken(err)
			} else if lost > 0 {
				err = damaged("%d bytes of its content are missing at its end", lost)
			}
			return nil, nil, err
		}
		e.section, e.held = s, true
		if lost > 0 {
			return nil, nil, damaged("%d bytes of its content are missing", lost)
		}
	}
	e.held = false
	t := tar.NewReader(e.section)
	h, err := t.Next()
	if err != nil {
		return nil, nil, damaged("an entry cannot be read: %v", err)
	}
	return h, t, nil
}

func (e *framedEntries) repaired() int { return e.frames.repaired }
func (e *framedEntries) close()        { e.frames.zip.Close() }

// broken wraps errors of zstd and tar in ErrDamaged.
func broken(err error) error {
	if errors.Is(err, errBomb) || errors.Is(err, ErrDamaged) {
		return err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return damaged("it was cut off")
	}
	return damaged("%v", err)
}

// brokenReader applies broken to the errors of a reader.
type brokenReader struct{ r io.Reader }

// Read implements [io.Reader].
func (b brokenReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && err != io.EOF {
		err = broken(err)
	}
	return n, err
}
