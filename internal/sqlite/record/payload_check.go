package record

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
)

// PutChunk stores a chunk, compressed if that makes it smaller.
func PutChunk(c *dbfile.Conn, num int64, n int, raw []byte) error {
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
func PayloadRows(c *dbfile.Conn, where string, args ...any) ([]PayloadRow, error) {
	return dbfile.List(c, `SELECT num, id, sha256, size FROM payloads WHERE `+where+` ORDER BY num`, func(s *sqlite3.Stmt) PayloadRow {
		return PayloadRow{Num: s.ColumnInt64(0), ID: s.ColumnText(1), Sum: dbfile.Hash(s, 2), Size: s.ColumnInt64(3)}
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
func ReadContent(c *dbfile.Conn, p PayloadRow) (FoundContent, error) {
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
func HashChunks(c *dbfile.Conn, num int64) (FoundContent, error) {
	return hashChunks(c, num, false, nil)
}

func hashChunks(c *dbfile.Conn, num int64, byLook bool, visit func(raw []byte)) (found FoundContent, err error) {
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
func DropUnusedPayload(c *dbfile.Conn, num int64) (size int64, gone bool, err error) {
	gone, err = c.One(`SELECT size FROM payloads WHERE num = ?1 AND NOT EXISTS (SELECT 1 FROM message_payloads WHERE payload = ?1)`,
		dbfile.Into(&size), num)
	if err == nil && gone {
		err = c.ExecAll([]string{`DELETE FROM chunks WHERE payload = ?`, `DELETE FROM payloads WHERE num = ?`}, num)
	}
	return size, gone, err
}
