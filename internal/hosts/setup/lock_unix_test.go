//go:build unix

package setup_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/lossless-context/lcm/internal/hosts/setup"
)

// TestLockIsTheOwners: nobody else may read or hold the lock, whatever the umask is.
func TestLockIsTheOwners(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	dir := filepath.Join(t.TempDir(), "setup")
	if err := setup.Exclusively(t.Context(), dir, func(*setup.Receipts) error { return nil }); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Stat(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	if mode := lock.Mode().Perm(); mode != 0o600 {
		t.Errorf("the mode of the lock is %o", mode)
	}
}
