package record

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/store"
)

// ChunkSize is how much content is compressed together: enough to compress
// well, and small enough to read a line quickly.
const ChunkSize = 256 << 10

var (
	encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	decoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(64<<20))
)

// PutPayload implements [store.Writer].
func (w *Writer) PutPayload(_ context.Context, p store.NewPayload) (store.PayloadID, error) {
	sum := sha256.Sum256(p.Data)
	var id string
	var num int64
	found, err := w.One(`SELECT id, num FROM payloads WHERE sha256 = ?`, dbfile.Into(&id, &num), sum[:])
	if err == nil && found {
		err = w.keepWhole(num, sum, p.Data)
	}
	if err != nil || found {
		return store.PayloadID(id), err
	}
	if id, err = freeID(w.Conn, "file_", hex.EncodeToString(sum[:]), `SELECT 1 FROM payloads WHERE id = ?`); err != nil {
		return "", err
	}
	err = w.Exec(`
		INSERT INTO payloads (id, sha256, size, mime, name, path, kind, summary, tokens, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		id, sum[:], len(p.Data), p.MIME, p.Name, p.Path, p.Kind, p.Summary, p.Tokens, w.Now)
	if err != nil {
		return "", err
	}
	return store.PayloadID(id), w.putChunks(w.LastID(), p.Data)
}

// keepWhole checks the stored content of a payload before a message refers to
// it, and replaces it if it is damaged.
func (w *Writer) keepWhole(num int64, sum [sha256.Size]byte, data []byte) error {
	stored, err := HashChunks(w.Conn, num)
	if err == nil && stored.Sum == sum || err != nil && errors.As(err, new(*sqlite3.Error)) {
		return err
	}
	if err := w.Exec(`DELETE FROM chunks WHERE payload = ?`, num); err != nil {
		return err
	}
	return w.putChunks(num, data)
}

func (w *Writer) putChunks(num int64, data []byte) error {
	for n := 0; n*ChunkSize < len(data); n++ {
		if err := PutChunk(w.Conn, num, n, data[n*ChunkSize:min((n+1)*ChunkSize, len(data))]); err != nil {
			return err
		}
	}
	return nil
}

// freeID returns prefix and the first 16 digits of digest, or more of them if
// other content has that id.
func freeID(c *dbfile.Conn, prefix, digest, taken string) (string, error) {
	for n := 16; n <= len(digest); n += 2 {
		id := prefix + digest[:n]
		found, err := c.Has(taken, id)
		if err != nil || !found {
			return id, err
		}
	}
	return "", fmt.Errorf("%s%s is taken", prefix, digest)
}

// Payload implements [store.Reader].
func (r *Records) Payload(ctx context.Context, id store.PayloadID) (store.Payload, error) {
	var p store.Payload
	in := &content{ctx: ctx, file: r.File}
	err := r.File.Reader(ctx, func(c *dbfile.Conn) error {
		found, err := c.One(`SELECT num, id, sha256, size, mime, name, path, kind, summary, tokens, created_at FROM payloads WHERE id = ?`,
			dbfile.Into(&in.num, &p.ID, &p.SHA256, &p.Size, &p.MIME, &p.Name, &p.Path, &p.Kind, &p.Summary, &p.Tokens, &p.Created), string(id))
		if err == nil && !found {
			err = store.Missing(string(id))
		}
		return err
	})
	if err != nil {
		return p, err
	}
	in.size = p.Size
	if in.sums, err = r.provePayload(ctx, in.num, p.Size, p.SHA256); err != nil {
		return p, err
	}
	p.Content, p.Damaged = in, in.sums == nil
	return p, nil
}

// content reads a payload by range. It holds no connection between reads.
type content struct {
	ctx  context.Context // of the call that opened it, as io.ReaderAt has none
	file *dbfile.File
	num  int64
	size int64
	sums chunkSums // of a payload that was proved, else nil
}

// ReadAt implements [io.ReaderAt].
func (r *content) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("negative offset")
	}
	if off >= r.size {
		return 0, io.EOF
	}
	n := 0
	err := r.file.Reader(r.ctx, func(c *dbfile.Conn) error {
		return ReadChunks(c, r.num, off/ChunkSize, (off+int64(len(p))-1)/ChunkSize, func(i int64, raw []byte) error {
			if r.sums != nil && (i >= int64(len(r.sums)) || sha256.Sum256(raw) != r.sums[i]) {
				return errChanged // since it was opened
			}
			from := max(off+int64(n)-i*ChunkSize, 0)
			if from < int64(len(raw)) {
				n += copy(p[n:], raw[from:])
			}
			return nil
		})
	})
	if err == nil && n < len(p) {
		err = io.EOF
	} else {
		err = dbfile.Damaged("its content", err)
	}
	return n, err
}

// ReadChunks yields the unpacked chunks of a payload from first to last.
func ReadChunks(c *dbfile.Conn, num, first, last int64, yield func(n int64, raw []byte) error) error {
	return readChunks(c, num, first, last, false, yield)
}

// readChunks is ReadChunks. With byLook it goes by the first bytes of a chunk,
// and not by its row, to tell whether the chunk is compressed.
func readChunks(c *dbfile.Conn, num, first, last int64, byLook bool, yield func(n int64, raw []byte) error) error {
	return c.Query(`SELECT n, compressed, data FROM chunks WHERE payload = ? AND n BETWEEN ? AND ? ORDER BY n`,
		func(s *sqlite3.Stmt) (err error) {
			data, compressed := s.ColumnRawBlob(2), s.ColumnBool(1)
			if byLook {
				compressed = bytes.HasPrefix(data, ZstdMagic)
			}
			if compressed {
				if data, err = decoder.DecodeAll(data, nil); err != nil {
					return fmt.Errorf("payload chunk %d: %w", s.ColumnInt64(0), err)
				}
			}
			return yield(s.ColumnInt64(0), data)
		}, num, first, last)
}

// PayloadContent reads a whole payload inside a transaction, and returns the hash that
// it should have.
func PayloadContent(c *dbfile.Conn, id store.PayloadID) (data []byte, sum [sha256.Size]byte, err error) {
	var num, size int64
	found, err := c.One(`SELECT num, size, sha256 FROM payloads WHERE id = ?`, dbfile.Into(&num, &size, &sum), string(id))
	if err != nil {
		return nil, sum, err
	}
	if !found {
		return nil, sum, store.Missing(string(id))
	}
	var all bytes.Buffer
	all.Grow(int(size))
	err = ReadChunks(c, num, 0, size/ChunkSize, func(_ int64, raw []byte) error {
		all.Write(raw)
		return nil
	})
	return all.Bytes(), sum, err
}
