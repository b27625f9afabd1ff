// Package postgres opens the store in a PostgreSQL database, for services that run in
// several replicas and for teams: one record for many agents on many machines.
//
//	db, err := postgres.Open(ctx, "postgres://lcm@db.example.com/lcm", postgres.Options{})
//	if err != nil {
//		return err
//	}
//	defer db.Close()
//	engine, err := lcm.New(db)
//
// The password comes from PGPASSFILE, PGPASSWORD or the URL; errors do not show it. Open
// makes the tables and brings them up to date, also when several replicas start at once.
// The record is the same as that of package sqlite, and so is its digest.
package postgres

import (
	"context"
	"log/slog"
	"time"

	"github.com/lossless-context/lcm/internal/record/postgres"
)

// DB is an open store. Pass it to lcm.New, and close it after the engine.
type DB = postgres.DB

// Options says how a store is opened. The zero value is a good default.
type Options struct {
	// Relaxed acknowledges writes before the server has synced them
	// (synchronous_commit=off).
	Relaxed bool
	// ReadOnly opens an existing store without ever writing to it.
	ReadOnly bool
	// DeferIndex leaves indexing to a later opener. Searches are complete without it.
	DeferIndex bool
	// MaxWriters is how many transactions of this process write at a time (16).
	MaxWriters int
	// MaxReaders is how many callers of this process read at a time (16): each may read
	// up to five results at once.
	MaxReaders int
	// Clock returns the current time (time.Now).
	Clock func() time.Time
	// Log receives failures of background work (slog.Default).
	Log *slog.Logger
}

// Open connects to the database of a URL and brings its schema up to date.
func Open(ctx context.Context, url string, o Options) (*DB, error) {
	return postgres.Open(ctx, url, postgres.Options{
		Relaxed: o.Relaxed, ReadOnly: o.ReadOnly, DeferIndex: o.DeferIndex, MaxWriters: o.MaxWriters, MaxReaders: o.MaxReaders,
		Clock: o.Clock, Log: o.Log,
	})
}
