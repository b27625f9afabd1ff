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

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/erase"
	"github.com/lossless-context/lcm/internal/record/sqldb/record"
	"github.com/lossless-context/lcm/internal/record/sqldb/search"
	"github.com/lossless-context/lcm/internal/record/sqldb/state"
	"github.com/lossless-context/lcm/internal/record/sqldb/vectors"
	"github.com/lossless-context/lcm/internal/record/sqldb/verify"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Options is the options of [Open]. The zero value is a good default.
type Options = dbfile.Options

// Memory is the path of a database that no other opener shares. It is kept in a
// temporary directory, which Close removes.
const Memory = dbfile.Memory

// DB is a [store.Store] in a SQLite file. The embedded types implement the parts
// of the contract that concern only one package each.
type DB struct {
	record.Records
	state.Table
	verify.Checker
	erase.Eraser
	vectors.Cache
	file  *dbfile.File
	index *search.Index
}

var _ store.Store = (*DB)(nil)

// Open opens the database at path. A file that does not exist is made, readable by its
// owner only, and so is its directory.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	f, err := dbfile.Open(ctx, path, o)
	if err != nil {
		return nil, err
	}
	shared := f.DB()
	db := &DB{Records: record.Records{DB: shared}, Table: state.Table{DB: shared}, Checker: verify.Checker{DB: shared}, Eraser: erase.Eraser{DB: shared},
		Cache: vectors.Cache{DB: shared}, file: f, index: search.New(shared)}
	if err := db.index.Load(ctx); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return db, nil
}

// File returns the open file, for the packages that work on it: backup,
// archive and statistics.
func (db *DB) File() *dbfile.File { return db.file }

// SQL returns the connections of the database, for the packages that work on any
// backend.
func (db *DB) SQL() sqldb.DB { return db.file.DB() }

// Path returns the path of the database file.
func (db *DB) Path() string { return db.file.Path() }

// ReleaseMemory implements [store.Store].
func (db *DB) ReleaseMemory() {
	db.index.ReleaseMemory()
	db.file.ReleaseMemory()
}

// Close seals the search index of the new messages, waits for the calls that
// are under way and closes the file.
func (db *DB) Close() error {
	db.index.Close()
	return db.file.Close()
}
