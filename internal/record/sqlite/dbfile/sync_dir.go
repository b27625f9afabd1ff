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

// dirSyncer is a file system layer that can sync a directory.
type dirSyncer interface{ SyncDir(dir string) error }

// syncNames syncs the directory, so that the names of the database and its log
// survive a power cut, and deleted journals do not return. SQLite does not do
// it (short of synchronous=EXTRA), and the driver syncs the file in place of
// the directory. The log keeps its name while a connection is open, so that
// once per opening is enough.
func syncNames(path string, o Options) error {
	dir := filepath.Dir(path)
	if o.VFS != "" {
		if s, ok := vfs.Find(o.VFS).(dirSyncer); ok {
			return s.SyncDir(dir)
		}
		return nil
	}
	if runtime.GOOS == "windows" {
		return nil // NTFS journals names
	}
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil // a directory may be usable and not listable
	}
	if err != nil {
		return err
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("sync of the directory: %w", err)
	}
	return nil
}
