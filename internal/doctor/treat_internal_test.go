package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A full disk leaves no part of a backup under the name of one.
func TestCopyFileLeavesNoPart(t *testing.T) {
	dir := t.TempDir()
	to := filepath.Join(dir, "backup.db")
	if err := copyFile(dir, to); err == nil { // opens, but cannot be read
		t.Fatal("a directory was copied")
	}
	if _, err := os.Stat(to); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a part was left: %v", err)
	}
}
