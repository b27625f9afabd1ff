package sqlite

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/llms"
)

// What is read to be shown is checked here against the hashes that were taken
// when it arrived. A scan checks nothing: it returns no text.

// errChanged says that stored bytes are not those that arrived.
var errChanged = errors.New("it does not match the SHA-256 taken when it arrived")

// sealed is a message with what its hashes cover.
type sealed struct {
	conversation, seq int64
	role              llms.Role
	flags             store.Flag
	said              time.Time
	native            string
	format            llms.Format
	size              int64
	sha256, chain     []byte
	record            []byte
	cut               bool   // payloads belong into the record
	body              []byte // nil where the record is all there is
}

// Intact reports whether a message is the one that arrived, as far as its own
// row can tell: the record by its SHA-256, unless payloads were cut out of it,
// and a stored body by the link of the chain, which covers it.
func Intact(c *dbfile.Conn, m sealed) (bool, error) {
	if sum := sha256.Sum256(m.record); !m.cut && string(sum[:]) != string(m.sha256) {
		return false, nil
	}
	if m.body == nil {
		return true, nil
	}
	prev, found := store.Genesis, true
	if m.seq > 1 {
		var err error
		found, err = c.One(`SELECT chain FROM messages WHERE conversation = ? AND seq = ?`, func(s *sqlite3.Stmt) error {
			copy(prev[:], s.ColumnRawBlob(0))
			return nil
		}, m.conversation, m.seq-1)
		if err != nil {
			return false, err
		}
	}
	if !found {
		return true, nil // the link cannot be computed; Verify reports the message that is missing
	}
	n := store.NewMessage{Role: m.role, Flags: m.flags, Said: m.said, Native: m.native, Format: m.format, Size: m.size}
	copy(n.SHA256[:], m.sha256)
	link := store.Link(prev, n, m.body)
	return string(link[:]) == string(m.chain), nil
}

// checkedText returns what is searched of a message, and errChanged beside it
// where that is not what arrived.
func checkedText(c *dbfile.Conn, id store.MessageID) (text []byte, err error) {
	intact := true
	found, err := c.One(`
		SELECT id, conversation, 0, role, flags, format, record, body, seq, said, native, size, sha256, chain, cuts IS NOT NULL
		FROM messages WHERE id = ? AND flags & 128 = 0`, func(s *sqlite3.Stmt) (err error) {
		m := sealed{
			conversation: s.ColumnInt64(1), role: store.RoleOf(s.ColumnInt(3)), flags: store.Flag(s.ColumnInt64(4)), format: llms.Format(s.ColumnText(5)),
			record: s.ColumnRawBlob(6), seq: s.ColumnInt64(8), said: dbfile.Millis(s, 9), native: s.ColumnText(10), size: s.ColumnInt64(11),
			sha256: s.ColumnRawBlob(12), chain: s.ColumnRawBlob(13), cut: s.ColumnBool(14),
		}
		if s.ColumnType(7) == sqlite3.NULL {
			if intact, err = Intact(c, m); err == nil {
				text, err = SearchText(c, s)
			}
			return err
		}
		m.body = s.ColumnBlob(7, []byte{})
		if intact, err = Intact(c, m); err != nil {
			return err
		}
		whole := true
		text, err = bodyText(c, s, &whole)
		intact = intact && whole
		return err
	}, int64(id))
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, store.Missing(id.String())
	case !intact:
		return text, dbfile.Damaged("the text of "+id.String(), errChanged)
	}
	return text, nil
}

// chunkSums are the hashes of the chunks of a payload.
type chunkSums [][sha256.Size]byte

// maxSums bounds how many hashes of chunks are kept: 2 MiB, for 16 GiB of
// content.
const maxSums = 1 << 16

// provedPayloads remembers, by the hash of the whole, the hashes of the chunks
// of payloads that were proved, so that reading a range of one need not read
// all of it again.
type provedPayloads struct {
	mu   sync.Mutex
	sums map[[sha256.Size]byte]chunkSums
	n    int
}

func (p *provedPayloads) get(sum [sha256.Size]byte) (chunkSums, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.sums[sum]
	return known, ok
}

func (p *provedPayloads) put(sum [sha256.Size]byte, chunks chunkSums) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sums == nil || p.n+len(chunks) > maxSums {
		p.sums, p.n = map[[sha256.Size]byte]chunkSums{}, 0
	}
	p.sums[sum] = chunks
	p.n += len(chunks)
}

// provePayload reads a payload once and returns the hashes of its chunks, or
// nil where the content does not match the hash of the whole.
func provePayload(ctx context.Context, f *dbfile.File, proved *provedPayloads, num, size int64, sum [sha256.Size]byte) (chunkSums, error) {
	if known, ok := proved.get(sum); ok {
		return known, nil
	}
	sums := chunkSums{}
	h := sha256.New()
	total := int64(0)
	err := f.Reader(ctx, func(c *dbfile.Conn) error {
		return ReadChunks(c, num, 0, size/chunkSize, func(n int64, raw []byte) error {
			if n != int64(len(sums)) {
				return fmt.Errorf("chunk %d is missing", len(sums))
			}
			sums = append(sums, sha256.Sum256(raw))
			h.Write(raw)
			total += int64(len(raw))
			return nil
		})
	})
	if err != nil {
		if errors.As(err, new(*sqlite3.Error)) || ctx.Err() != nil {
			return nil, err
		}
		return nil, nil
	}
	if total != size || [sha256.Size]byte(h.Sum(nil)) != sum {
		return nil, nil
	}
	proved.put(sum, sums)
	return sums, nil
}
