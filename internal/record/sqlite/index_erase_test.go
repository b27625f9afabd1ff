package sqlite_test

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"

	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// The forms of words that the index keeps for phrases go with the messages that are
// erased.
func TestErasedWordsLeaveThePositions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lcm.db")
	db := open(t, path, sqlite.Options{})
	c, err := db.Open(t.Context(), store.NewConversation{Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	var ids []store.MessageID
	err = db.Update(t.Context(), c.ID, func(w store.Writer) error {
		for _, text := range []string{"the harbour is calm", "pomegranates ripening: the harbour", "the harbour is calm again"} {
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
	if err := db.Reindex(t.Context()); err != nil {
		t.Fatal(err)
	}
	sections := func() (all []byte) {
		t.Helper()
		rows(t, path, `SELECT CAST(data AS TEXT) FROM sections`, func(data string) { all = append(all, data...) })
		return all
	}
	// The index has the stem pomegran, and the form by its other letters.
	for _, part := range []string{"pomegran", "ates", "ripen"} {
		if !bytes.Contains(sections(), []byte(part)) {
			t.Fatalf("the index does not have %q: the test looks in the wrong place", part)
		}
	}
	if _, err := db.Erase(t.Context(), store.Erasure{Messages: ids[1:2]}); err != nil {
		t.Fatal(err)
	}
	if err := db.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := db.Reindex(t.Context()); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]int{`"the harbour"`: 2, `"pomegranates ripening"`: 0} {
		found, err := db.Search(t.Context(), store.Search{Mode: store.FullText, Pattern: query, Limit: 10})
		if err != nil || found.Matched != want {
			t.Errorf("%s: %d messages after the erasure, want %d, %v", query, found.Matched, want, err)
		}
	}
	for _, part := range []string{"pomegran", "ates", "ripen"} {
		if bytes.Contains(sections(), []byte(part)) {
			t.Errorf("the index still has %q", part)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"pomegran", "ripen"} {
		if bytes.Contains(file, []byte(part)) {
			t.Errorf("the file still has %q", part)
		}
	}
}
