package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/move"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/sqlite/check"
	"github.com/lossless-context/lcm/internal/record/store"
)

// talk makes a conversation of five messages.
func talk(t *testing.T, db *sqlite.DB, key string) store.Conversation {
	t.Helper()
	c, err := db.Open(t.Context(), store.NewConversation{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		m := plainMessage(n)
		m.Native = key + "/" + m.Native
		err := db.Update(t.Context(), c.ID, func(w store.Writer) error {
			_, err := w.Append(t.Context(), m)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// forget erases a conversation and cleans up after it.
func forget(t *testing.T, db *sqlite.DB, id store.ConversationID) int64 {
	t.Helper()
	done, err := db.Erase(t.Context(), store.Erasure{Conversations: []store.ConversationID{id}, Cause: "forget"})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	return done.Tombstone
}

// The messages of a lifted tombstone are stored again as they were, and the cursor
// that says its transcript was read is gone with the tombstone.
func TestLiftedComesBack(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "lcm.db"), sqlite.Options{})
	c := talk(t, db, "claude:a")
	before, err := check.Prove(t.Context(), db.File())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"claude:a", "claude:b"} {
		if _, err := db.Put(t.Context(), "hosts", key, []byte(`{"offset":7}`), 0, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Lift(t.Context(), forget(t, db, c.ID)); err != nil {
		t.Fatal(err)
	}
	if left, err := db.List(t.Context(), "hosts"); err != nil || len(left) != 0 {
		t.Errorf("the cursors are %v, %v, want none: any session may have what was refused", left, err)
	}
	talk(t, db, "claude:a")
	after, err := check.Prove(t.Context(), db.File())
	if err != nil || len(after.Faults) > 0 || after.Digest != before.Digest {
		t.Errorf("it came back as %+v, %v, and was %+v", after, err, before)
	}
}

// A conversation that was opened for messages which were refused counts
// neither in the digest of a backup nor in that of an archive: it could not be
// imported.
func TestRefusedConversationsDoNotCount(t *testing.T) {
	dir := t.TempDir()
	db := open(t, filepath.Join(dir, "lcm.db"), sqlite.Options{})
	talk(t, db, "stays")
	forget(t, db, talk(t, db, "goes").ID)
	if _, err := db.Open(t.Context(), store.NewConversation{Key: "goes"}); err != nil {
		t.Fatal(err)
	}
	want, err := check.Prove(t.Context(), db.File())
	if err != nil || want.Conversations != 1 {
		t.Fatalf("%+v, %v", want, err)
	}
	if got, err := move.Copy(t.Context(), db.Path(), filepath.Join(dir, "backup.db"), nil); err != nil || got.Proof.Digest != want.Digest {
		t.Errorf("the backup has %+v, %v, want %x", got, err, want.Digest)
	} else {
		got.Remove()
	}
	d := dump(t, db)
	s := d.load(t, filepath.Join(dir, "other.db"))
	if d.has(t, s); s.Proof.Digest != want.Digest {
		t.Errorf("the archive holds %x, want %x", s.Proof.Digest, want.Digest)
	}
}

// A fork that has said nothing yet is not one that was refused, though a
// message that it inherited was forgotten.
func TestForkOfForgottenStays(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "lcm.db"), sqlite.Options{})
	c := talk(t, db, "origin")
	var ids []store.MessageID
	for m, err := range db.Messages(t.Context(), store.MessageQuery{Conversation: c.ID}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, m.ID)
	}
	if _, err := db.Fork(t.Context(), c.ID, ids[3], store.NewConversation{Key: "fork"}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Erase(t.Context(), store.Erasure{Messages: ids[1:2], Cause: "forget"}); err != nil {
		t.Fatal(err)
	}
	list, err := db.Conversations(t.Context(), store.ConversationQuery{})
	if err != nil || len(list) != 2 {
		t.Errorf("there are %d conversations, %v, want the origin and its fork", len(list), err)
	}
}

// A fork cannot have the key of a session that goes on, and says so.
func TestForkWithKeyInUse(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "lcm.db"), sqlite.Options{})
	c := talk(t, db, "k")
	var last store.MessageID
	for m, err := range db.Messages(t.Context(), store.MessageQuery{Conversation: c.ID}) {
		if err != nil {
			t.Fatal(err)
		}
		last = m.ID
	}
	_, err := db.Fork(t.Context(), c.ID, last, store.NewConversation{Key: "k"})
	if want := `the session "k" has a conversation already`; err == nil || err.Error()[:len(want)] != want {
		t.Errorf("error %v, want %q and a hint", err, want)
	}
	if list, err := db.Conversations(t.Context(), store.ConversationQuery{}); err != nil || len(list) != 1 {
		t.Errorf("there are %d conversations, %v", len(list), err)
	}
}

// What was forgotten stays forgotten where an archive goes, of everything or
// of chosen conversations, into an empty database or into another.
func TestArchivesBringTheirTombstones(t *testing.T) {
	dir := t.TempDir()
	db := open(t, filepath.Join(dir, "lcm.db"), sqlite.Options{})
	c := talk(t, db, "partly")
	forget(t, db, talk(t, db, "wholly").ID)
	var ids []store.MessageID
	for m, err := range db.Messages(t.Context(), store.MessageQuery{Conversation: c.ID}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, m.ID)
	}
	if _, err := db.Erase(t.Context(), store.Erasure{Messages: ids[1:2], Cause: "forget"}); err != nil {
		t.Fatal(err)
	}
	if err := db.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, d := range map[string]*dumped{"all": dump(t, db), "chosen": dump(t, db, c.ID)} {
		for _, full := range []bool{false, true} {
			path := filepath.Join(dir, fmt.Sprint(name, full, ".db"))
			s := d.load(t, path)
			if !full {
				if err := s.Install(t.Context(), path); err != nil {
					t.Fatal(err)
				}
			}
			to := open(t, path, sqlite.Options{})
			if full {
				forget(t, to, talk(t, to, "of its own").ID)
				merged, err := move.Merge(t.Context(), to.File(), s)
				if want := map[string]int{"all": 2, "chosen": 1}[name]; err != nil || merged.Added != 1 || merged.Erasures != want {
					t.Errorf("%s: merged %+v, %v, want %d erasures", name, merged, err, want)
				}
				if again, err := move.Merge(t.Context(), to.File(), s); err != nil || again.Erasures != 0 {
					t.Errorf("%s: merged again %+v, %v", name, again, err)
				}
			}
			s.Remove()
			talk(t, to, "partly") // as importing its transcript would
			if name == "all" {
				talk(t, to, "wholly")
			}
			p, err := check.Prove(t.Context(), to.File())
			if err != nil || len(p.Faults) > 0 || p.Conversations != 1 || p.Messages != 5 {
				t.Errorf("%s into %v: %+v, %v, want what was there before", name, full, p, err)
			}
			forget(t, to, talk(t, to, "something else").ID) // which needs a salt
		}
	}
}
