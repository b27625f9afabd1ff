package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
)

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

func PayloadRows(c *dbfile.Conn) ([]PayloadRow, error) {
	var rows []PayloadRow
	err := c.Query(`SELECT num, id, sha256, size FROM payloads ORDER BY num`, func(s *sqlite3.Stmt) error {
		p := PayloadRow{Num: s.ColumnInt64(0), ID: s.ColumnText(1), Size: s.ColumnInt64(3)}
		copy(p.Sum[:], s.ColumnRawBlob(2))
		rows = append(rows, p)
		return nil
	})
	return rows, err
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
	found, err := HashChunks(c, p.Num, false)
	if err == nil && found.Sum == p.Sum {
		return found, nil
	}
	if other, otherErr := HashChunks(c, p.Num, true); otherErr == nil && other.Sum == p.Sum {
		other.Mislabelled = true
		return other, nil
	}
	return found, err
}

func HashChunks(c *dbfile.Conn, num int64, byLook bool) (found FoundContent, err error) {
	h := sha256.New()
	next := int64(0)
	err = c.Query(`SELECT n, compressed, data FROM chunks WHERE payload = ? ORDER BY n`, func(s *sqlite3.Stmt) error {
		if n := s.ColumnInt64(0); n != next {
			return fmt.Errorf("chunk %d is missing", next)
		}
		next++
		data, compressed := s.ColumnRawBlob(2), s.ColumnBool(1)
		if byLook {
			compressed = bytes.HasPrefix(data, ZstdMagic)
		}
		if compressed {
			raw, err := decoder.DecodeAll(data, nil)
			if err != nil {
				return fmt.Errorf("chunk %d: %w", next-1, err)
			}
			data = raw
		}
		h.Write(data)
		found.Size += int64(len(data))
		return nil
	}, num)
	h.Sum(found.Sum[:0])
	return found, err
}

// DropUnusedPayload removes a payload that belongs to no message.
func DropUnusedPayload(c *dbfile.Conn, num int64) (size int64, gone bool, err error) {
	gone, err = c.One(`SELECT size FROM payloads WHERE num = ?1 AND NOT EXISTS (SELECT 1 FROM message_payloads WHERE payload = ?1)`,
		dbfile.Int64Column(&size), num)
	if err != nil || !gone {
		return 0, false, err
	}
	if err := c.Exec(`DELETE FROM chunks WHERE payload = ?`, num); err != nil {
		return 0, false, err
	}
	return size, true, c.Exec(`DELETE FROM payloads WHERE num = ?`, num)
}
