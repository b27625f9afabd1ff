// Package vectors stores the embedding vectors of messages, so that a text is
// sent to an embedding model once. Package erase removes the vectors of erased
// and masked messages.
package vectors

import (
	"context"
	"fmt"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Cache is the [store.VectorIndex] of a database.
type Cache struct{ DB sqldb.DB }

var _ store.VectorIndex = Cache{}

// Vectors implements [store.VectorIndex].
func (v Cache) Vectors(ctx context.Context, model string, texts []store.TextHash) (map[store.TextHash][]byte, error) {
	return sqldb.Read(ctx, v.DB, func(c sqldb.Conn) (map[store.TextHash][]byte, error) {
		found := make(map[store.TextHash][]byte, len(texts))
		for _, text := range texts {
			_, err := c.One(`SELECT vector FROM vectors WHERE model = ? AND text = ?`, func(s sqldb.Row) error {
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

// PutVectors implements [store.VectorIndex].
func (v Cache) PutVectors(ctx context.Context, model string, vectors []store.MessageVector) error {
	return v.DB.Transact(ctx, func(c sqldb.Conn) error {
		for _, one := range vectors {
			// The message may have been erased or masked while its text was embedded.
			// An erasure that comes later waits, and then sees the vector.
			err := c.Exec(`INSERT INTO vectors (model, text, message, vector)
				SELECT ?, ?, m.id, ? FROM messages m WHERE m.id = ? AND m.flags = ?`+c.Dialect().ForUnchanged+` ON CONFLICT DO NOTHING`, model, one.Text[:], one.Vector, int64(one.Message), int64(one.Flags))
			if err != nil {
				return fmt.Errorf("store vectors: %w", err)
			}
		}
		return nil
	})
}
