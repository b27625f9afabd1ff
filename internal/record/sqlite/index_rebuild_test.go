package sqlite_test

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
)

// A damaged index is built anew from the record: searches stay complete.
func TestDamagedIndexIsBuiltAnew(t *testing.T) {
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
	raw, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Exec(`UPDATE sections SET data = zeroblob(length(data))`); err != nil {
		t.Fatal(err)
	}
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}
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
