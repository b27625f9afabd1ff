package portable

import (
	"archive/tar"
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"regexp"

	"github.com/klauspost/compress/zstd"
)

// Limits bound what a reader takes from an archive. The zero value has the
// defaults given with the fields.
type Limits struct {
	// Row is the longest line: 1 GiB, which is more than a record can have.
	Row int
	// Ratio is how many bytes one byte of the file may unpack to: 2000. The
	// first 64 MiB are free.
	Ratio int64
}

const freeBytes = 64 << 20

func (l Limits) withDefaults() Limits {
	if l.Row == 0 {
		l.Row = 1 << 30
	}
	if l.Ratio == 0 {
		l.Ratio = 2000
	}
	return l
}

// maxManifest bounds the entries that are read whole.
const maxManifest = 64 << 20

// Reader reads an archive.
type Reader struct {
	limits   Limits
	zip      *zstd.Decoder
	tar      *tar.Reader
	packed   *counter
	unpacked *counter
	sum      hash.Hash
	manifest Manifest
	lines    *bufio.Scanner
	counts   map[string]int64
	ended    bool
	paid     bool // payloads have begun
}

// NewReader reads the manifest of an archive. Close gives back what it holds.
func NewReader(r io.Reader, l Limits) (*Reader, error) {
	l = l.withDefaults()
	packed := &counter{r: r}
	z, err := zstd.NewReader(packed, zstd.WithDecoderMaxMemory(256<<20), zstd.WithDecoderMaxWindow(128<<20), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	unpacked := &counter{r: z, packed: packed, ratio: l.Ratio}
	a := &Reader{limits: l, zip: z, tar: tar.NewReader(unpacked), packed: packed, unpacked: unpacked, sum: sha256.New(), counts: map[string]int64{}}
	if err := a.begin(); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// Close gives back what the reader holds. The file is the caller's.
func (a *Reader) Close() { a.zip.Close() }

// Manifest says what is in the archive.
func (a *Reader) Manifest() Manifest { return a.manifest }

func (a *Reader) begin() error {
	h, err := a.tar.Next()
	if err != nil {
		return a.broken(err)
	}
	if h.Name != manifestName {
		return damaged("it does not begin with a manifest")
	}
	b, err := a.whole(h)
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

// broken names what the layers below say.
func (a *Reader) broken(err error) error {
	if errors.Is(err, errBomb) || errors.Is(err, ErrDamaged) {
		return err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return damaged("it was cut off")
	}
	return damaged("%v", err)
}

// whole reads an entry that is small.
func (a *Reader) whole(h *tar.Header) ([]byte, error) {
	if h.Size > maxManifest {
		return nil, damaged("%s is too large", h.Name)
	}
	b, err := io.ReadAll(io.TeeReader(a.tar, a.sum))
	if err != nil {
		return nil, a.broken(err)
	}
	return b, nil
}

var (
	rowsName    = regexp.MustCompile(`^rows/\d{6,}\.jsonl$`)
	payloadName = regexp.MustCompile(`^payloads/([0-9a-f]{64})$`)
)

// Item is a row, or with Content a payload.
type Item struct {
	Row
	SHA256  [sha256.Size]byte
	Size    int64
	Content io.Reader // to be read before the next call of Next
}

// Next returns the next row or payload, and io.EOF after the last, when the
// archive has proved to be whole.
func (a *Reader) Next() (Item, error) {
	for {
		if a.lines != nil {
			if a.lines.Scan() {
				row, err := decodeRow(a.lines.Bytes())
				a.counts[row.Table]++
				return Item{Row: row}, err
			}
			if err := a.lines.Err(); err != nil {
				return Item{}, a.broken(err)
			}
			a.lines = nil
		}
		if a.ended {
			return Item{}, io.EOF
		}
		item, err := a.entry()
		if err != nil || item.Content != nil {
			return item, err
		}
	}
}

// entry opens the next entry.
func (a *Reader) entry() (Item, error) {
	h, err := a.tar.Next()
	if err != nil {
		return Item{}, a.broken(err)
	}
	if h.Typeflag != tar.TypeReg {
		return Item{}, damaged("%q is not a plain file", h.Name)
	}
	m := payloadName.FindStringSubmatch(h.Name)
	switch {
	case h.Name == endName:
		return Item{}, a.end(h)
	case m != nil:
		a.paid = true
		item := Item{Size: h.Size, Content: io.TeeReader(a.tar, a.sum)}
		_, err := hex.Decode(item.SHA256[:], []byte(m[1]))
		return item, err
	case rowsName.MatchString(h.Name) && !a.paid:
		a.lines = bufio.NewScanner(io.TeeReader(a.tar, a.sum))
		a.lines.Buffer(make([]byte, min(64<<10, a.limits.Row)), a.limits.Row)
		return Item{}, nil
	}
	return Item{}, damaged("%q does not belong into it", h.Name)
}

// end proves that the archive is whole.
func (a *Reader) end(h *tar.Header) error {
	have := hex.EncodeToString(a.sum.Sum(nil))
	b, err := a.whole(h)
	if err != nil {
		return err
	}
	var e end
	if err := json.Unmarshal(b, &e); err != nil {
		return damaged("its end cannot be read: %v", err)
	}
	if e.SHA256 != have || !maps.Equal(e.Rows, a.counts) {
		return damaged("its content does not match the hash at its end")
	}
	if _, err := a.tar.Next(); !errors.Is(err, io.EOF) {
		return damaged("something follows its end")
	}
	a.ended = true
	return nil
}

// errBomb says that an archive unpacks to more than is believable.
var errBomb = errors.New("the archive unpacks to far more than such archives do")

// counter counts what is read, and holds it against what that was packed to.
type counter struct {
	r      io.Reader
	n      int64
	packed *counter
	ratio  int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if c.packed != nil && c.ratio > 0 && c.n > freeBytes && c.n/c.ratio > c.packed.n {
		return n, errBomb
	}
	return n, err
}

// Peek reports whether a file is an archive, from its beginning: other
// programs compress with zstd too.
func Peek(r io.Reader) bool {
	z, err := zstd.NewReader(r, zstd.WithDecoderMaxMemory(256<<20), zstd.WithDecoderMaxWindow(128<<20), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return false
	}
	defer z.Close()
	h, err := tar.NewReader(io.LimitReader(z, 1<<20)).Next()
	return err == nil && h.Name == manifestName
}
