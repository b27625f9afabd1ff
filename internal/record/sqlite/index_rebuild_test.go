package sqlite_test

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
)

// A damaged index is built anew from the record: searches stay complete.
func TestDamagedIndexIsBuiltAnew(t *testing.T) {
	for _, damage := range []string{`UPDATE sections SET data = zeroblob(length(data))`, `DELETE FROM sections`} {
		t.Run(damage, func(t *testing.T) { indexIsBuiltAnew(t, damage) })
	}
}

func indexIsBuiltAnew(t *testing.T, damage string) {
	path := filepath.Join(t.TempDir(), "lcm.db")
	quiet := slog.New(slog.DiscardHandler)
	db := open(t, path, sqlite.Options{Log: quiet})
	c, err := db.Open(t.Context(), store.NewConversation{Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(t.Context(), db, c.ID, 3000); err != nil {
		t.Fatal(err)
	}
	if err := db.Reindex(t.Context()); err != nil {
		t.Fatal(err)
	}
	sql(t, path, damage)
	again := open(t, path, sqlite.Options{Log: quiet})
	for _, q := range []store.Search{
		{Mode: store.Regex, Pattern: "message 17 of", Limit: 5, CountTo: 10},
		{Mode: store.FullText, Pattern: `+17`, Limit: 5},
	} {
		found, err := again.Search(t.Context(), q)
		if err != nil || found.Matched != 1 || len(found.Hits) == 0 || found.Hits[0].Message != 17 {
			t.Errorf("%s: %d hits, %v", q.Pattern, found.Matched, err)
		}
	}
	blind := open(t, path, sqlite.Options{ReadOnly: true})
	if found, err := blind.Search(t.Context(), store.Search{Mode: store.Regex, Pattern: "message 17 of", Limit: 5}); err != nil || len(found.Hits) != 1 {
		t.Errorf("read-only afterwards: %s, %v", fmt.Sprint(found.Hits), err)
	}
}

// A message that the record has lost is no hit, and does not stop the search for the others.
func TestLostMessageIsNoHit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lcm.db")
	db := open(t, path, sqlite.Options{})
	c, err := db.Open(t.Context(), store.NewConversation{Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(fill(t.Context(), db, c.ID, 40), db.Reindex(t.Context())); err != nil {
		t.Fatal(err)
	}
	sql(t, path, `PRAGMA foreign_keys=OFF; DELETE FROM messages WHERE id = 17`)
	found, err := open(t, path, sqlite.Options{}).Search(t.Context(), store.Search{Mode: store.FullText, Pattern: "message", Limit: 100})
	if err != nil || len(found.Hits) != 39 {
		t.Errorf("%d hits, %v", len(found.Hits), err)
	}
}
