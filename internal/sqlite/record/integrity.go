package record

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

// Content that is shown is checked here against the hashes taken when it
// arrived. Searches check nothing: they return no text.

// errChanged says that stored bytes differ from those that arrived.
var errChanged = errors.New("it does not match the SHA-256 taken when it arrived")

// StoredMessage is a message with the columns that its hashes cover.
type StoredMessage struct {
	Conversation, Seq int64
	Role              llms.Role
	Flags             store.Flag
	Said              time.Time
	Native            string
	Format            llms.Format
	Size              int64
	SHA256, Chain     []byte
	Record            []byte
	Cut               bool   // payloads were cut out of the record
	Body              []byte // nil if only the record is stored
}

// Intact reports whether a message is unchanged, as far as its own row shows:
// the record by its SHA-256, unless payloads were cut out of it, and a stored
// body by its link of the chain.
func Intact(c *dbfile.Conn, m StoredMessage) (bool, error) {
	if sum := sha256.Sum256(m.Record); !m.Cut && string(sum[:]) != string(m.SHA256) {
		return false, nil
	}
	if m.Body == nil {
		return true, nil
	}
	prev, found := store.Genesis, true
	if m.Seq > 1 {
		var err error
		found, err = c.One(`SELECT chain FROM messages WHERE conversation = ? AND seq = ?`, func(s *sqlite3.Stmt) error {
			copy(prev[:], s.ColumnRawBlob(0))
			return nil
		}, m.Conversation, m.Seq-1)
		if err != nil {
			return false, err
		}
	}
	if !found {
		return true, nil // Verify reports the missing message
	}
	n := store.NewMessage{Role: m.Role, Flags: m.Flags, Said: m.Said, Native: m.Native, Format: m.Format, Size: m.Size}
	copy(n.SHA256[:], m.SHA256)
	link := store.Link(prev, n, m.Body)
	return string(link[:]) == string(m.Chain), nil
}

// checkedText returns the searchable text of a message, with an error if the
// message has changed.
func checkedText(c *dbfile.Conn, id store.MessageID) (text []byte, err error) {
	intact := true
	found, err := c.One(`
		SELECT id, conversation, 0, role, flags, format, record, body, seq, said, native, size, sha256, chain, cuts IS NOT NULL
		FROM messages WHERE id = ? AND flags & 128 = 0`, func(s *sqlite3.Stmt) (err error) {
		m := StoredMessage{
			Conversation: s.ColumnInt64(1), Role: store.RoleOf(s.ColumnInt(3)), Flags: store.Flag(s.ColumnInt64(4)), Format: llms.Format(s.ColumnText(5)),
			Record: s.ColumnRawBlob(6), Seq: s.ColumnInt64(8), Said: dbfile.Millis(s, 9), Native: s.ColumnText(10), Size: s.ColumnInt64(11),
			SHA256: s.ColumnRawBlob(12), Chain: s.ColumnRawBlob(13), Cut: s.ColumnBool(14),
		}
		if s.ColumnType(7) == sqlite3.NULL {
			if intact, err = Intact(c, m); err == nil {
				text, err = SearchText(c, s)
			}
			return err
		}
		m.Body = s.ColumnBlob(7, []byte{})
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

// ProvedPayloads remembers, by the hash of the whole, the hashes of the chunks
// of payloads that were proved, so that reading a range of one need not read
// all of it again.
type ProvedPayloads struct {
	mu   sync.Mutex
	sums map[[sha256.Size]byte]chunkSums
	n    int
}

func (p *ProvedPayloads) get(sum [sha256.Size]byte) (chunkSums, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.sums[sum]
	return known, ok
}

func (p *ProvedPayloads) put(sum [sha256.Size]byte, chunks chunkSums) {
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
func provePayload(ctx context.Context, f *dbfile.File, proved *ProvedPayloads, num, size int64, sum [sha256.Size]byte) (chunkSums, error) {
	if known, ok := proved.get(sum); ok {
		return known, nil
	}
	sums := chunkSums{}
	h := sha256.New()
	total := int64(0)
	err := f.Reader(ctx, func(c *dbfile.Conn) error {
		return ReadChunks(c, num, 0, size/ChunkSize, func(n int64, raw []byte) error {
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
