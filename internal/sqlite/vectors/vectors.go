// Package vectors stores the embedding vectors of messages, so that a text is
// sent to an embedding model once. Package erase removes the vectors of erased
// and masked messages.
package vectors

import (
	"context"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/store"
)

// Cache is the [store.VectorCache] of a file.
type Cache struct{ File *dbfile.File }

var _ store.VectorCache = Cache{}

// Vectors implements [store.VectorCache].
func (v Cache) Vectors(ctx context.Context, model string, texts []store.TextHash) (map[store.TextHash][]byte, error) {
	return dbfile.Read(ctx, v.File, func(c *dbfile.Conn) (map[store.TextHash][]byte, error) {
		found := make(map[store.TextHash][]byte, len(texts))
		for _, text := range texts {
			_, err := c.One(`SELECT vector FROM vectors WHERE model = ? AND text = ?`, func(s *sqlite3.Stmt) error {
				found[text] = s.ColumnBlob(0, nil)
				return nil
			}, model, text[:])
			if err != nil {
				return nil, fmt.Errorf("read vectors: %w", err)
			}
		}
		return found, nil
	})
}

// PutVectors implements [store.VectorCache].
func (v Cache) PutVectors(ctx context.Context, model string, vectors []store.MessageVector) error {
	return v.File.Transact(ctx, func(c *dbfile.Conn) error {
		for _, one := range vectors {
			// The message may have been erased while its text was embedded.
			err := c.Exec(`INSERT OR IGNORE INTO vectors (model, text, message, vector)
				SELECT ?, ?, id, ? FROM messages WHERE id = ? AND flags & 128 = 0`, model, one.Text[:], one.Vector, int64(one.Message))
			if err != nil {
				return fmt.Errorf("store vectors: %w", err)
			}
		}
		return nil
	})
}
