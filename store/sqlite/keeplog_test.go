package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lossless-context/lcm/store"
	"github.com/lossless-context/lcm/store/sqlite"
)

// TestKeepLog: what a program leaves in the log is there for the next one, and
// moves into the file when that closes.
func TestKeepLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lcm.db")
	first, err := sqlite.Open(t.Context(), path, sqlite.Options{Relaxed: true, KeepLog: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Open(t.Context(), store.NewConversation{Key: "k"}); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
		t.Errorf("the log is not there: %v", err)
	}
	next, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := next.Conversations(t.Context(), store.ConversationQuery{Key: "k"})
	if err != nil || len(found) != 1 {
		t.Errorf("%v, %v", found, err)
	}
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + "-wal"); !os.IsNotExist(err) {
		t.Errorf("the log is still there: %v", err)
	}
}
