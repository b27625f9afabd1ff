package move

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func files(t *testing.T, want map[string]string) {
	t.Helper()
	for name, text := range want {
		got, err := os.ReadFile(name)
		if text == "" && errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil || string(got) != text {
			t.Errorf("%s holds %q (%v), want %q", filepath.Base(name), got, err, text)
		}
	}
}

// At every moment of a swap a database has the name, and the old one is whole under one of
// its names, with its log. The log never stands beside the new one.
func TestPlaceLosesNothing(t *testing.T) {
	for _, log := range []string{"", "frames"} {
		dir := t.TempDir()
		path, kept, part := filepath.Join(dir, "lcm.db"), filepath.Join(dir, "backups", "old.db"), filepath.Join(dir, ".lcm-1.part")
		for name, text := range map[string]string{path: "old pages", path + "-wal": log, part: "new pages"} {
			if text == "" {
				continue
			}
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := keep(t.Context(), path, kept); err != nil {
			t.Fatal(err)
		}
		files(t, map[string]string{path: "old pages", path + "-wal": log, kept: "old pages", kept + "-wal": log, part: "new pages"})
		if err := os.RemoveAll(filepath.Dir(kept)); err != nil {
			t.Fatal(err)
		}
		if err := (&Built{path: part}).place(t.Context(), path, kept); err != nil {
			t.Fatal(err)
		}
		files(t, map[string]string{path: "new pages", path + "-wal": "", kept: "old pages", kept + "-wal": log, part: ""})
		if log == "" {
			continue
		}
		// What is written to the new one does not reach the copy of the old one.
		if err := os.WriteFile(path, []byte("more"), 0o600); err != nil {
			t.Fatal(err)
		}
		files(t, map[string]string{kept: "old pages"})
	}
}

// Where the old database cannot be kept, nothing is changed.
func TestPlaceKeepsFirst(t *testing.T) {
	dir := t.TempDir()
	path, part := filepath.Join(dir, "lcm.db"), filepath.Join(dir, ".lcm-1.part")
	for _, name := range []string{path, part, filepath.Join(dir, "taken")} {
		if err := os.WriteFile(name, []byte(filepath.Base(name)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := (&Built{path: part}).place(t.Context(), path, filepath.Join(dir, "taken")); err == nil {
		t.Error("another file was taken for the old database")
	}
	files(t, map[string]string{path: "lcm.db", part: ".lcm-1.part", filepath.Join(dir, "taken"): "taken"})
}

// A full disk leaves no part of a backup under the name of one.
func TestCopyFilesLeavesNoPart(t *testing.T) {
	dir := t.TempDir()
	to := filepath.Join(dir, "backup.db")
	if err := copyFiles(t.Context(), dir, to); err == nil { // opens, but cannot be read
		t.Fatal("a directory was copied")
	}
	if exists(to) {
		t.Error("a part was left")
	}
}
