// Package regularfile opens files that somebody else may have put in place. It
// opens only regular files, because a named pipe blocks and a device never ends,
// and bounds reads.
package regularfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrNotRegular says that a path leads to a pipe, a device, a socket or a
// directory.
var ErrNotRegular = errors.New("not a regular file")

// Open opens a regular file for reading. It does not block on a pipe, even if one
// has just replaced the file.
func Open(path string) (*os.File, fs.FileInfo, error) {
	if err := Check(os.Stat(path)); err != nil { // opening a device can have effects
		return nil, nil, wrap(path, err)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	return opened(path, f, err)
}

// OpenIn is Open for a name below a directory. Symbolic links that lead out of
// the directory are not followed.
func OpenIn(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	if err := Check(root.Stat(name)); err != nil {
		return nil, nil, wrap(name, err)
	}
	f, err := root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	return opened(name, f, err)
}

// Read returns the beginning of a regular file, at most max bytes.
func Read(path string, max int64) ([]byte, fs.FileInfo, error) {
	f, info, err := Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, max))
	return content, info, err
}

func opened(path string, f *os.File, err error) (*os.File, fs.FileInfo, error) {
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err := Check(info, err); err != nil {
		return nil, nil, errors.Join(wrap(path, err), f.Close())
	}
	return f, info, nil
}

// Check returns the error of a Stat, or ErrNotRegular.
func Check(info fs.FileInfo, err error) error {
	if err == nil && !info.Mode().IsRegular() {
		return ErrNotRegular
	}
	return err
}

func wrap(path string, err error) error {
	if errors.Is(err, ErrNotRegular) {
		return fmt.Errorf("%s: %w", path, err)
	}
	return err
}
