package scope_test

import (
	"crypto/sha256"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/scope"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// A search by vectors returns messages of the scope alone, also for a caller who
// names a conversation outside of it.
func TestNearest(t *testing.T) {
	db, err := sqlite.Open(t.Context(), sqlite.Memory, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	say := func(key, root string) (store.ConversationID, store.MessageID) {
		t.Helper()
		c, err := db.Open(t.Context(), store.NewConversation{Key: key, Project: store.Project{Root: root}})
		if err != nil {
			t.Fatal(err)
		}
		var id store.MessageID
		err = db.Update(t.Context(), c.ID, func(w store.Writer) error {
			done, err := w.Append(t.Context(), store.NewMessage{Role: llms.RoleUser, Format: llms.FormatText, Record: []byte(key), Size: int64(len(key)), SHA256: sha256.Sum256([]byte(key)), Tokens: 1})
			if err == nil {
				id = done[0].ID
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return c.ID, id
	}
	own, ownMessage := say("own", "/own")
	foreign, foreignMessage := say("foreign", "/foreign")
	pending, err := db.PendingBlocks(t.Context(), "m")
	if err != nil || len(pending) != 1 {
		t.Fatalf("pending %v: %v", pending, err)
	}
	vectors := []store.MessageVector{
		{Message: ownMessage, Text: sha256.Sum256([]byte("own")), Vector: []byte{1, 100}},
		{Message: foreignMessage, Text: sha256.Sum256([]byte("foreign")), Vector: []byte{100, 1}},
	}
	if err := db.PutBlock(t.Context(), "m", pending[0], vectors); err != nil {
		t.Fatal(err)
	}
	narrow := scope.Narrow(db, scope.Scope{Name: "test", Covers: scope.Projects(store.Project{Root: "/own"})})
	for _, c := range []struct {
		name string
		s    store.Store
		in   []store.ConversationID
		want []store.MessageID
	}{
		{"the whole store", db, nil, []store.MessageID{foreignMessage, ownMessage}},
		{"everything in the scope", narrow, nil, []store.MessageID{ownMessage}},
		{"the own conversation", narrow, []store.ConversationID{own}, []store.MessageID{ownMessage}},
		{"both", narrow, []store.ConversationID{own, foreign}, []store.MessageID{ownMessage}},
		{"the foreign conversation", narrow, []store.ConversationID{foreign}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, err := c.s.Nearest(t.Context(), store.NearestQuery{Model: "m", Vector: []byte{100, 1}, Conversations: c.in, Limit: 5, Until: time.Now().Add(time.Minute)})
			if err != nil || !slices.Equal(found.Messages, c.want) {
				t.Errorf("found %v, want %v: %v", found.Messages, c.want, err)
			}
		})
	}
	if has, err := narrow.HasVectors(t.Context(), "m"); err != nil || !has {
		t.Errorf("the scope has vectors: %t, %v", has, err)
	}
	if got, err := narrow.VectorStatus(t.Context(), "m"); !errors.Is(err, scope.ErrDenied) || got != (store.VectorStatus{}) {
		t.Errorf("the scope counts the vectors of all projects: %+v, %v", got, err)
	}
	if got, err := narrow.PendingBlocks(t.Context(), "other"); !errors.Is(err, scope.ErrDenied) || len(got) > 0 {
		t.Errorf("the scope shows blocks: %+v, %v", got, err)
	}
	if got, err := narrow.BlockMessages(t.Context(), pending[0]); !errors.Is(err, scope.ErrDenied) || len(got) > 0 {
		t.Errorf("the scope shows the messages of a block: %v, %v", got, err)
	}
	if err := narrow.PutBlock(t.Context(), "m", pending[0], nil); !errors.Is(err, scope.ErrDenied) {
		t.Errorf("the scope replaces a block: %v", err)
	}
	if err := narrow.PutVectors(t.Context(), "m", vectors); err != nil {
		t.Error(err)
	}
	if stored, err := db.Vectors(t.Context(), "m", []store.TextHash{vectors[0].Text, vectors[1].Text}); err != nil || len(stored) != 1 || stored[vectors[0].Text] == nil {
		t.Errorf("the scope has stored %v, %v: want the vector of its own message", stored, err)
	}
	if err := narrow.Reindex(t.Context()); !errors.Is(err, scope.ErrDenied) {
		t.Errorf("a scope without writing builds the index: %v", err)
	}
}
