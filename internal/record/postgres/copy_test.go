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

	"github.com/lossless-context/lcm/internal/record/move"
	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/postgres/pgtest"
	"github.com/lossless-context/lcm/internal/record/proof/verify"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
)

// A record goes from a file to PostgreSQL and back to another file. A copy that is
// interrupted leaves nothing. All have the same digest, find the same, and go on.
func TestCopyThereAndBack(t *testing.T) {
	first, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "first.db"), sqlite.Options{Relaxed: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Close() })
	history(t, first)
	bulk, err := first.Open(t.Context(), store.NewConversation{Key: "bulk"})
	if err != nil {
		t.Fatal(err)
	}
	err = first.Update(t.Context(), bulk.ID, func(w store.Writer) error {
		for i := range 1500 {
			if _, err := w.Append(t.Context(), message(fmt.Sprintf("bulk number n%dx", i))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Erase(t.Context(), store.Erasure{Messages: []store.MessageID{10}, Cause: "forget"}); err != nil {
		t.Fatal(err)
	}
	server := open(t, pgtest.URL(t), postgres.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	err = move.Fill(ctx, server.SQL(), move.Database(ctx, first.SQL()), func(done int64) {
		if done == 1000 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if empty, err := move.IsEmpty(t.Context(), server.SQL()); err != nil || !empty {
		t.Fatalf("a copy that was interrupted left something: %v", err)
	}
	if err := move.Fill(t.Context(), server.SQL(), move.Database(t.Context(), first.SQL()), func(int64) {}); err != nil {
		t.Fatal(err)
	}
	back := filepath.Join(t.TempDir(), "second.db")
	made, err := move.Build(t.Context(), back, move.Database(t.Context(), server.SQL()))
	if err != nil || len(made.Damage) > 0 {
		t.Fatal(made, err)
	}
	if err := made.Publish(back); err != nil {
		t.Fatal(err)
	}
	made.Remove()
	second, err := sqlite.Open(t.Context(), back, sqlite.Options{Relaxed: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = second.Close() })
	want := prove(t, first.SQL())
	for name, db := range map[string]sqldb.DB{"the server": server.SQL(), "the second file": second.SQL()} {
		if got := prove(t, db); got.Digest != want.Digest || got.Messages != want.Messages || got.Summaries != want.Summaries {
			t.Errorf("%s has %+v, want %+v", name, got, want)
		}
	}
	for _, db := range []store.Store{server, second} {
		found, err := db.Search(t.Context(), store.Search{Mode: store.Regex, Pattern: "n1499x", Limit: 5})
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
	if err := move.Fill(t.Context(), server.SQL(), move.Database(t.Context(), first.SQL()), func(int64) {}); err == nil {
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
	schema, err := dbfile.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for table, o := range schema {
		for _, column := range o.ColumnNames() {
			if !slices.Contains(derived, table) {
				known = append(known, table+"."+column)
			}
		}
	}
	slices.Sort(have)
	slices.Sort(known)
	if !slices.Equal(have, known) {
		t.Errorf("the database has\n%s\nthe copy knows\n%s", strings.Join(have, " "), strings.Join(known, " "))
	}
}
