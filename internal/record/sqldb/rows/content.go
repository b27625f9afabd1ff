package rows

import (
	"crypto/sha256"
	"fmt"
	"math"

	"github.com/lossless-context/lcm/internal/record/sqldb"
)

// contentStore is the port to the place that holds the content of payloads. Content is
// named by its SHA-256 (PayloadRow.Sum), so that it never changes and is stored once. The
// row of a payload stays in the database. The table of chunks is the only implementation.
//
// The table takes part in the transaction of its connection. An object store does not, so
// that an implementation with one has to guarantee:
//
//   - Write before commit. put returns when the content is durable. The row is committed
//     later, so that a committed payload always has its content.
//   - Remove after commit. The transaction that removes the row may be rolled back, and
//     another one may store the same content meanwhile. remove notes the name in the
//     transaction; the object is removed after the commit, if no row has the name then.
//   - Sweep of orphans. A rolled back put, or a process that was killed before it removed
//     an object, leaves content without a row. A sweep removes objects that no row names
//     and that are older than any transaction under way.
//   - Erasure. An erasure is finished (store.Eraser.Scrub) when the noted objects are
//     removed, with earlier versions of them that the object store keeps.
type contentStore interface {
	// put stores the content of a payload that has none.
	put(p PayloadRow, data []byte) error
	// read yields the content from chunk first to chunk last, each of ChunkSize bytes
	// apart from the last one. Missing chunks are left out.
	read(p PayloadRow, first, last int64, yield func(n int64, raw []byte) error) error
	// remove removes the content of a payload.
	remove(p PayloadRow) error
}

// contents returns the store of the contents of a database.
func contents(c sqldb.Conn) contentStore { return chunkTable{c} }

// FoundContent describes the content of a payload.
type FoundContent struct {
	Sum         [sha256.Size]byte
	Size        int64
	Mislabelled bool // a chunk is marked as compressed and is not, or the reverse
	More        bool // there are chunks behind its end, which no reader sees
}

// hashContent hashes the content of a payload, up to its size if that is known. visit, if it is not nil, gets each chunk.
func hashContent(in contentStore, p PayloadRow, visit func(raw []byte)) (found FoundContent, err error) {
	h := sha256.New()
	next := int64(0)
	err = in.read(p, 0, math.MaxInt64, func(n int64, raw []byte) error {
		if p.Size > 0 && found.Size == p.Size {
			found.More = true
			return nil
		}
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
