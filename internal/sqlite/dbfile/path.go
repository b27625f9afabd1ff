package dbfile

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/lossless-context/lcm/internal/store"
)

// maxLinks is how many symlinks are followed one after another, as in Linux.
const maxLinks = 40

// Resolve returns the file that a path leads to if it is a symlink, whether
// that file exists or not, and else the path as it is. SQLite keeps the log
// beside the file and not beside the link, so whoever looks for the log, or
// puts another file in the place of the database, has to ask this first.
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

// DSN writes a path as the URI that SQLite opens it by.
func DSN(path string, o Options) (string, error) {
	if o.VFS == "" {
		path = Resolve(path)
		if err := checkLength(path); err != nil {
			return "", err
		}
	}
	query := ""
	switch _, err := os.Stat(path + "-wal"); {
	case o.VFS != "":
		query = "?vfs=" + uriText(o.VFS)
	case !o.ReadOnly:
		query = "?modeof=" + uriText(path)
	case errors.Is(err, os.ErrNotExist):
		// Nobody is writing, and on a read-only file system nobody could:
		// without this SQLite would want to make its shared memory there.
		query = "?immutable=1"
	default: // the shared memory that it may make is for the owner only
		query = "?modeof=" + uriText(path)
	}
	return "file:" + uriText(filepath.ToSlash(path)) + query, nil
}

// uriText escapes text for a URI that SQLite reads. SQLite decodes %20 but
// does not take "+" for a space, as web forms do.
func uriText(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// maxPath is how long the absolute path of a database may be, in bytes: the
// driver holds 1,024, and "-journal" is added to it. Linux allows 4,096; macOS
// allows 1,024 itself.
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
	return &store.Problem{
		Err:  fmt.Errorf("the path of the database has %d bytes, and SQLite's driver allows %d", len(full), maxPath),
		Hint: "set LCM_DATABASE_PATH to a shorter path",
	}
}
