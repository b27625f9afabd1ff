//go:build unix

package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/proof/storetest"
	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/postgres/pgtest"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
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

// A row function may run statements with other columns: the columns of the rows that
// follow stay as they are.
func TestRowFunctionMayQuery(t *testing.T) {
	db := open(t, pgtest.URL(t), postgres.Options{})
	var got []string
	err := db.SQL().Reader(t.Context(), func(c sqldb.Conn) error {
		return c.Query(`SELECT n, 'row ' || n FROM generate_series(1, 3) n`, func(r sqldb.Row) error {
			got = append(got, fmt.Sprint(r.ColumnInt64(0), " ", r.ColumnText(1)))
			_, err := c.Has(`SELECT 'text', CAST('bytes' AS bytea), TRUE`)
			return err
		})
	})
	if want := "1 row 1, 2 row 2, 3 row 3"; err != nil || strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %s: %v", got, want, err)
	}
}
