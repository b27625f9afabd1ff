package sqlite

import (
	"context"
	"errors"

	"github.com/lossless-context/lcm/internal/record/sqlite/check"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Update implements [store.Store].
func (db *DB) Update(ctx context.Context, id store.ConversationID, fn func(store.Writer) error) error {
	done, err := db.Records.Update(ctx, id, fn)
	if err == nil {
		db.Index.Written(ctx, done)
	}
	return err
}

// Check looks for damage everywhere in the database and changes nothing. Each
// fault has a code; package doctor explains the codes, and which of them can be fixed.
func (db *DB) Check(ctx context.Context) ([]store.Fault, error) {
	proof, err := check.Run(ctx, db.file, db.Index)
	return proof.Faults, err
}

// RepairIndex builds the damaged parts of the search index again.
func (db *DB) RepairIndex(ctx context.Context) error {
	return errors.Join(db.Index.Repair(ctx), db.Index.Reindex(ctx))
}
