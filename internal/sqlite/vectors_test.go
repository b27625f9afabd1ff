package sqlite_test

import (
	"crypto/sha256"
	"path/filepath"
	"testing"

	"github.com/lossless-context/lcm/internal/sqlite"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/llms"
)

// A vector is found by model and text, and is removed with its message: when that
// is erased, or masked.
func TestVectors(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "lcm.db"), sqlite.Options{})
	c, err := db.Open(t.Context(), store.NewConversation{Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	var ids []store.MessageID
	var rows []store.NewMessage
	for _, text := range []string{"one", "two", "three"} {
		rows = append(rows, store.NewMessage{Role: llms.RoleUser, Format: llms.FormatText, Record: []byte(text), Size: int64(len(text)), SHA256: sha256.Sum256([]byte(text)), Tokens: 9})
	}
	err = db.Update(t.Context(), c.ID, func(w store.Writer) error {
		done, err := w.Append(t.Context(), rows...)
		for _, a := range done {
			ids = append(ids, a.ID)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	hash := func(n int) store.TextHash { return sha256.Sum256(rows[n].Record) }
	put := func(model string) {
		t.Helper()
		var all []store.MessageVector
		for i, id := range ids {
			all = append(all, store.MessageVector{Message: id, Text: hash(i), Vector: []byte{byte(i), 200}})
		}
		if err := db.PutVectors(t.Context(), model, all); err != nil {
			t.Fatal(err)
		}
	}
	has := func(model string, want ...int) {
		t.Helper()
		found, err := db.Vectors(t.Context(), model, []store.TextHash{hash(0), hash(1), hash(2), {}})
		if err != nil {
			t.Fatal(err)
		}
		if len(found) != len(want) {
			t.Errorf("%s has %d vectors, want %d", model, len(found), len(want))
		}
		for _, n := range want {
			if v := found[hash(n)]; len(v) != 2 || v[0] != byte(n) || v[1] != 200 {
				t.Errorf("%s: message %d has the vector %v", model, n, v)
			}
		}
	}
	has("a")
	put("a")
	put("a") // again: nothing changes
	has("a", 0, 1, 2)
	has("b")
	put("b")
	if err := db.Mask(t.Context(), []store.Mask{{ID: ids[0], Row: rows[0]}}); err != nil {
		t.Fatal(err)
	}
	has("a", 1, 2)
	has("b", 1, 2)
	if _, err := db.Erase(t.Context(), store.Erasure{Messages: ids[1:2], Cause: "test"}); err != nil {
		t.Fatal(err)
	}
	has("a", 2)
	put("a") // one that was on its way when its message was erased
	has("a", 0, 2)
	if _, err := db.Erase(t.Context(), store.Erasure{Conversations: []store.ConversationID{c.ID}, Cause: "test"}); err != nil {
		t.Fatal(err)
	}
	has("a")
	has("b")
	put("a")
	has("a")
	faults, err := db.Check(t.Context())
	if err != nil || len(faults) > 0 {
		t.Errorf("%v, %v", faults, err)
	}
}
