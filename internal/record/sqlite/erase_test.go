package sqlite_test

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// TestOtherProcessesForgetToo: the data that another process holds of the index and
// the messages in memory does not outlive an erasure.
func TestOtherProcessesForgetToo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lcm.db")
	one, other := open(t, path, sqlite.Options{}), open(t, path, sqlite.Options{})
	c, err := one.Open(t.Context(), store.NewConversation{Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	var ids []store.MessageID
	add := func(n int) {
		t.Helper()
		err := one.Update(t.Context(), c.ID, func(w store.Writer) error {
			for range n {
				text := fmt.Sprintf("message %d says pomegranate", len(ids)+1)
				done, err := w.Append(t.Context(), store.NewMessage{
					Role: llms.RoleUser, Format: llms.FormatText, Record: []byte(text), Size: int64(len(text)), SHA256: sha256.Sum256([]byte(text)), Tokens: 9,
				})
				if err != nil {
					return err
				}
				ids = append(ids, done[0].ID)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	find := func(db *sqlite.DB, mode store.Mode) int {
		t.Helper()
		found, err := db.Search(t.Context(), store.Search{Mode: mode, Pattern: "pomegranate", Sort: store.ByRecency, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		return len(found.Hits)
	}
	add(20)
	if err := one.Reindex(t.Context()); err != nil {
		t.Fatal(err)
	}
	add(10) // in memory only
	for _, mode := range []store.Mode{store.Regex, store.FullText} {
		if got := find(other, mode); got != 30 {
			t.Fatalf("%s: %d found, want 30", mode, got)
		}
	}
	if _, err := one.Erase(t.Context(), store.Erasure{Messages: []store.MessageID{ids[3], ids[25]}}); err != nil {
		t.Fatal(err)
	}
	if err := one.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, db := range []*sqlite.DB{one, other} {
		for _, mode := range []store.Mode{store.Regex, store.FullText} {
			if got := find(db, mode); got != 28 {
				t.Errorf("%s: %d found after the erasure, want 28", mode, got)
			}
		}
	}
	add(3)
	if got := find(other, store.Regex); got != 31 {
		t.Errorf("%d found after more was said, want 31", got)
	}
	v, err := other.Verify(t.Context(), c.ID)
	if err != nil || len(v.Faults) > 0 {
		t.Errorf("verify: %v, %v", v.Faults, err)
	}
}

// TestAnErasureCannotBeFaked: a message that is only marked as erased, or one
// that something is left of, is found out.
func TestAnErasureCannotBeFaked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lcm.db")
	if err := build(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	sql(t, path, "UPDATE messages SET flags = 128 WHERE id = 5")
	db := open(t, path, sqlite.Options{})
	v, err := db.Verify(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, f := range v.Faults {
		codes = append(codes, f.Code)
	}
	if !strings.Contains(strings.Join(codes, " "), "erased") {
		t.Errorf("verify says %v", v.Faults)
	}
}
