package sqlite

import (
	"errors"
	"os"
	"path/filepath"
)

// partFile makes the file under whose name a database is written before it is
// called path.
func partFile(path string) (string, error) {
	tmp, err := newPart(path)
	return tmp, explain(path, err)
}

func newPart(path string) (string, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(filepath.Dir(path), PartPattern) // mode 0600
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// syncFile makes a file, or the names in a directory, durable.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// removeDatabase removes what is left of a temporary database.
func removeDatabase(path string) {
	for _, suffix := range fileSuffixes {
		_ = os.Remove(path + suffix) // they may not be there
	}
}

// fileSuffixes are the files that together are a database.
var fileSuffixes = []string{"", "-wal", "-shm", "-journal"}

// PartPattern is how a file is called, for [os.CreateTemp], while it is
// written and has not got its name yet.
const PartPattern = ".lcm-*.part"
