// Package backend puts the packages below sqldb together: the part of a [store.Store] that
// is the same in every database.
package backend

import (
	"context"

	"github.com/lossless-context/lcm/internal/record/proof/verify"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/erase"
	"github.com/lossless-context/lcm/internal/record/sqldb/mapitems"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/sqldb/search"
	"github.com/lossless-context/lcm/internal/record/sqldb/state"
	"github.com/lossless-context/lcm/internal/record/sqldb/stats"
	"github.com/lossless-context/lcm/internal/record/sqldb/vectors"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Store is all of a [store.Store] but Update, ReleaseMemory and Close. The embedded types
// implement the parts of the contract that concern only one package each.
type Store struct {
	rows.Records
	state.Table
	verify.Checker
	erase.Eraser
	vectors.Cache
	mapitems.Maps
	Index *search.Index
	db    sqldb.DB
}

// New returns the store of a database.
func New(db sqldb.DB) Store {
	return Store{Records: rows.Records{DB: db}, Table: state.Table{DB: db}, Checker: verify.Checker{DB: db}, Eraser: erase.Eraser{DB: db},
		Cache: vectors.Cache{DB: db}, Maps: mapitems.Maps{DB: db}, Index: search.New(db), db: db}
}

// SQL returns the connections of the database, for the packages that work on any
// backend.
func (s *Store) SQL() sqldb.DB { return s.db }

// Search implements [store.Searcher].
func (s *Store) Search(ctx context.Context, q store.Search) (store.Found, error) {
	return s.Index.Search(ctx, q)
}

// Reindex implements [store.Store].
func (s *Store) Reindex(ctx context.Context) error { return s.Index.Reindex(ctx) }

// IndexDue reports whether so many messages are unindexed that the first search
// of a new process is slow, and no process is indexing them. A program that defers
// indexing then calls Reindex, or has another do it.
func (s *Store) IndexDue(ctx context.Context) (bool, error) { return s.Index.Due(ctx) }

// Erase implements [store.Eraser].
func (s *Store) Erase(ctx context.Context, order store.Erasure) (store.Erased, error) {
	out, err := s.Eraser.Erase(ctx, order)
	if err == nil {
		s.Index.Forget()
	}
	return out, err
}

// Mask implements [store.Eraser].
func (s *Store) Mask(ctx context.Context, masks []store.Mask) error {
	err := s.Eraser.Mask(ctx, masks)
	if err == nil {
		s.Index.Forget()
	}
	return err
}

// Stats counts the contents of the database. It reads no message, so that it is quick.
func (s *Store) Stats(ctx context.Context) (stats.Stats, error) { return stats.Read(ctx, s.db) }
