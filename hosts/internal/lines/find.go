package lines

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Found is a file in a directory, or the reason why something in it was left
// alone.
type Found struct {
	Path string
	Info fs.FileInfo
	Err  error
}

// List returns what a directory holds, in the order of names, as if symbolic
// links were what they lead to. A link that leads out of root is not followed,
// and its entry says so. A directory that does not exist is empty.
func List(root, dir string) []Found {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return []Found{{Path: dir, Err: err}}
	}
	found := make([]Found, 0, len(entries))
	for _, e := range entries {
		f := Found{Path: filepath.Join(dir, e.Name())}
		if e.Type()&fs.ModeSymlink != 0 {
			if f.Err = Within(root, f.Path); errors.Is(f.Err, ErrOutside) {
				f.Err = fmt.Errorf("it is a symbolic link %w, which is not followed", f.Err)
			}
		}
		if f.Err == nil {
			f.Info, f.Err = os.Stat(f.Path)
		}
		if errors.Is(f.Err, fs.ErrNotExist) && e.Type()&fs.ModeSymlink == 0 {
			continue // it went away meanwhile
		}
		found = append(found, f)
	}
	return found
}

// ErrOutside says that a path leads out of a directory.
var ErrOutside = errors.New("out of")

// Within returns ErrOutside if a path leads out of a directory, with symbolic
// links resolved.
func Within(root, path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return err
	}
	if rel, err := filepath.Rel(root, real); err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return fmt.Errorf("%w %s", ErrOutside, root)
	}
	return nil
}

// Stat looks at what a path leads to and makes the path absolute. The info is
// nil if there is no regular file.
func Stat(path string) (string, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return path, nil, nil
	}
	if err != nil {
		return path, nil, err
	}
	path, err = filepath.Abs(path)
	return path, info, err
}
