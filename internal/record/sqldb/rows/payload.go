package rows

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
)

// PutPayload implements [store.Writer].
func (w *Writer) PutPayload(_ context.Context, p store.NewPayload) (store.PayloadID, error) {
	sum := sha256.Sum256(p.Data)
	var id string
	var num int64
	found, err := w.One(`SELECT p.id, p.num FROM payloads p WHERE p.sha256 = ?`+w.Dialect().ForShare, sqldb.Into(&id, &num), sum[:])
	if err == nil && found {
		err = w.keepWhole(PayloadRow{Num: num, Sum: sum}, p.Data)
	}
	if err != nil || found {
		return store.PayloadID(id), err
	}
	if id, err = freeID(w.Conn, "file_", hex.EncodeToString(sum[:]), `SELECT 1 FROM payloads WHERE id = ?`); err != nil {
		return "", err
	}
	num, err = w.Insert("num", seal.Payloads.Insert(),
		seal.Payloads.Row(id, sum[:], len(p.Data), p.MIME, p.Name, p.Path, p.Kind, p.Summary, p.Tokens, w.Now)...)
	if err != nil {
		return "", err
	}
	return store.PayloadID(id), contents(w.Conn).put(PayloadRow{Num: num, Sum: sum}, p.Data)
}

// keepWhole checks the stored content of a payload before a message refers to
// it, and replaces it if it is damaged.
func (w *Writer) keepWhole(p PayloadRow, data []byte) error {
	in := contents(w.Conn)
	stored, err := hashContent(in, p, nil)
	if err == nil && stored.Sum == p.Sum || err != nil && sqldb.FromDatabase(err) {
		return err
	}
	if err := in.remove(p); err != nil {
		return err
	}
	return in.put(p, data)
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
	in := &content{ctx: ctx, db: r.DB}
	err := r.DB.Reader(ctx, func(c sqldb.Conn) error {
		found, err := c.One(`SELECT f.num, `+seal.Payloads.Columns()+` FROM payloads f WHERE f.id = ?`, func(s sqldb.Row) error {
			sqldb.Scan(s, &in.row.Num, &p.ID, &p.SHA256, &p.Size, &p.MIME, &p.Name, &p.Path, &p.Kind, &p.Summary, &p.Tokens, &p.Created)
			p.Damaged = !seal.Payloads.Holds(s, 1)
			return nil
		}, string(id))
		if err == nil && !found {
			err = store.Missing(string(id))
		}
		return err
	})
	if err != nil {
		return p, err
	}
	in.row.Size, in.row.Sum = p.Size, p.SHA256
	if in.sums, err = r.provePayload(ctx, in.row); err != nil {
		return p, err
	}
	p.Content, p.Damaged = in, p.Damaged || in.sums == nil
	return p, nil
}

// content reads a payload by range. It holds no connection between reads.
type content struct {
	ctx  context.Context // of the call that opened it, as io.ReaderAt has none
	db   sqldb.DB
	row  PayloadRow
	sums chunkSums // of a payload that was proved, else nil
}

// ReadAt implements [io.ReaderAt].
func (r *content) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("negative offset")
	}
	if off >= r.row.Size {
		return 0, io.EOF
	}
	n := 0
	err := r.db.Reader(r.ctx, func(c sqldb.Conn) error {
		return contents(c).read(r.row, off/ChunkSize, (off+int64(len(p))-1)/ChunkSize, func(i int64, raw []byte) error {
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

// payloadContent reads a whole payload inside a transaction, and returns the hash that
// it should have.
func payloadContent(c sqldb.Conn, id store.PayloadID) (data []byte, sum [sha256.Size]byte, err error) {
	var p PayloadRow
	found, err := c.One(`SELECT num, size, sha256 FROM payloads WHERE id = ?`, sqldb.Into(&p.Num, &p.Size, &p.Sum), string(id))
	if err != nil {
		return nil, sum, err
	}
	if !found {
		return nil, sum, store.Missing(string(id))
	}
	var all bytes.Buffer
	all.Grow(int(p.Size))
	err = contents(c).read(p, 0, p.Size/ChunkSize, func(_ int64, raw []byte) error {
		all.Write(raw)
		return nil
	})
	return all.Bytes(), p.Sum, err
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

// DropUnusedPayload removes a payload that belongs to no message.
func DropUnusedPayload(c sqldb.Conn, num int64) (size int64, gone bool, err error) {
	p := PayloadRow{Num: num}
	found, err := c.One(`SELECT c.size, c.sha256 FROM payloads c WHERE c.num = ?`+c.Dialect().ForUpdate, sqldb.Into(&p.Size, &p.Sum), num)
	if err != nil || !found {
		return 0, false, err
	}
	used, err := c.Has(`SELECT 1 FROM message_payloads WHERE payload = ? LIMIT 1`, num)
	if err != nil || used {
		return p.Size, false, err
	}
	if err = contents(c).remove(p); err == nil {
		err = c.Exec(`DELETE FROM payloads WHERE num = ?`, num)
	}
	return p.Size, true, err
}
