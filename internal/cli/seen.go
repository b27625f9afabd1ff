package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lossless-context/lcm/internal/record/postgres"
)

// seenPath names the empty file that says that there was a database.
func seenPath(database string) string {
	return filepath.Join(filepath.Dir(database), "."+filepath.Base(database)+".seen")
}

// markSeen remembers a database file for [wasHere].
func markSeen(database string) {
	if postgres.IsURL(database) {
		return
	}
	if f, err := os.OpenFile(seenPath(database), os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		_ = f.Close() // nothing was written; the next process tries again
	}
}

// wasHere reports whether a database file that does not exist is known to have existed.
func wasHere(database string) bool {
	if _, err := os.Lstat(database); !errors.Is(err, fs.ErrNotExist) || postgres.IsURL(database) {
		return false
	}
	_, err := os.Stat(seenPath(database))
	return err == nil
}
