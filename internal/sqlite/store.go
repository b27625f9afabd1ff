package sqlite

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/lossless-context/lcm/internal/sqlite/backup"
	"github.com/lossless-context/lcm/internal/sqlite/check"
	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/sqlite/erase"
	"github.com/lossless-context/lcm/internal/sqlite/record"
	"github.com/lossless-context/lcm/internal/sqlite/repair"
	"github.com/lossless-context/lcm/internal/sqlite/state"
	"github.com/lossless-context/lcm/internal/sqlite/stats"
	"github.com/lossless-context/lcm/internal/store"
)

// Conversation implements [store.Reader].
func (db *DB) Conversation(ctx context.Context, id store.ConversationID) (store.Conversation, error) {
	return record.Conversation(ctx, db.file, id)
}

// Conversations implements [store.Reader].
func (db *DB) Conversations(ctx context.Context, q store.ConversationQuery) ([]store.Conversation, error) {
	return record.Conversations(ctx, db.file, q)
}

// Messages implements [store.Reader].
func (db *DB) Messages(ctx context.Context, q store.MessageQuery) iter.Seq2[store.Message, error] {
	return record.Messages(ctx, db.file, q)
}

// Record implements [store.Reader].
func (db *DB) Record(ctx context.Context, id store.MessageID) ([]byte, error) {
	return record.RawRecord(ctx, db.file, id)
}

// Payload implements [store.Reader].
func (db *DB) Payload(ctx context.Context, id store.PayloadID) (store.Payload, error) {
	return record.OpenPayload(ctx, db.file, &db.proved, id)
}

// View implements [store.Reader].
func (db *DB) View(ctx context.Context, id store.ConversationID, w store.Window) (store.View, error) {
	return record.ReadView(ctx, db.file, id, w)
}

// Summaries implements [store.Reader].
func (db *DB) Summaries(ctx context.Context, q store.SummaryQuery) iter.Seq2[store.Summary, error] {
	return record.Summaries(ctx, db.file, q)
}

// Sources implements [store.Reader].
func (db *DB) Sources(ctx context.Context, id store.SummaryID) ([]store.Node, error) {
	return record.Sources(ctx, db.file, id)
}

// Derived implements [store.Reader].
func (db *DB) Derived(ctx context.Context, n store.Node) ([]store.SummaryID, error) {
	return record.Derived(ctx, db.file, n)
}

// Attached implements [store.Attachments].
func (db *DB) Attached(ctx context.Context, id store.MessageID) ([]store.PayloadID, error) {
	return record.Attached(ctx, db.file, id)
}

// Holders implements [store.Attachments].
func (db *DB) Holders(ctx context.Context, id store.PayloadID, in []store.ConversationID, limit int) ([]store.MessageID, error) {
	return record.Holders(ctx, db.file, id, in, limit)
}

// Open implements [store.Conversations].
func (db *DB) Open(ctx context.Context, n store.NewConversation) (store.Conversation, error) {
	return record.OpenConversation(ctx, db.file, n)
}

// Archive implements [store.Conversations].
func (db *DB) Archive(ctx context.Context, id store.ConversationID, cause string) error {
	return record.Archive(ctx, db.file, id, cause)
}

// Fork implements [store.Conversations].
func (db *DB) Fork(ctx context.Context, from store.ConversationID, at store.MessageID, n store.NewConversation) (store.Conversation, error) {
	return record.Fork(ctx, db.file, from, at, n)
}

// Update implements [store.Store].
func (db *DB) Update(ctx context.Context, id store.ConversationID, fn func(store.Writer) error) error {
	last, bytes, err := record.Update(ctx, db.file, id, fn)
	var lost *record.Unclaimed
	if errors.As(err, &lost) {
		err = db.file.Transact(ctx, func(c *dbfile.Conn) error { return repair.Reclaim(c, id, lost.Conversation) })
		if err != nil {
			return err
		}
		db.index.Forget()
		return db.Update(ctx, id, fn)
	}
	if err == nil && last != 0 {
		db.index.Written(ctx, int64(last), bytes)
	}
	return err
}

// Search implements [store.Searcher].
func (db *DB) Search(ctx context.Context, q store.Search) (store.Found, error) {
	return db.index.Search(ctx, q)
}

// Text implements [store.Searcher].
func (db *DB) Text(ctx context.Context, n store.Node) ([]byte, error) {
	return record.NodeText(ctx, db.file, n)
}

// Reindex brings the search index up to the last document. Searches do not
// need it; it makes the next ones faster.
func (db *DB) Reindex(ctx context.Context) error { return db.index.Reindex(ctx) }

// IndexDue reports whether so many messages are unindexed that the first search
// of a new process is slow, and no process is indexing them. A program with
// [Options.DeferIndex] then calls [DB.Reindex], or has another do it.
func (db *DB) IndexDue(ctx context.Context) (bool, error) { return db.index.Due(ctx) }

// Get implements [store.State].
func (db *DB) Get(ctx context.Context, space, key string) (store.Value, error) {
	return state.Get(ctx, db.file, space, key)
}

// Put implements [store.State].
func (db *DB) Put(ctx context.Context, space, key string, data []byte, version int64, expires time.Time) (int64, error) {
	return state.Put(ctx, db.file, space, key, data, version, expires)
}

// Delete implements [store.State].
func (db *DB) Delete(ctx context.Context, space, key string, version int64) error {
	return state.Delete(ctx, db.file, space, key, version)
}

// List implements [store.State].
func (db *DB) List(ctx context.Context, space string) ([]store.Value, error) {
	return state.List(ctx, db.file, space)
}

// Verify implements [store.Checker].
func (db *DB) Verify(ctx context.Context, id store.ConversationID) (store.Verification, error) {
	return check.Verify(ctx, db.file, id)
}

// Orphans implements [store.Checker].
func (db *DB) Orphans(ctx context.Context) ([]store.Fault, error) { return check.Orphans(ctx, db.file) }

// Check looks for damage everywhere in the database and changes nothing. Each
// fault has a code; package doctor explains the codes, and which of them
// [DB.Repair] fixes.
func (db *DB) Check(ctx context.Context) ([]store.Fault, error) {
	return check.Run(ctx, db.file, db.index)
}

// Repair rebuilds everything that is derived from the messages. It never
// changes a message.
func (db *DB) Repair(ctx context.Context) error { return repair.Run(ctx, db.file, db.index) }

// Weigh implements [store.Eraser].
func (db *DB) Weigh(ctx context.Context, order store.Erasure) (store.Erased, error) {
	return erase.Weigh(ctx, db.file, order)
}

// Erase implements [store.Eraser].
func (db *DB) Erase(ctx context.Context, order store.Erasure) (store.Erased, error) {
	out, err := erase.Run(ctx, db.file, order)
	if err == nil {
		db.index.Forget()
	}
	return out, err
}

// Mask hides parts of messages and keeps their records. See package erase.
func (db *DB) Mask(ctx context.Context, masks []store.Mask) error {
	err := erase.Mask(ctx, db.file, masks)
	if err == nil {
		db.index.Forget()
	}
	return err
}

// Unworded implements [store.Eraser].
func (db *DB) Unworded(ctx context.Context) ([]store.Summary, error) {
	return erase.Unworded(ctx, db.file)
}

// Scrub implements [store.Eraser].
func (db *DB) Scrub(ctx context.Context) error { return erase.Scrub(ctx, db.file) }

// Forgotten implements [store.Eraser].
func (db *DB) Forgotten(ctx context.Context, key string, ms iter.Seq[store.Fingerprint]) ([]bool, error) {
	return erase.Forgotten(ctx, db.file, key, ms)
}

// Tombstones implements [store.Eraser].
func (db *DB) Tombstones(ctx context.Context) ([]store.Tombstone, error) {
	return erase.Tombstones(ctx, db.file)
}

// Lift implements [store.Eraser].
func (db *DB) Lift(ctx context.Context, id int64) error { return erase.Lift(ctx, db.file, id) }

// Stats counts the contents of the database. It reads no message, so that it is
// quick.
func (db *DB) Stats(ctx context.Context) (stats.Stats, error) { return stats.Read(ctx, db.file) }

// Backup writes a copy of the database as it stands at one moment to a file
// that does not exist yet, and proves the copy. See package backup.
func (db *DB) Backup(ctx context.Context, path string, progress func(done, total int)) (check.Proof, error) {
	return backup.Create(ctx, db.file, path, progress)
}
