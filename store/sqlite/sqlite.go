// Package sqlite opens the embedded store: one SQLite file that holds every
// message, the summaries over them and the search index.
//
//	db, err := sqlite.Open(ctx, "agent.db", sqlite.Options{})
//	if err != nil {
//		return err
//	}
//	defer db.Close()
//	engine, err := lcm.New(db)
//
// Several processes may have the same file open. An acknowledged write survives
// a power cut, unless [Options] says that it need not. [Memory] in place of a
// path gives a store for tests, which Close removes.
package sqlite

import (
	"context"
	"log/slog"
	"time"

	"github.com/lossless-context/lcm/internal/record/sqlite"
)

// Memory is the path of a store that is private to its opener and ends with
// Close.
const Memory = sqlite.Memory

// DB is an open store. Pass it to lcm.New, and close it after the engine.
type DB = sqlite.DB

// Options says how a store is opened. The zero value is a good default.
type Options struct {
	// BusyTimeout is how long a write waits for other processes (30 s).
	BusyTimeout time.Duration
	// Relaxed acknowledges writes before they survive a power cut. They survive
	// a crash of the process.
	Relaxed bool
	// ReadOnly opens an existing store without ever writing to it.
	ReadOnly bool
	// CacheKiB is the size of the page cache in KiB (16,384).
	CacheKiB int
	// DeferIndex leaves indexing to a later opener. Searches are complete without it.
	DeferIndex bool
	// Clock returns the current time (time.Now).
	Clock func() time.Time
	// Log receives failures of background work (slog.Default).
	Log *slog.Logger
	// VFS names a registered file system layer of the driver that replaces that
	// of the operating system.
	VFS string
}

// Open opens the store at path and brings its schema up to date. A file that
// does not exist is made, readable by its owner only, and so is its directory.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	return sqlite.Open(ctx, path, sqlite.Options(o))
}
