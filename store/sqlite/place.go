package sqlite

import (
	"os"
	"path/filepath"
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
