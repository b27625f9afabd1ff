package lines

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Found is a file in a directory, or the error for it.
type Found struct {
	Path string
	Info fs.FileInfo
	Err  error
}

// List lists a directory by name and resolves symbolic links. A link out of root is an
// entry with an error; if dir itself is one, it is the only entry.
func List(root, dir string) []Found {
	found, err := list(root, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return []Found{{Path: dir, Err: err}}
	}
	return found
}

func list(root, dir string) ([]Found, error) {
	at, err := below(root, dir)
	if err != nil {
		return nil, err
	}
	// The Root also holds if a directory becomes a link after it was resolved.
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	d, err := r.Open(at) // unlike the Root's FS it accepts names that are not UTF-8
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	found := make([]Found, 0, len(entries))
	for _, e := range entries {
		f := Found{Path: filepath.Join(dir, e.Name())}
		name, link := filepath.Join(at, e.Name()), e.Type()&fs.ModeSymlink != 0
		if link {
			name, f.Err = below(root, f.Path)
		}
		if f.Err == nil {
			f.Info, f.Err = r.Stat(name)
		}
		if errors.Is(f.Err, fs.ErrNotExist) && !link {
			continue // it was removed meanwhile
		}
		found = append(found, f)
	}
	return found, nil
}

// ErrOutside says that a path leads out of a directory.
var ErrOutside = errors.New("out of")

// Within returns ErrOutside if a path, links resolved, leads out of a directory.
func Within(root, path string) error {
	_, err := relative(root, path)
	return err
}

// below returns the path relative to root, with symbolic links resolved.
func below(root, path string) (string, error) {
	at, err := relative(root, path)
	if errors.Is(err, ErrOutside) {
		err = fmt.Errorf("it is a symbolic link %w, which is not followed", err)
	}
	return at, err
}

func relative(root, path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return "", err
	}
	at, err := filepath.Rel(root, real)
	if err != nil || !filepath.IsLocal(at) {
		return "", fmt.Errorf("%w %s", ErrOutside, root)
	}
	return at, nil
}

// Stat returns the absolute path and the info of a regular file, or nil.
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
