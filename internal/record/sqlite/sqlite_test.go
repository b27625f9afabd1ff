package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/proof/storetest"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, clock func() time.Time) store.Store {
		path := filepath.Join(t.TempDir(), "lcm.db")
		t.Cleanup(func() { checkReferences(t, path) }) // runs after the database is closed
		return open(t, path, sqlite.Options{Clock: clock})
	})
}

// checkReferences fails if a row refers to one that does not exist: writers
// do not let SQLite look.
func checkReferences(t *testing.T, path string) {
	t.Helper()
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, _, err := c.Prepare(`SELECT "table", parent FROM pragma_foreign_key_check`)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for s.Step() {
		t.Errorf("a row of %s refers to one of %s that does not exist", s.ColumnText(0), s.ColumnText(1))
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, path string, o sqlite.Options) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}
