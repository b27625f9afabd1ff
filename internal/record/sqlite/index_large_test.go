package sqlite_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/record/sqldb/search"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// More than a search indexes in memory is indexed for good, by the first search of
// a process that does not leave the index to others.
func TestLargeRecordsAreIndexedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lcm.db")
	db := open(t, path, sqlite.Options{DeferIndex: true})
	c, err := db.Open(t.Context(), store.NewConversation{Key: "large"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		text := strings.Repeat(fmt.Sprintf("line %d of a long log\n", i), 50_000) + fmt.Sprintf("needle%d", i)
		err := db.Update(t.Context(), c.ID, func(w store.Writer) error {
			_, err := w.Append(t.Context(), store.NewMessage{
				Role: llms.RoleUser, Format: llms.FormatText, Record: []byte(text), Size: int64(len(text)), SHA256: sha256.Sum256([]byte(text)), Tokens: 10,
			})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if due, err := db.IndexDue(t.Context()); err != nil || !due {
		t.Errorf("6 MB are not due to be indexed: %v", err)
	}
	// A process that leaves the index to others only reads them.
	find(t, db, "needle3")
	if st, err := search.ReadStats(t.Context(), db.File().DB()); err != nil || st.Docs != 0 {
		t.Errorf("a search with DeferIndex indexed %d documents: %v", st.Docs, err)
	}
	find(t, open(t, path, sqlite.Options{}), "needle4")
	if due, err := db.IndexDue(t.Context()); err != nil || due {
		t.Errorf("what is indexed is due: %v", err)
	}
	st, err := search.ReadStats(t.Context(), db.File().DB())
	if err != nil {
		t.Fatal(err)
	}
	if st.Docs != 6 {
		t.Errorf("%d documents are indexed for good", st.Docs)
	}
	find(t, open(t, path, sqlite.Options{}), "needle5")
}

func find(t *testing.T, db *sqlite.DB, pattern string) {
	t.Helper()
	found, err := db.Search(context.WithoutCancel(t.Context()), store.Search{Mode: store.Regex, Pattern: pattern, Limit: 1})
	if err != nil || len(found.Hits) != 1 {
		t.Errorf("%s: %d hits, %v", pattern, len(found.Hits), err)
	}
}

// A process that wrote many documents seals them when it ends, so that the next
// one only opens the segment. A few are left to memory.
func TestCloseSealsTheTail(t *testing.T) {
	for _, c := range []struct {
		name    string
		o       sqlite.Options
		docs    int
		indexed int64
	}{
		{"many", sqlite.Options{}, 300, 300},
		{"few", sqlite.Options{}, 3, 0},
		{"left to another process", sqlite.Options{DeferIndex: true}, 300, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "lcm.db")
			db := open(t, path, c.o)
			talk, err := db.Open(t.Context(), store.NewConversation{Key: "talk"})
			if err != nil {
				t.Fatal(err)
			}
			err = db.Update(t.Context(), talk.ID, func(w store.Writer) error {
				for i := range c.docs {
					text := fmt.Sprintf("message needle%d", i)
					m := store.NewMessage{Role: llms.RoleUser, Format: llms.FormatText, Record: []byte(text), Size: int64(len(text)), SHA256: sha256.Sum256([]byte(text)), Tokens: 3}
					if _, err := w.Append(t.Context(), m); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			db = open(t, path, sqlite.Options{ReadOnly: true})
			if st, err := search.ReadStats(t.Context(), db.File().DB()); err != nil || st.Docs != c.indexed {
				t.Errorf("%d documents are sealed, want %d: %v", st.Docs, c.indexed, err)
			}
			find(t, db, fmt.Sprintf("needle%d", c.docs-1))
		})
	}
}
