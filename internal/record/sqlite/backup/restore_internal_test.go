package backup

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A restore that is cut between keeping the old database and putting the new
// one in its place must not leave an agent without a database: it would begin
// an empty one.
func TestSetAsideLeavesTheNameTaken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lcm.db")
	for suffix, text := range map[string]string{"": "pages", "-wal": "frames", "-shm": "locks"} {
		if err := os.WriteFile(path+suffix, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := setAside(path, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{path: "pages", kept: "pages", kept + "-wal": "frames"} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s holds %q (%v), want %q", filepath.Base(name), got, err, want)
		}
	}
	if Exists(path+"-wal") || Exists(path+"-shm") {
		t.Error("a log stayed under the old name, where the new database would read it")
	}

	if err := putBack(kept, path); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{path: "pages", path + "-wal": "frames"} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("put back, %s holds %q (%v), want %q", filepath.Base(name), got, err, want)
		}
	}
	if Exists(kept) || Exists(kept+"-wal") {
		t.Error("the other name is still there after the database was put back")
	}
}

// A full disk leaves no part of a backup under the name of one.
func TestCopyFilesLeavesNoPart(t *testing.T) {
	dir := t.TempDir()
	to := filepath.Join(dir, "backup.db")
	if err := CopyFiles(t.Context(), dir, to); err == nil { // opens, but cannot be read
		t.Fatal("a directory was copied")
	}
	if Exists(to) {
		t.Error("a part was left")
	}
}
