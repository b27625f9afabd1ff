package sqlite_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/move"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/sqlite/check"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
)

// linked makes a link to a file of another directory, through a second link
// and a directory that is one itself.
func linked(t *testing.T) (link, file string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("symlinks need a right of their own on Windows")
	}
	dir := t.TempDir()
	for _, name := range []string{"real", "links"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"alias":           "links",
		"links/lcm.db":    "second.db",
		"links/second.db": "../real/lcm.db",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "alias", "lcm.db"), filepath.Join(dir, "real", "lcm.db")
}

func TestResolve(t *testing.T) {
	link, file := linked(t)
	for _, when := range []string{"nothing is there", "the file is there"} {
		got, err := filepath.EvalSymlinks(filepath.Dir(dbfile.Resolve(link)))
		want, _ := filepath.EvalSymlinks(filepath.Dir(file))
		if err != nil || got != want || filepath.Base(dbfile.Resolve(link)) != "lcm.db" {
			t.Errorf("%s: %s leads to %s, not to %s (%v)", when, link, dbfile.Resolve(link), file, err)
		}
		write(t, file, nil)
	}
	if got := dbfile.Resolve("some/file.db"); got != "some/file.db" {
		t.Errorf("a path that is no link became %s", got)
	}
	loop := filepath.Join(t.TempDir(), "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	if got := dbfile.Resolve(loop); got != loop {
		t.Errorf("a loop became %s", got)
	}
}

// The log is beside the file that a link leads to.
func TestLogWithoutItsFileBehindALink(t *testing.T) {
	link, file := linked(t)
	log := make([]byte, 5000)
	write(t, file+"-wal", log)
	if _, err := sqlite.Open(t.Context(), link, sqlite.Options{}); err == nil || !strings.Contains(err.Error(), "lcm doctor") {
		t.Errorf("opening it: %v", err)
	}
	if after, _ := os.ReadFile(file + "-wal"); !bytes.Equal(log, after) {
		t.Error("the log was touched")
	}
	faults, err := check.File(t.Context(), link)
	if err != nil || len(faults) != 1 || faults[0].Code != "wal-orphan" {
		t.Errorf("found %v, %v", faults, err)
	}
}

func TestFilesBehindALinkArePrivate(t *testing.T) {
	link, file := linked(t)
	db := open(t, link, sqlite.Options{})
	if _, err := db.Open(t.Context(), store.NewConversation{Key: "k"}); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if info, err := os.Stat(file + suffix); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("lcm.db%s: %v, %v", suffix, info, err)
		}
	}
}

// A backup is restored with the log that is beside it, and to where the link
// leads: the link stays one.
func TestInstallThroughLinks(t *testing.T) {
	from, source := linked(t)
	if err := build(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	db := open(t, source, sqlite.Options{})
	if _, err := db.Open(t.Context(), store.NewConversation{Key: "only in the log"}); err != nil {
		t.Fatal(err)
	}
	to, file := linked(t)
	if err := build(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	done, err := move.Copy(t.Context(), from, to, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := done.Replace(t.Context(), to, time.Now()); err != nil {
		t.Fatal(err)
	}
	if done.Proof.Conversations != 4 {
		t.Errorf("%d conversations were restored, not 4", done.Proof.Conversations)
	}
	if info, err := os.Lstat(to); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if got, err := check.ProveFile(t.Context(), file); err != nil || got.Digest != done.Proof.Digest {
		t.Errorf("behind the link is %+v, %v", got, err)
	}
}
