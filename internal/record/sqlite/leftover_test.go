package sqlite_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/sqlite/backup"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
)

// Only files of lcm's own pattern go, with their logs, and only when none of
// their files was written to since.
func TestRemoveLeftOvers(t *testing.T) {
	dir := t.TempDir()
	limit := time.Date(2026, 2, 18, 12, 0, 0, 0, time.UTC)
	old, young := limit.Add(-time.Minute), limit.Add(time.Minute)
	goes := []string{".lcm-1.part", ".lcm-1.part-shm", ".lcm-1.part-wal", ".lcm-2.part-wal", ".lcm-4294967295.part"}
	stays := map[string]time.Time{
		".lcm-3.part":      young,
		".lcm-4.part":      old, // its log is being written
		".lcm-4.part-wal":  young,
		".lcm-x.part":      old,
		".lcm-5.part.bak":  old,
		"lcm-6.part":       old,
		".lcm-7.part-wal2": old,
		"lcm.db":           old,
	}
	for _, name := range goes {
		writeAt(t, filepath.Join(dir, name), old)
	}
	for name, at := range stays {
		writeAt(t, filepath.Join(dir, name), at)
	}
	if err := os.Mkdir(filepath.Join(dir, ".lcm-8.part"), 0o700); err != nil {
		t.Fatal(err)
	}
	removed, err := backup.RemoveLeftOvers(dir, limit)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(dir, ".lcm-1.part"), filepath.Join(dir, ".lcm-2.part"), filepath.Join(dir, ".lcm-4294967295.part")}
	if !slices.Equal(removed, want) {
		t.Errorf("removed %q, want %q", removed, want)
	}
	for _, name := range goes {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
	for name := range stays {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			t.Errorf("%s is gone", name)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, ".lcm-8.part")); err != nil {
		t.Error("a directory is gone")
	}
	if left, err := backup.LeftOvers(filepath.Join(dir, "none")); err != nil || left != nil {
		t.Errorf("a directory that is not there: %v, %v", left, err)
	}
}

func writeAt(t *testing.T, path string, at time.Time) {
	t.Helper()
	if err := os.WriteFile(path, []byte("a part"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

// LeftOvers looks for the name that an unfinished copy has.
func TestPartPatternIsFound(t *testing.T) {
	dir := t.TempDir()
	f, err := os.CreateTemp(dir, dbfile.PartPattern)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if all, err := backup.LeftOvers(dir); err != nil || len(all) != 1 || all[0].Path != f.Name() {
		t.Errorf("found %v, %v", all, err)
	}
}
