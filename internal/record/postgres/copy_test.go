//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/postgres/pgtest"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/transfer"
	"github.com/lossless-context/lcm/internal/record/sqldb/verify"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
)

// A record goes from a file to PostgreSQL and back to another file. Each copy is
// interrupted several times, and something is erased and added between. All have the
// same digest, find the same, and go on.
func TestCopyThereAndBack(t *testing.T) {
	file := func(name string) *sqlite.DB {
		db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), name), sqlite.Options{Relaxed: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	first := history(t, file("first.db"))
	bulk, err := first.Open(t.Context(), store.NewConversation{Key: "bulk"})
	if err != nil {
		t.Fatal(err)
	}
	err = first.Update(t.Context(), bulk.ID, func(w store.Writer) error {
		for i := range 5000 {
			if _, err := w.Append(t.Context(), message(fmt.Sprintf("bulk number n%dx", i))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	server := open(t, pgtest.URL(t), postgres.Options{})
	interrupted(t, first.SQL(), server.SQL(), func() {
		if _, err := first.Erase(t.Context(), store.Erasure{Messages: []store.MessageID{10}, Cause: "forget"}); err != nil {
			t.Fatal(err)
		}
	})
	second := file("second.db")
	interrupted(t, server.SQL(), second.SQL(), func() { say(t, server, bulk.ID, "one more after the copy began") })
	// The first file gets the same message, so that all three have the same history.
	err = first.Update(t.Context(), bulk.ID, func(w store.Writer) error {
		_, err := w.Append(t.Context(), message("one more after the copy began"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := prove(t, first.SQL())
	for name, db := range map[string]sqldb.DB{"the server": server.SQL(), "the second file": second.SQL()} {
		if got := prove(t, db); got.Digest != want.Digest || got.Messages != want.Messages || got.Summaries != want.Summaries {
			t.Errorf("%s has %+v, want %+v", name, got, want)
		}
	}
	for _, db := range []store.Store{server, second} {
		found, err := db.Search(t.Context(), store.Search{Mode: store.Regex, Pattern: "n4999x", Limit: 5})
		if err != nil || len(found.Hits) != 1 {
			t.Errorf("%d hits, %v", len(found.Hits), err)
		}
		c, err := db.Open(t.Context(), store.NewConversation{Key: "new"})
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(t.Context(), c.ID, func(w store.Writer) error {
			_, err := w.Append(t.Context(), message("it goes on"))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if v, err := db.Verify(t.Context(), c.ID); err != nil || len(v.Faults) > 0 {
			t.Errorf("%v, %v", v.Faults, err)
		}
	}
	if err := transfer.Copy(t.Context(), first.SQL(), server.SQL(), func(int64, int64) {}); err == nil {
		t.Error("a database that is not empty was copied into")
	}
}

func prove(t *testing.T, db sqldb.DB) verify.Proof {
	t.Helper()
	p, err := verify.Prove(t.Context(), db)
	if err != nil || len(p.Faults) > 0 {
		t.Fatal(p.Faults, err)
	}
	return p
}

// interrupted copies, and is interrupted after every step but the last. change runs
// after the first.
func interrupted(t *testing.T, from, to sqldb.DB, change func()) {
	t.Helper()
	interrupts := 0
	for {
		ctx, cancel := context.WithCancel(t.Context())
		var seen []int64
		err := transfer.Copy(ctx, from, to, func(done, _ int64) {
			if seen = append(seen, done); len(seen) == 2 && interrupts < 3 {
				cancel()
			}
		})
		cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if interrupts == 0 {
			change()
		}
		if interrupts++; interrupts > 1 && seen[0] == 0 {
			t.Error("the copy began anew")
		}
	}
	if interrupts == 0 {
		t.Error("the copy was never interrupted")
	}
}

// Every column of every table is copied.
func TestCopyKnowsAllColumns(t *testing.T) {
	db := open(t, pgtest.URL(t), postgres.Options{})
	derived := []string{"lanes", "lcm_schema", "sections", "segments"}
	var have []string
	err := db.SQL().Reader(t.Context(), func(c sqldb.Conn) error {
		return c.Query(`SELECT table_name::text, column_name::text FROM information_schema.columns WHERE table_schema = current_schema()`, func(s sqldb.Row) error {
			if table, column := s.ColumnText(0), s.ColumnText(1); !slices.Contains(derived, table) && column != "rowid" {
				have = append(have, table+"."+column)
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	known := transfer.Columns()
	slices.Sort(have)
	slices.Sort(known)
	if !slices.Equal(have, known) {
		t.Errorf("the database has\n%s\nthe copy knows\n%s", strings.Join(have, " "), strings.Join(known, " "))
	}
}
