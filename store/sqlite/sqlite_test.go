package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/lossless-context/lcm/store"
	"github.com/lossless-context/lcm/store/sqlite"
	"github.com/lossless-context/lcm/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, clock func() time.Time) store.Store {
		return open(t, filepath.Join(t.TempDir(), "lcm.db"), sqlite.Options{Clock: clock})
	})
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
