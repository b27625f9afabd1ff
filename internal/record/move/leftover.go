package move

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
)

// partName matches files named by [dbfile.PartPattern], and the logs beside them.
var partName = lazyregexp.New(`^\.lcm-[0-9]+\.part(-wal|-shm|-journal)?$`)

// abandonedAfter is how long the file of a process that was killed has not changed.
const abandonedAfter = 24 * time.Hour

// Sweep removes files that were not finished and that nobody has written to for a day:
// nothing else does, and they may hold messages that were erased since.
func Sweep(dir string) {
	entries, _ := os.ReadDir(dir) // whoever writes there next gets the error
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && partName().MatchString(e.Name()) && info.Mode().IsRegular() && time.Since(info.ModTime()) > abandonedAfter {
			_ = os.Remove(filepath.Join(dir, e.Name())) // it may belong to somebody else
		}
	}
}

// newPart makes the file in which a database is written before it gets the name path.
func newPart(path string) (string, error) {
	path = dbfile.Resolve(path)
	Sweep(filepath.Dir(path))
	part, err := dbfile.NewPart(path)
	if err == nil {
		return part, nil
	}
	if at, ok := errors.AsType[*fs.PathError](err); ok { // it may name the temporary file
		err = at.Err
	}
	return "", &hint.Error{Err: fmt.Errorf("nothing can be written to %s, the directory of %s: %w", filepath.Dir(path), filepath.Base(path), err),
		Hint: "choose a directory that has room and that you may write to; the database is as it was"}
}
