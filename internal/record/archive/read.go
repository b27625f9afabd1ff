package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// Limits bound the resources of a reader. The zero value has the defaults named
// with the fields.
type Limits struct {
	// Row is the longest line: 1 GiB, more than a record can have.
	Row int
	// Ratio is how many bytes one byte of the file may unpack to: 2000. The
	// first 64 MiB are free.
	Ratio int64
}

const freeBytes = 64 << 20

// maxManifest bounds the entries that are read into memory.
const maxManifest = 64 << 20

// Reader reads an archive.
type Reader struct {
	limits   Limits
	frames   *frameReader
	section  *section // the entry that is read
	held     bool     // next has not returned it yet
	sum      hash.Hash
	manifest Manifest
	lines    *bufio.Scanner
	counts   map[string]int64
	end      bool  // the last entry was read
	paid     bool  // a payload was read
	first    error // of the manifest
}

// NewReader reads the manifest of an archive. The caller must call Close.
func NewReader(r io.Reader, l Limits) (*Reader, error) {
	l.Row, l.Ratio = cmp.Or(l.Row, 1<<30), cmp.Or(l.Ratio, 2000)
	f, err := newFrameReader(r, l)
	if err != nil {
		return nil, err
	}
	a := &Reader{limits: l, frames: f, sum: sha256.New(), counts: map[string]int64{}}
	if err := a.begin(); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// Close releases the reader's memory. It does not close the file.
func (a *Reader) Close() { a.frames.zip.Close() }

// Manifest returns the manifest, which is empty where it is damaged.
func (a *Reader) Manifest() Manifest { return a.manifest }

func (a *Reader) begin() error {
	h, r, err := a.next()
	if errors.Is(err, ErrDamaged) { // the rest may be whole
		a.first = err
		return nil
	}
	if err != nil {
		return broken(err)
	}
	if h.Name != manifestName {
		return damaged("it does not begin with a manifest")
	}
	b, err := a.whole(h, r)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, &a.manifest); err != nil {
		return damaged("its manifest cannot be read: %v", err)
	}
	switch m := a.manifest; {
	case m.Format != format:
		return damaged("its manifest is not that of an archive of lcm")
	case m.Version < 1:
		return damaged("it has no version")
	case m.Version > Version:
		return fmt.Errorf("the archive has version %d, this lcm reads versions up to %d: upgrade lcm", m.Version, Version)
	}
	return nil
}

// whole reads a small entry.
func (a *Reader) whole(h *tar.Header, r io.Reader) ([]byte, error) {
	if h.Size > maxManifest {
		return nil, damaged("%s is too large", h.Name)
	}
	b, err := io.ReadAll(io.TeeReader(r, a.sum))
	if err != nil {
		return nil, broken(err)
	}
	return b, nil
}

var (
	rowsName    = lazyregexp.New(`^rows/\d{6,}\.jsonl$`)
	payloadName = lazyregexp.New(`^(payloads/|damaged/)([0-9a-f]{64})$`)
)

// Item is a row, or with Content a payload.
type Item struct {
	Row
	SHA256  [sha256.Size]byte
	Size    int64
	Content io.Reader // must be read before the next call of Next
}

// Next returns the next row or payload, and io.EOF after the last. An error that
// wraps ErrDamaged reports unreadable content; the next call continues behind it.
// An archive is complete if no such error comes before io.EOF.
func (a *Reader) Next() (Item, error) {
	if err := a.first; err != nil {
		a.first = nil
		return Item{}, err
	}
	for {
		if a.lines != nil {
			if a.lines.Scan() {
				row, err := decodeRow(a.lines.Bytes())
				if err == nil {
					a.counts[row.Table]++
				}
				return Item{Row: row}, err
			}
			err := a.lines.Err()
			a.lines = nil
			if err != nil {
				return Item{}, broken(err)
			}
		}
		item, err := a.entry()
		if err != nil || item.Content != nil {
			return item, err
		}
	}
}

// entry opens the next entry.
func (a *Reader) entry() (Item, error) {
	h, r, err := a.next()
	switch {
	case errors.Is(err, io.EOF) && !a.end:
		a.end = true
		return Item{}, damaged("it was cut off")
	case err != nil:
		return Item{}, err
	case a.end:
		return Item{}, damaged("something follows its end")
	case h.Typeflag != tar.TypeReg:
		return Item{}, damaged("%q is not a plain file", h.Name)
	}
	m := payloadName().FindStringSubmatch(h.Name)
	switch {
	case h.Name == endName:
		a.end = true
		return Item{}, a.prove(h, r)
	case m != nil:
		a.paid = true
		item := Item{Size: h.Size, Content: brokenReader{io.TeeReader(r, a.sum)}}
		if m[1] == damagedPrefix {
			item.Damaged = "its content does not match its SHA-256"
		}
		_, err := hex.Decode(item.SHA256[:], []byte(m[2]))
		return item, err
	case rowsName().MatchString(h.Name) && !a.paid:
		a.lines = bufio.NewScanner(io.TeeReader(r, a.sum))
		a.lines.Buffer(make([]byte, min(64<<10, a.limits.Row)), a.limits.Row)
		return Item{}, nil
	}
	return Item{}, damaged("%q does not belong into it", h.Name)
}

// prove compares the content with the totals of the last entry.
func (a *Reader) prove(h *tar.Header, r io.Reader) error {
	have := hex.EncodeToString(a.sum.Sum(nil))
	b, err := a.whole(h, r)
	if err != nil {
		return err
	}
	var e end
	if err := json.Unmarshal(b, &e); err != nil {
		return damaged("its end cannot be read: %v", err)
	}
	var missing []string
	for _, table := range slices.Sorted(maps.Keys(e.Rows)) {
		if n := e.Rows[table] - a.counts[table]; n > 0 {
			missing = append(missing, fmt.Sprintf("%d of %s", n, table))
		}
	}
	if len(missing) > 0 {
		return damaged("its content does not match the hash at its end: rows are missing, %s", strings.Join(missing, ", "))
	}
	if e.SHA256 != have { // which covers the rows that are there
		return damaged("its content does not match the hash at its end")
	}
	return nil
}

// errBomb says that an archive unpacks to implausibly much.
var errBomb = errors.New("the archive unpacks to far more than such archives do")

// next returns the next entry of the tar file. After an error that wraps ErrDamaged it
// continues behind the damage; io.EOF ends them.
func (a *Reader) next() (*tar.Header, io.Reader, error) {
	if !a.held {
		if a.section != nil { // skip the unread rest
			if _, err := io.Copy(io.Discard, a.section); err != nil {
				return nil, nil, broken(err)
			}
		}
		s, lost, err := a.frames.nextSection()
		switch {
		case errors.Is(err, io.EOF) && lost > 0:
			return nil, nil, damaged("%d bytes of its content are missing at its end", lost)
		case errors.Is(err, io.EOF):
			return nil, nil, io.EOF
		case err != nil:
			return nil, nil, broken(err)
		}
		a.section, a.held = s, true
		if lost > 0 {
			return nil, nil, damaged("%d bytes of its content are missing", lost)
		}
	}
	a.held = false
	t := tar.NewReader(a.section)
	h, err := t.Next()
	if err != nil {
		return nil, nil, damaged("an entry cannot be read: %v", err)
	}
	return h, t, nil
}

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

// Peek reports whether a file begins like an archive, even if its first head is damaged:
// other programs compress with zstd too.
func Peek(r io.Reader) bool {
	begin, err := io.ReadAll(io.LimitReader(r, 4*maxPacked))
	return err == nil && bytes.Contains(begin, headPrefix)
}
