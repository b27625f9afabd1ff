package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/sqldb/search"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/search/segment"
)

// TestOneProcessIndexes: of several that have the file open, one builds the
// index, a lease that nobody gives back runs out, and closing leaves none.
func TestOneProcessIndexes(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "lcm.db")
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	o := sqlite.Options{Clock: func() time.Time { return now }}
	db := open(t, path, o)
	many, err := db.Open(ctx, store.NewConversation{Key: "many"})
	if err != nil {
		t.Fatal(err)
	}
	// Another process has the turn, or had it when it was killed.
	if _, err := db.Put(ctx, "lease", "index/1", []byte("1"), 0, now.Add(10*time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := fill(ctx, db, many.ID, 2*segment.SealDocs); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	db = open(t, path, o)
	if st, err := search.ReadStats(ctx, db.File().DB()); err != nil || st.Segments != 0 {
		t.Errorf("%d segments were built out of turn, %v", st.Segments, err)
	}
	now = now.Add(time.Minute)
	if talk(t, db, "one more"); t.Failed() {
		return
	}
	if err := db.Close(); err != nil { // waits for the indexer, or ends it
		t.Fatal(err)
	}
	db = open(t, path, o)
	if err := db.Reindex(ctx); err != nil {
		t.Fatal(err)
	}
	if st, err := search.ReadStats(ctx, db.File().DB()); err != nil || st.Segments == 0 {
		t.Errorf("%d segments, %v", st.Segments, err)
	}
	if left, err := db.List(ctx, "lease"); err != nil || len(left) != 0 {
		t.Errorf("leases that were not given back: %v, %v", left, err)
	}
}
