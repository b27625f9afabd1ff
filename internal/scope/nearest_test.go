package scope_test

import (
	"crypto/sha256"
	"slices"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/scope"
	"github.com/lossless-context/lcm/internal/sqlite"
	"github.com/lossless-context/lcm/internal/store"
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
	narrow := scope.Narrow(db, scope.Scope{Name: "test", Covers: scope.Projects(store.Project{Root: "/own"})}).(store.VectorSearcher)
	for _, c := range []struct {
		name string
		s    store.VectorSearcher
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
}
