package scope_test

import (
	"crypto/sha256"
	"slices"
	"testing"

	"github.com/lossless-context/lcm/internal/record/scope"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// conversation opens a conversation of a project with some messages of the user.
func conversation(t *testing.T, db store.Store, key, root string, texts ...string) (store.ConversationID, []store.MessageID) {
	t.Helper()
	c, err := db.Open(t.Context(), store.NewConversation{Key: key, Project: store.Project{Root: root}})
	if err != nil {
		t.Fatal(err)
	}
	return c.ID, say(t, db, c.ID, llms.RoleUser, texts...)
}

func say(t *testing.T, db store.Store, in store.ConversationID, role llms.Role, texts ...string) (ids []store.MessageID) {
	t.Helper()
	err := db.Update(t.Context(), in, func(w store.Writer) error {
		for _, text := range texts {
			done, err := w.Append(t.Context(), store.NewMessage{Role: role, Format: llms.FormatText, Record: []byte(text), Size: int64(len(text)), SHA256: sha256.Sum256([]byte(text)), Tokens: len(text)})
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
	return ids
}

func narrowed(t *testing.T) (whole, own store.Store) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db, scope.Narrow(db, scope.Scope{Name: "test", Covers: scope.Projects(store.Project{Root: "/own"}), Append: true})
}

// A limit counts the conversations of the scope alone, and is one.
func TestConversationsLimit(t *testing.T) {
	db, own := narrowed(t)
	var mine []store.ConversationID
	for _, c := range []struct{ key, root string }{{"a", "/own"}, {"b", "/foreign"}, {"c", "/own"}, {"d", "/own"}, {"e", "/foreign"}} {
		if id, _ := conversation(t, db, c.key, c.root, c.key); c.root == "/own" {
			mine = append(mine, id)
		}
	}
	for limit, want := range []int{3, 1, 2, 3, 3} { // 0: all
		found, err := own.Conversations(t.Context(), store.ConversationQuery{Limit: limit})
		if err != nil || len(found) != want {
			t.Errorf("limit %d: %d conversations, want %d: %v", limit, len(found), want, err)
		}
		for _, c := range found {
			if !slices.Contains(mine, c.ID) {
				t.Errorf("limit %d: conversation %d is outside", limit, c.ID)
			}
		}
	}
}

// The view of a fork from another project has the fork's own messages, and neither those that
// it inherited nor their tokens.
func TestViewOfForeignFork(t *testing.T) {
	db, own := narrowed(t)
	foreign, said := conversation(t, db, "theirs", "/foreign", "a secret", "another secret")
	fork, err := db.Fork(t.Context(), foreign, said[1], store.NewConversation{Key: "ours", Project: store.Project{Root: "/own"}})
	if err != nil {
		t.Fatal(err)
	}
	view := func(s store.Store) (v store.View, ids []store.MessageID) {
		t.Helper()
		v, err := s.View(t.Context(), fork.ID, store.Window{})
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range v.Items {
			ids = append(ids, item.Message)
		}
		return v, ids
	}
	ours := say(t, db, fork.ID, llms.RoleAssistant, "ours")
	if v, ids := view(own); !slices.Equal(ids, ours) || v.Count != 1 || v.LastUser != (store.View{}).LastUser {
		t.Errorf("the view before a prompt of its own is %+v", v)
	}
	ours = append(ours, say(t, db, fork.ID, llms.RoleUser, "ours too")...)
	if _, ids := view(db); !slices.Equal(ids, slices.Concat(said, ours)) {
		t.Fatalf("the whole view is %v: the fork inherited nothing", ids)
	}
	if v, ids := view(own); !slices.Equal(ids, ours) || v.Count != 2 || v.Tokens != len("oursours too") || v.LastUser != v.Items[1].Pos {
		t.Errorf("the view in the scope is %+v, want messages %v", v, ours)
	}
}
