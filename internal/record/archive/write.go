package archive

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"
)

// partBytes is how many bytes of rows go into one entry. It fits a frame unless a
// row is large.
const partBytes = frameBytes / 2

// Writer writes an archive.
type Writer struct {
	frames  *frameWriter
	tar     *tar.Writer
	sum     hash.Hash // over the content of all entries
	created time.Time
	part    []byte
	parts   int
	counts  map[string]int64
	payload map[string]bool
}

// end is the last entry.
type end struct {
	Rows   map[string]int64 `json:"rows"`
	SHA256 string           `json:"sha256"`
}

// NewWriter begins an archive.
func NewWriter(w io.Writer, m Manifest) (*Writer, error) {
	m.Format, m.Version = format, Version
	f, err := newFrameWriter(w)
	if err != nil {
		return nil, err
	}
	a := &Writer{
		frames: f, tar: tar.NewWriter(f), sum: sha256.New(), created: m.Created.UTC(), counts: map[string]int64{}, payload: map[string]bool{},
	}
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	return a, a.entry(manifestName, int64(len(b)), bytes.NewReader(b))
}

// entry writes one entry. Its header has nothing of the machine.
func (a *Writer) entry(name string, size int64, content io.WriterTo) error {
	if err := errors.Join(a.tar.Flush(), a.frames.entry()); err != nil {
		return err
	}
	err := a.tar.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o600, ModTime: a.created, Format: tar.FormatPAX})
	if err != nil {
		return err
	}
	n, err := content.WriteTo(io.MultiWriter(a.tar, a.sum))
	if err == nil && n != size {
		err = fmt.Errorf("%s has %d bytes instead of %d", name, n, size)
	}
	return err
}

// Row writes a row. Rows must come before payloads.
func (a *Writer) Row(r Row) (err error) {
	if len(a.payload) > 0 {
		return errors.New("a row after a payload")
	}
	if a.part, err = r.encode(a.part); err != nil {
		return err
	}
	a.counts[r.Table]++
	if len(a.part) < partBytes {
		return nil
	}
	return a.flush()
}

func (a *Writer) flush() error {
	if len(a.part) == 0 {
		return nil
	}
	a.parts++
	err := a.entry(fmt.Sprintf("%s%06d.jsonl", rowsPrefix, a.parts), int64(len(a.part)), bytes.NewReader(a.part))
	a.part = a.part[:0]
	return err
}

// Payload writes content that a row names by its hash. isDamaged says that the
// content no longer has that hash.
func (a *Writer) Payload(sum [sha256.Size]byte, size int64, content io.WriterTo, isDamaged bool) error {
	if err := a.flush(); err != nil {
		return err
	}
	prefix := payloadPrefix
	if isDamaged {
		prefix = damagedPrefix
	}
	name := prefix + hex.EncodeToString(sum[:])
	if a.payload[name] {
		return nil
	}
	a.payload[name] = true
	return a.entry(name, size, content)
}

// Close ends the archive. Readers detect one that was not closed.
func (a *Writer) Close() error {
	if err := a.flush(); err != nil {
		return err
	}
	b, err := json.Marshal(end{Rows: a.counts, SHA256: hex.EncodeToString(a.sum.Sum(nil))})
	if err != nil {
		return err
	}
	if err := a.entry(endName, int64(len(b)), bytes.NewReader(b)); err != nil {
		return err
	}
	return errors.Join(a.tar.Close(), a.frames.flush())
}
