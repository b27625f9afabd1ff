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

	"github.com/lossless-context/lcm/internal/record/sqlite"
)

// Memory is the path of a store that is private to its opener and ends with
// Close.
const Memory = sqlite.Memory

// DB is an open store. Pass it to lcm.New, and close it after the engine.
type DB = sqlite.DB

// Options says how a store is opened. The zero value is a good default. Relaxed
// acknowledges writes before they survive a power cut. ReadOnly opens an existing store
// and never writes. BusyTimeout (30 s) is how long a write waits for other processes,
// CacheKiB (16,384) the size of the page cache. DeferIndex leaves indexing to a later
// opener; searches are complete without it. Clock returns the time (time.Now), Log
// receives failures of background work (slog.Default), and VFS names a file system layer
// of the driver.
type Options = sqlite.Options

// Open opens the store at path and brings its schema up to date. A file that
// does not exist is made, readable by its owner only, and so is its directory.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	return sqlite.Open(ctx, path, o)
}
