package sqlite

import (
	"context"
	"errors"

	"github.com/lossless-context/lcm/internal/record/sqldb/stats"
	"github.com/lossless-context/lcm/internal/record/sqlite/check"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Update implements [store.Store].
func (db *DB) Update(ctx context.Context, id store.ConversationID, fn func(store.Writer) error) error {
	done, err := db.Records.Update(ctx, id, fn)
	if err == nil {
		db.index.Written(ctx, done)
	}
	return err
}

// Search implements [store.Searcher].
func (db *DB) Search(ctx context.Context, q store.Search) (store.Found, error) {
	return db.index.Search(ctx, q)
}

// Reindex implements [store.Store].
func (db *DB) Reindex(ctx context.Context) error { return db.index.Reindex(ctx) }

// IndexDue reports whether so many messages are unindexed that the first search
// of a new process is slow, and no process is indexing them. A program with
// [Options.DeferIndex] then calls [DB.Reindex], or has another do it.
func (db *DB) IndexDue(ctx context.Context) (bool, error) { return db.index.Due(ctx) }

// Check looks for damage everywhere in the database and changes nothing. Each
// fault has a code; package doctor explains the codes, and which of them can be fixed.
func (db *DB) Check(ctx context.Context) ([]store.Fault, error) {
	proof, err := check.Run(ctx, db.file, db.index)
	return proof.Faults, err
}

// RepairIndex builds the damaged parts of the search index again.
func (db *DB) RepairIndex(ctx context.Context) error {
	return errors.Join(db.index.Repair(ctx), db.index.Reindex(ctx))
}

// Erase implements [store.Eraser].
func (db *DB) Erase(ctx context.Context, order store.Erasure) (store.Erased, error) {
	out, err := db.Eraser.Erase(ctx, order)
	if err == nil {
		db.index.Forget()
	}
	return out, err
}

// Mask implements [store.Eraser].
func (db *DB) Mask(ctx context.Context, masks []store.Mask) error {
	err := db.Eraser.Mask(ctx, masks)
	if err == nil {
		db.index.Forget()
	}
	return err
}

// Stats counts the contents of the database. It reads no message, so that it is
// quick.
func (db *DB) Stats(ctx context.Context) (stats.Stats, error) { return stats.Read(ctx, db.file.DB()) }
