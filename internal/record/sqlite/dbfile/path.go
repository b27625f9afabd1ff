package dbfile

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/hint"
)

// maxLinks is how many symlinks are followed one after another, as in Linux.
const maxLinks = 40

// Resolve returns the file that a symlink leads to, whether it exists or not,
// and other paths unchanged. SQLite keeps the log beside the file and not
// beside the link, so code that looks for the log or replaces the database must
// call Resolve first.
func Resolve(path string) string {
	at := path
	for range maxLinks {
		target, err := os.Readlink(at)
		if err != nil {
			return at
		}
		if !filepath.IsAbs(target) {
			dir := filepath.Dir(at)
			if real, err := filepath.EvalSymlinks(dir); err == nil {
				dir = real // ".." in the target is of this one
			}
			target = filepath.Join(dir, target)
		}
		at = target
	}
	return path
}

// DSN returns the URI with which SQLite opens a path.
func DSN(path string, o Options) (string, error) {
	if o.VFS == "" {
		path = Resolve(path)
		if err := checkLength(path); err != nil {
			return "", err
		}
	}
	if o.VFS != "" {
		return "file:" + uriText(filepath.ToSlash(path)) + "?vfs=" + uriText(o.VFS), nil
	}
	if _, err := os.Stat(path + "-wal"); o.ReadOnly && errors.Is(err, os.ErrNotExist) {
		return immutable(path), nil
	}
	// The files that SQLite makes are for the owner only.
	return "file:" + uriText(filepath.ToSlash(path)) + "?modeof=" + uriText(path), nil
}

// immutable is the URI of a file that nobody is writing to. SQLite otherwise makes its
// shared memory, which fails on a read-only file system.
func immutable(path string) string { return "file:" + uriText(filepath.ToSlash(path)) + "?immutable=1" }

// uriText escapes text for a URI. SQLite decodes %20, but does not take "+" for
// a space.
func uriText(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// maxPath is the longest absolute path of a database in bytes: the driver holds
// 1,024, and adds "-journal". Linux allows 4,096, macOS 1,024.
const maxPath = 1024 - len("-journal") - 1

// checkLength refuses a path on which the driver would panic.
func checkLength(path string) error {
	full, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(full)); err == nil {
		full = filepath.Join(dir, filepath.Base(full))
	}
	if len(full) <= maxPath {
		return nil
	}
	return &hint.Error{
		Err:  fmt.Errorf("the path of the database has %d bytes, and SQLite's driver allows %d", len(full), maxPath),
		Hint: "set LCM_DATABASE_PATH to a shorter path",
	}
}
