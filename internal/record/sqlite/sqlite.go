// Package sqlite is the embedded store: one SQLite file that holds the
// messages, the summaries and the payloads of every conversation, so that one
// backup holds everything.
//
// Several processes may use the file at once. Writes are short transactions in
// WAL mode that wait for each other up to [Options.BusyTimeout]; reads never
// wait. An acknowledged write has been synced to the disk unless
// [Options.Relaxed] asks otherwise.
//
// The driver is pure Go, and its file system layer can be wrapped in Go
// (Options.VFS), which is how faults are injected in tests.
package sqlite

import (
	"context"
	"errors"

	"github.com/lossless-context/lcm/internal/record/sqldb/backend"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Options is the options of [Open]. The zero value is a good default.
type Options = dbfile.Options

// Memory is the path of a database that no other opener shares. It is kept in a
// temporary directory, which Close removes.
const Memory = dbfile.Memory

// DB is a [store.Store] in a SQLite file.
type DB struct {
	backend.Store
	file *dbfile.File
}

var _ store.Store = (*DB)(nil)

// Open opens the database at path. A file that does not exist is made, readable by its
// owner only, and so is its directory.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	f, err := dbfile.Open(ctx, path, o)
	if err != nil {
		return nil, err
	}
	db := &DB{backend.New(f.DB()), f}
	if err := db.Index.Load(ctx); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return db, nil
}

// File returns the open file, for the packages that work on it: backup,
// archive and statistics.
func (db *DB) File() *dbfile.File { return db.file }

// Path returns the path of the database file.
func (db *DB) Path() string { return db.file.Path() }

// ReleaseMemory implements [store.Store].
func (db *DB) ReleaseMemory() {
	db.Index.ReleaseMemory()
	db.file.ReleaseMemory()
}

// Close seals the search index of the new messages, waits for the calls that
// are under way and closes the file.
func (db *DB) Close() error {
	db.Index.Close()
	return db.file.Close()
}
