package dbfile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

// NewPart makes the file in which a database is written before it gets the
// name path.
func NewPart(path string) (string, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(filepath.Dir(path), PartPattern) // mode 0600
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// SyncFile syncs a file, or the names in a directory, to the disk.
func SyncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// RemoveDatabase removes the files of a temporary database.
func RemoveDatabase(path string) {
	for _, suffix := range FileSuffixes {
		_ = os.Remove(path + suffix) // they may not be there
	}
}

// FileSuffixes are the suffixes of the files of a database.
var FileSuffixes = []string{"", "-wal", "-shm", "-journal"}

// PartPattern is how a file is called, for [os.CreateTemp], while it is
// written and has not got its name yet.
const PartPattern = ".lcm-*.part"

// backupPages is how many pages are copied between two looks at the context.
const backupPages = 1024

// CopyTo copies the database page by page.
func CopyTo(ctx context.Context, c *Conn, path string, progress func(done, total int)) (err error) {
	name, err := DSN(path, Options{})
	if err != nil {
		return err
	}
	b, err := c.raw.BackupInit("main", name)
	if err != nil {
		return driverError(err, "")
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	for done := false; !done; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if done, err = b.Step(backupPages); err != nil {
			return driverError(err, "")
		}
		if progress != nil {
			progress(b.PageCount()-b.Remaining(), b.PageCount())
		}
	}
	return nil
}
