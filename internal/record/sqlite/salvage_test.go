package sqlite_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/lossless-context/lcm/internal/record/move"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Whatever happens to a file, a salvaged message is the one that was said or is
// marked as damaged, and one page never costs most of it.
func TestSalvageOfRandomDamage(t *testing.T) {
	dir := t.TempDir()
	pristine := filepath.Join(dir, "pristine.db")
	if err := build(t.Context(), pristine); err != nil {
		t.Fatal(err)
	}
	more(t, pristine, 200) // several pages of messages
	said := texts(t, pristine)
	data, err := os.ReadFile(pristine)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(7, 7))
	for round := range 20 {
		damaged := append([]byte{}, data...)
		page := random.IntN(len(damaged) / 4096)
		switch round % 4 {
		case 0: // a page is lost
			clear(damaged[page*4096 : (page+1)*4096])
		case 1: // a page is noise
			for i := page * 4096; i < (page+1)*4096; i++ {
				damaged[i] = byte(random.IntN(256))
			}
		case 2: // the end is missing
			damaged = damaged[:max(4096, len(damaged)-random.IntN(3*4096))]
		case 3: // bytes are changed all over it
			for range 20 {
				damaged[random.IntN(len(damaged))] ^= byte(1 + random.IntN(255))
			}
		}
		path, to := filepath.Join(dir, "damaged.db"), filepath.Join(dir, "saved.db")
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := move.Copy(t.Context(), path, to, nil)
		if err != nil {
			t.Errorf("round %d, page %d: %v", round, page+1, err)
			continue
		}
		got := texts(t, s.Path())
		s.Remove()
		for id, text := range got {
			if text != "" && text != said[id] {
				t.Errorf("round %d: %s says %q, it said %q", round, id, text, said[id])
			}
		}
		if len(got) < len(said)/2 {
			t.Errorf("round %d, page %d: %d of %d messages", round, page+1, len(got), len(said))
		}
	}
}

// more adds a conversation of n messages.
func more(t *testing.T, path string, n int) {
	t.Helper()
	db := open(t, path, sqlite.Options{})
	c, err := db.Open(t.Context(), store.NewConversation{Key: "more"})
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(t.Context(), db, c.ID, n); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// texts are the texts of the messages of a database, "" of those that are marked.
func texts(t *testing.T, path string) map[store.MessageID]string {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	list, err := db.Conversations(t.Context(), store.ConversationQuery{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[store.MessageID]string{}
	for _, c := range list {
		for m, err := range db.Messages(t.Context(), store.MessageQuery{Conversation: c.ID}) {
			if err != nil {
				t.Fatal(err)
			}
			all[m.ID] = m.Body.Render()
			if m.Damaged {
				all[m.ID] = ""
			}
		}
	}
	return all
}
