package record

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/lossless-context/lcm/internal/sqldb"
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
	found, err := w.One(`SELECT p.id, p.num FROM payloads p WHERE p.sha256 = ?`+w.Dialect().ForShare, sqldb.Into(&id, &num), sum[:])
	if err == nil && found {
		err = w.keepWhole(num, sum, p.Data)
	}
	if err != nil || found {
		return store.PayloadID(id), err
	}
	if id, err = freeID(w.Conn, "file_", hex.EncodeToString(sum[:]), `SELECT 1 FROM payloads WHERE id = ?`); err != nil {
		return "", err
	}
	num, err = w.Insert("num", `
		INSERT INTO payloads (id, sha256, size, mime, name, path, kind, summary, tokens, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		id, sum[:], len(p.Data), p.MIME, p.Name, p.Path, p.Kind, p.Summary, p.Tokens, w.Now)
	if err != nil {
		return "", err
	}
	return store.PayloadID(id), w.putChunks(num, p.Data)
}

// keepWhole checks the stored content of a payload before a message refers to
// it, and replaces it if it is damaged.
func (w *Writer) keepWhole(num int64, sum [sha256.Size]byte, data []byte) error {
	stored, err := HashChunks(w.Conn, num)
	if err == nil && stored.Sum == sum || err != nil && sqldb.FromDatabase(err) {
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
func freeID(c sqldb.Conn, prefix, digest, taken string) (string, error) {
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
	in := &content{ctx: ctx, file: r.DB}
	err := r.DB.Reader(ctx, func(c sqldb.Conn) error {
		found, err := c.One(`SELECT num, id, sha256, size, mime, name, path, kind, summary, tokens, created_at FROM payloads WHERE id = ?`,
			sqldb.Into(&in.num, &p.ID, &p.SHA256, &p.Size, &p.MIME, &p.Name, &p.Path, &p.Kind, &p.Summary, &p.Tokens, &p.Created), string(id))
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
	file sqldb.DB
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
	err := r.file.Reader(r.ctx, func(c sqldb.Conn) error {
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
		err = sqldb.Damaged("its content", err)
	}
	return n, err
}

// ReadChunks yields the unpacked chunks of a payload from first to last.
func ReadChunks(c sqldb.Conn, num, first, last int64, yield func(n int64, raw []byte) error) error {
	return readChunks(c, num, first, last, false, yield)
}

// readChunks is ReadChunks. With byLook it goes by the first bytes of a chunk,
// and not by its row, to tell whether the chunk is compressed.
func readChunks(c sqldb.Conn, num, first, last int64, byLook bool, yield func(n int64, raw []byte) error) error {
	return c.Stream(`SELECT n, compressed, data FROM chunks WHERE payload = ? AND n BETWEEN ? AND ? ORDER BY n`,
		func(s sqldb.Row) (err error) {
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
func PayloadContent(c sqldb.Conn, id store.PayloadID) (data []byte, sum [sha256.Size]byte, err error) {
	var num, size int64
	found, err := c.One(`SELECT num, size, sha256 FROM payloads WHERE id = ?`, sqldb.Into(&num, &size, &sum), string(id))
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

// PutChunk stores a chunk, compressed if that makes it smaller.
func PutChunk(c sqldb.Conn, num int64, n int, raw []byte) error {
	data, compressed := encoder.EncodeAll(raw, nil), true
	if len(data) >= len(raw) {
		data, compressed = raw, false
	}
	return c.Exec(`INSERT INTO chunks (payload, n, compressed, data) VALUES (?, ?, ?, ?)`, num, n, compressed, data)
}

// PayloadRow is the row of a payload.
type PayloadRow struct {
	Num  int64
	ID   string
	Sum  [sha256.Size]byte
	Size int64
}

// Named reports whether the id is the one that the hash gives.
func (p PayloadRow) Named() bool {
	return len(p.ID) >= len("file_")+16 && strings.HasPrefix("file_"+hex.EncodeToString(p.Sum[:]), p.ID)
}

// PayloadRows lists the payloads that meet a condition.
func PayloadRows(c sqldb.Conn, where string, args ...any) ([]PayloadRow, error) {
	return sqldb.List(c, `SELECT num, id, sha256, size FROM payloads WHERE `+where+` ORDER BY num`, func(s sqldb.Row) PayloadRow {
		return PayloadRow{Num: s.ColumnInt64(0), ID: s.ColumnText(1), Sum: sqldb.Hash(s, 2), Size: s.ColumnInt64(3)}
	}, args...)
}

// ZstdMagic begins every compressed chunk.
var ZstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// FoundContent describes the content in the chunks of a payload.
type FoundContent struct {
	Sum         [sha256.Size]byte
	Size        int64
	Mislabelled bool // a chunk is marked as compressed and is not, or the reverse
}

// ReadContent reads the chunks of a payload. If the marked compression does not
// give the hash, it tries the one that the bytes look like.
func ReadContent(c sqldb.Conn, p PayloadRow) (FoundContent, error) {
	found, err := HashChunks(c, p.Num)
	if err == nil && found.Sum == p.Sum {
		return found, nil
	}
	if other, otherErr := hashChunks(c, p.Num, true, nil); otherErr == nil && other.Sum == p.Sum {
		other.Mislabelled = true
		return other, nil
	}
	return found, err
}

// HashChunks hashes the content of a payload.
func HashChunks(c sqldb.Conn, num int64) (FoundContent, error) {
	return hashChunks(c, num, false, nil)
}

func hashChunks(c sqldb.Conn, num int64, byLook bool, visit func(raw []byte)) (found FoundContent, err error) {
	h := sha256.New()
	next := int64(0)
	err = readChunks(c, num, 0, math.MaxInt64, byLook, func(n int64, raw []byte) error {
		if n != next {
			return fmt.Errorf("chunk %d is missing", next)
		}
		next++
		h.Write(raw)
		found.Size += int64(len(raw))
		if visit != nil {
			visit(raw)
		}
		return nil
	})
	h.Sum(found.Sum[:0])
	return found, err
}

// DropUnusedPayload removes a payload that belongs to no message.
func DropUnusedPayload(c sqldb.Conn, num int64) (size int64, gone bool, err error) {
	found, err := c.One(`SELECT c.size FROM payloads c WHERE c.num = ?`+c.Dialect().ForUpdate, sqldb.Into(&size), num)
	if err != nil || !found {
		return 0, false, err
	}
	used, err := c.Has(`SELECT 1 FROM message_payloads WHERE payload = ? LIMIT 1`, num)
	if gone = err == nil && !used; gone {
		err = c.ExecAll([]string{`DELETE FROM chunks WHERE payload = ?`, `DELETE FROM payloads WHERE num = ?`}, num)
	}
	return size, gone, err
}
