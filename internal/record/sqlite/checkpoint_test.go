package sqlite_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
)

// TestLastOneOutLeavesOneFile: however many close at the same moment, the file
// alone holds everything afterwards.
func TestLastOneOutLeavesOneFile(t *testing.T) {
	for range 20 {
		path := filepath.Join(t.TempDir(), "lcm.db")
		var all []*sqlite.DB
		for range 3 {
			db, err := sqlite.Open(t.Context(), path, sqlite.Options{Relaxed: true})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, db)
		}
		if _, err := all[0].Open(t.Context(), store.NewConversation{Key: "k"}); err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		for _, db := range all {
			wait.Go(func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		// SQLite may leave an empty log where all of them close at once.
		if info, err := os.Stat(path + "-wal"); !errors.Is(err, fs.ErrNotExist) && info.Size() > 0 {
			t.Fatalf("the log still holds %d bytes", info.Size())
		}
		image, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(t.TempDir(), "copy.db")
		if err := os.WriteFile(copied, image, 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := open(t, copied, sqlite.Options{}).Conversations(t.Context(), store.ConversationQuery{Key: "k"})
		if err != nil || len(found) != 1 {
			t.Fatalf("the copy holds %v, %v", found, err)
		}
	}
}

// TestReplacedFile: an open store whose file was removed or replaced refuses to
// go on, and leaves the file that is there now alone.
func TestReplacedFile(t *testing.T) {
	for _, replaced := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "lcm.db")
		db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Open(t.Context(), store.NewConversation{Key: "old"}); err != nil {
			t.Fatal(err)
		}
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if err := os.Remove(path + suffix); err != nil {
				t.Fatal(err)
			}
		}
		want := store.ErrRemoved
		if replaced {
			want = store.ErrReplaced
			next := open(t, path, sqlite.Options{})
			if _, err := next.Open(t.Context(), store.NewConversation{Key: "new"}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := db.Open(t.Context(), store.NewConversation{Key: "more"}); !errors.Is(err, want) {
			t.Errorf("a write: %v, want %v", err, want)
		}
		if _, err := db.Conversations(t.Context(), store.ConversationQuery{}); !errors.Is(err, want) {
			t.Errorf("a read: %v, want %v", err, want)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		if !replaced {
			if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a file is there again: %v", err)
			}
			continue
		}
		now, err := open(t, path, sqlite.Options{}).Conversations(t.Context(), store.ConversationQuery{})
		if err != nil || len(now) != 1 || now[0].Key != "new" {
			t.Errorf("the new file holds %v, %v", now, err)
		}
	}
}

// TestRemovedInATransaction: a write that is under way when the file goes is
// not acknowledged.
func TestRemovedInATransaction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lcm.db")
	db := open(t, path, sqlite.Options{})
	c, err := db.Open(t.Context(), store.NewConversation{Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(t.Context(), c.ID, func(store.Writer) error { return os.Rename(path, path+".away") })
	if !errors.Is(err, store.ErrRemoved) {
		t.Errorf("%v", err)
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Open(t.Context(), store.NewConversation{Key: "more"}); err != nil {
		t.Errorf("after the file was put back: %v", err)
	}
}
