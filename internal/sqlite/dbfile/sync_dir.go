package dbfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/ncruces/go-sqlite3/vfs"
)

// dirSyncer is a file system layer with a way of its own to make the names in
// a directory durable.
type dirSyncer interface{ SyncDir(dir string) error }

// syncNames makes the names of the database, of its write-ahead log and of the
// journals that went before them durable. Neither SQLite (short of
// synchronous=EXTRA) nor the driver, which syncs the file where it means its
// directory, sees to that: after a power cut a log with acknowledged messages
// could have no name, or a journal that was deleted could be back and undo the
// making of the database. The log keeps its name for as long as a connection is
// open, so once, after it was opened for writing, is enough.
func syncNames(path string, o Options) error {
	dir := filepath.Dir(path)
	if o.VFS != "" {
		if s, ok := vfs.Find(o.VFS).(dirSyncer); ok {
			return s.SyncDir(dir)
		}
		return nil
	}
	if runtime.GOOS == "windows" {
		return nil // which knows no such thing: NTFS journals names
	}
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil // one may be allowed to use a directory and not to list it
	}
	if err != nil {
		return err
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("sync of the directory: %w", err)
	}
	return nil
}
