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

	"github.com/lossless-context/lcm/internal/record/move"
	"github.com/lossless-context/lcm/internal/record/sqlite"
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
	writer := open(t, path, sqlite.Options{})
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
	made, err := move.Copy(t.Context(), path, copyPath, nil)
	stop()
	if err == nil {
		err = made.Publish(copyPath)
	}
	if err := errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
	made.Remove()
	if len(made.Damage) > 0 || made.Proof.Messages < 18 {
		t.Errorf("the backup has %d messages and damage %v", made.Proof.Messages, made.Damage)
	}
	if info, err := os.Stat(copyPath); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup has mode %v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "copies", "*")); len(left) != 1 {
		t.Errorf("the backup left %v behind", left)
	}
	restored := filepath.Join(dir, "restored.db")
	got, err := move.Copy(t.Context(), copyPath, restored, nil)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := got.Replace(t.Context(), restored, time.Now())
	if err != nil || got.Proof.Digest != made.Proof.Digest || kept != "" {
		t.Errorf("restored %+v, %v, kept %q, want the digest %x and nothing kept", got, err, kept, made.Proof.Digest)
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
	open(t, path, sqlite.Options{})
	taken := filepath.Join(dir, "taken")
	if err := os.WriteFile(taken, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	made, err := move.Copy(t.Context(), path, taken, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := made.Publish(taken); !errors.Is(err, fs.ErrExist) {
		t.Errorf("backing up to a file that exists: %v", err)
	}
	made.Remove()
	if b, _ := os.ReadFile(taken); string(b) != "mine" {
		t.Errorf("it holds %q now", b)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := move.Copy(ctx, path, filepath.Join(dir, "never"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a backup that was given up: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 4 { // the database, its log and lock, taken
		t.Errorf("there is %v now", left)
	}
}

// restore is what `lcm db restore --force` does.
func restore(t *testing.T, from, to string) (kept string, damage []store.Fault, err error) {
	t.Helper()
	made, err := move.Copy(t.Context(), from, to, nil)
	if err != nil {
		return "", nil, err
	}
	defer made.Remove()
	kept, err = made.Replace(t.Context(), to, time.Date(2026, 2, 19, 10, 0, 0, 0, time.UTC))
	return kept, made.Damage, err
}

func TestReplace(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, copied, target string)
		want    string // in the error; empty: it is installed
		kept    bool
		damaged bool
	}{
		{"nothing is there", func(t *testing.T, _, target string) { remove(t, target) }, "", false, false},
		{"something is there", func(*testing.T, string, string) {}, "", true, false},
		{"garbage is there", func(t *testing.T, _, target string) { write(t, target, []byte(strings.Repeat("x", 9000))) }, "", true, false},
		{"someone has it open", func(t *testing.T, _, target string) { open(t, target, sqlite.Options{}) }, "another process has", false, false},
		{"the backup is garbage", func(t *testing.T, copied, _ string) { write(t, copied, []byte("garbage")) }, "no message can be read", false, false},
		{"the backup is damaged", func(t *testing.T, copied, _ string) {
			sql(t, copied, "UPDATE messages SET record = 'x' WHERE id = 5")
		}, "", true, true},
		{"the backup is newer", func(t *testing.T, copied, _ string) { sql(t, copied, "PRAGMA user_version=999") }, "schema version 999", false, false},
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
			kept, damage, err := restore(t, copied, target)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("error %v, want %q in it", err, c.want)
				}
				if after, _ := os.ReadFile(target); !bytes.Equal(before, after) {
					t.Error("the database was touched")
				}
				return
			}
			if err != nil || (len(damage) > 0) != c.damaged {
				t.Fatalf("damage %v, %v", damage, err)
			}
			if c.kept {
				if old, _ := os.ReadFile(kept); !strings.HasSuffix(kept, ".replaced-20260219T100000Z") || !bytes.Equal(old[4096:], before[4096:]) {
					t.Errorf("what was there is kept as %q with %d bytes", kept, len(old))
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
