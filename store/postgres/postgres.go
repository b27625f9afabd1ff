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

	"github.com/lossless-context/lcm/internal/record/postgres"
)

// DB is an open store. Pass it to lcm.New, and close it after the engine.
type DB = postgres.DB

// Options says how a store is opened. The zero value is a good default. Relaxed
// acknowledges writes before the server has synced them. ReadOnly opens an existing
// store and never writes. MaxWriters (16) and MaxReaders (16) bound the transactions of
// this process that write and read at a time. DeferIndex leaves indexing to a later
// opener; searches are complete without it. Clock returns the time (time.Now), Log
// receives failures of background work (slog.Default).
type Options = postgres.Options

// Open connects to the database of a URL and brings its schema up to date.
func Open(ctx context.Context, url string, o Options) (*DB, error) {
	return postgres.Open(ctx, url, o)
}
