//go:build unix

package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/postgres"
	"github.com/lossless-context/lcm/internal/postgres/pgtest"
	"github.com/lossless-context/lcm/internal/sqldb"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/internal/storetest"
)

func open(t *testing.T, url string, o postgres.Options) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), url, o)
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

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, clock func() time.Time) store.Store {
		db := open(t, pgtest.URL(t), postgres.Options{Clock: clock})
		t.Cleanup(func() { checkReferences(t, db) })
		return db
	})
}

// checkReferences fails if a row refers to one that does not exist: the tables declare
// no foreign keys.
func checkReferences(t *testing.T, db *postgres.DB) {
	t.Helper()
	err := db.SQL().Reader(context.Background(), func(c sqldb.Conn) error {
		return c.Dangling(func(table, parent string) error {
			t.Errorf("a row of %s refers to one of %s that does not exist", table, parent)
			return nil
		})
	})
	if err != nil {
		t.Error(err)
	}
}
