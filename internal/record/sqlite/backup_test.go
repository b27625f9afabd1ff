package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/sqlite/backup"
	"github.com/lossless-context/lcm/internal/record/store"
)

// A backup that is made while others write is the database at one moment: it
// is proved, private, and restoring it gives the same digest.
func TestBackupWhileWriting(t *testing.T) {
	dir := t.TempDir()
	path, copyPath := filepath.Join(dir, "lcm.db"), filepath.Join(dir, "copies", "one.db")
	if err := build(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	db, writer := open(t, path, sqlite.Options{}), open(t, path, sqlite.Options{})
	c, err := writer.Open(t.Context(), store.NewConversation{Key: "busy"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	begun := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			if n == 2 {
				close(begun)
			}
			err := appendOne(ctx, writer, c.ID, n)
			if ctx.Err() != nil {
				err = nil
			}
			if err != nil || ctx.Err() != nil {
				done <- err
				return
			}
		}
	}()
	<-begun
	proof, err := backup.Create(t.Context(), db.File(), copyPath, nil)
	stop()
	if err := errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
	if len(proof.Faults) > 0 || proof.Messages < 18 {
		t.Errorf("the backup has %d messages and faults %v", proof.Messages, proof.Faults)
	}
	if info, err := os.Stat(copyPath); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup has mode %v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "copies", "*")); len(left) != 1 {
		t.Errorf("the backup left %v behind", left)
	}
	got, err := backup.Install(t.Context(), copyPath, filepath.Join(dir, "restored.db"), backup.Replacement{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Proof.Digest != proof.Digest || got.Kept != "" {
		t.Errorf("restored %+v, want the digest %x and nothing kept", got, proof.Digest)
	}
}

func appendOne(ctx context.Context, db *sqlite.DB, id store.ConversationID, n int) error {
	return db.Update(ctx, id, func(w store.Writer) error {
		_, err := w.Append(ctx, plainMessage(n))
		return err
	})
}

// A file that exists is never overwritten, and a backup that was given up
// leaves nothing.
func TestBackupKeepsItsHandsOff(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lcm.db")
	if err := build(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	db := open(t, path, sqlite.Options{})
	taken := filepath.Join(dir, "taken")
	if err := os.WriteFile(taken, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Create(t.Context(), db.File(), taken, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("backing up to a file that exists: %v", err)
	}
	if b, _ := os.ReadFile(taken); string(b) != "mine" {
		t.Errorf("it holds %q now", b)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := backup.Create(ctx, db.File(), filepath.Join(dir, "never"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a backup that was given up: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 4 { // the database, its log and lock, taken
		t.Errorf("there is %v now", left)
	}
}

func TestInstall(t *testing.T) {
	when := func() time.Time { return time.Date(2026, 2, 19, 10, 0, 0, 0, time.UTC) }
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, copied, target string)
		options backup.Replacement
		want    string // in the error; empty: it is installed
		kept    bool
	}{
		{"nothing is there", func(t *testing.T, _, target string) { remove(t, target) }, backup.Replacement{}, "", false},
		{"something is there", func(*testing.T, string, string) {}, backup.Replacement{}, "there is a database", false},
		{"something is there, by force", func(*testing.T, string, string) {}, backup.Replacement{Force: true}, "", true},
		{"garbage is there, by force", func(t *testing.T, _, target string) { write(t, target, []byte(strings.Repeat("x", 9000))) }, backup.Replacement{Force: true}, "", true},
		{"someone has it open", func(t *testing.T, _, target string) { open(t, target, sqlite.Options{}) }, backup.Replacement{Force: true}, "another process has", false},
		{"the backup is garbage", func(t *testing.T, copied, _ string) { write(t, copied, []byte("garbage")) }, backup.Replacement{Force: true}, "not a backup", false},
		{"the backup is damaged", func(t *testing.T, copied, _ string) {
			sql(t, copied, "UPDATE messages SET record = 'x' WHERE id = 5")
		}, backup.Replacement{Force: true}, "msg_5", false},
		{"the backup is damaged, and wanted all the same", func(t *testing.T, copied, _ string) {
			sql(t, copied, "UPDATE messages SET record = 'x' WHERE id = 5")
		}, backup.Replacement{Force: true, Damaged: true}, "", true},
		{"the backup is newer", func(t *testing.T, copied, _ string) { sql(t, copied, "PRAGMA user_version=999") }, backup.Replacement{Force: true}, "schema version 999", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			copied, target := filepath.Join(dir, "backup.db"), filepath.Join(dir, "lcm.db")
			for _, path := range []string{copied, target} {
				if err := build(t.Context(), path); err != nil {
					t.Fatal(err)
				}
			}
			sql(t, target, "UPDATE conversations SET title = 'the old one'")
			c.prepare(t, copied, target)
			before, _ := os.ReadFile(target)
			c.options.Clock = when
			got, err := backup.Install(t.Context(), copied, target, c.options)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("error %v, want %q in it", err, c.want)
				}
				if after, _ := os.ReadFile(target); !bytes.Equal(before, after) {
					t.Error("the database was touched")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.kept {
				if kept, _ := os.ReadFile(got.Kept); !strings.HasSuffix(got.Kept, ".replaced-20260219T100000Z") || len(kept) == 0 {
					t.Errorf("what was there is kept as %q with %d bytes", got.Kept, len(kept))
				}
			}
			db := open(t, target, sqlite.Options{})
			list, err := db.Conversations(t.Context(), store.ConversationQuery{})
			if err != nil || len(list) != 3 || list[0].Title != "" {
				t.Errorf("there is %+v now, %v", list, err)
			}
			left, _ := filepath.Glob(filepath.Join(dir, "*-journal"))
			hidden, _ := filepath.Glob(filepath.Join(dir, ".lcm*"))
			if len(left)+len(hidden) > 0 {
				t.Errorf("%v %v was left behind", left, hidden)
			}
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A database that has lost its file is not made anew over its log, which may
// hold all that is left.
func TestLogWithoutItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lcm.db")
	log := make([]byte, 5000)
	write(t, path+"-wal", log)
	_, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err == nil || !strings.Contains(err.Error(), "lcm doctor") {
		t.Errorf("opening it: %v", err)
	}
	if after, _ := os.ReadFile(path + "-wal"); !bytes.Equal(log, after) {
		t.Error("the log was touched")
	}
}
