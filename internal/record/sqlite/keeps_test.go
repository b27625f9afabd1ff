package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/record/move"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/summary"
)

// everything makes a database with all that a new one might lose: a branch, a summary that
// was reworded, names, an archived conversation, a fork, a conversation that another
// started, a file, what was erased, what models cost, tokens of a server, and vectors.
func everything(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lcm.db")
	if err := build(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	db := open(t, path, sqlite.Options{})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	child, err := db.Open(t.Context(), store.NewConversation{Key: "child", Agent: "helper", Title: "A title", Parent: 1, Project: store.Project{Origin: "example.com/b", Root: "/b"}})
	must(err)
	must(fill(t.Context(), db, child.ID, 4))
	must(db.Archive(t.Context(), child.ID, "cleared"))
	s, err := store.First(db.Summaries(t.Context(), store.SummaryQuery{Conversation: 1}))
	must(err)
	must(db.Update(t.Context(), s.Conversation, func(w store.Writer) error {
		_, err := w.Reword(t.Context(), s.ID, store.Wording{Body: "reworded\nExpand for details about: x", Tokens: 9, Level: summary.Normal, Method: "model", Model: "m2", TokensIn: 5, TokensOut: 4})
		return err
	}))
	gone, err := db.Open(t.Context(), store.NewConversation{Key: "gone"})
	must(err)
	must(fill(t.Context(), db, gone.ID, 3))
	_, err = db.Erase(t.Context(), store.Erasure{Messages: []store.MessageID{17}, Conversations: []store.ConversationID{gone.ID}, Cause: "forget"})
	must(err)
	must(db.Scrub(t.Context()))
	for _, space := range []string{"spend", "token", store.CursorSpace} {
		_, err := db.Put(t.Context(), space, "key", []byte("worth "+space), 0, time.Time{})
		must(err)
	}
	sql(t, path, "INSERT INTO vectors VALUES ('model', x'01', 1, x'0203'); INSERT INTO vector_blocks VALUES ('model', 0, 9, 1, x'05')")
	must(db.Reindex(t.Context()))
	must(db.Close())
	return path
}

// rowsOf are all rows of a database but those of its search index, in order.
func rowsOf(t *testing.T, path string) (all []string) {
	t.Helper()
	db := open(t, path, sqlite.Options{ReadOnly: true})
	for item, err := range move.Database(t.Context(), db.SQL()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(item.Table, item.Values))
	}
	return all
}

// A database that is made of the rows of a damaged one, or of its pages, has everything
// that the other had.
func TestRebuildKeepsEverything(t *testing.T) {
	path := everything(t)
	want := rowsOf(t, path)
	for name, damage := range map[string]func(*testing.T, string){
		"a view":          func(t *testing.T, path string) { sql(t, path, "DELETE FROM view WHERE conversation = 1") },
		"a branch's item": func(t *testing.T, path string) { sql(t, path, "UPDATE branch_items SET pos = pos + 100") },
		"edges":           func(t *testing.T, path string) { sql(t, path, "DELETE FROM edges WHERE message = 2") },
		"numbers": func(t *testing.T, path string) {
			sql(t, path, "UPDATE summaries SET depth = 9; UPDATE conversations SET tokens = 1")
		},
		"an index": func(t *testing.T, path string) { sql(t, path, "DROP INDEX messages_seq") },
		"a foreign trigger": func(t *testing.T, path string) {
			sql(t, path, "CREATE TRIGGER x AFTER INSERT ON messages BEGIN SELECT 1; END")
		},
		"the header": func(t *testing.T, path string) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			copy(b, "garbage")
			write(t, path, b)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "lcm.db")
			write(t, file, b)
			damage(t, file)
			kept := file + ".kept"
			fixed, err := move.Fix(t.Context(), file, kept, func(string) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			if len(fixed.Proof.Faults) > 0 || len(fixed.Damage) == 0 && name != "a foreign trigger" {
				t.Errorf("faults %v, damage %v", fixed.Proof.Faults, fixed.Damage)
			}
			if diff := cmp.Diff(want, rowsOf(t, file)); diff != "" {
				t.Error(diff)
			}
			if _, err := os.Stat(kept); err != nil {
				t.Error(err)
			}
		})
	}
}
