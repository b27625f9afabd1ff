package dbfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/lossless-context/lcm/internal/hint"
	"github.com/lossless-context/lcm/internal/store"
)

// identify remembers which file is at the path.
func (f *File) identify() (err error) {
	if f.opts.VFS == "" {
		f.info, err = os.Stat(f.path)
	}
	return err
}

// stillThere returns an error if the file was removed or replaced. Writes to
// the open file would be lost when the process ends. The new file is not opened
// instead: its conversations have other ids, and callers hold the old ones.
func (f *File) stillThere() error {
	if f.info == nil {
		return nil
	}
	now, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &hint.Error{Err: fmt.Errorf("database %s: %w", f.path, store.ErrRemoved),
			Hint: "put the file back, or end this program and start it again; nothing was written"}
	case err != nil:
		return Explain(f.path, err)
	case !os.SameFile(f.info, now):
		return &hint.Error{Err: fmt.Errorf("database %s: %w", f.path, store.ErrReplaced),
			Hint: "end this program and start it again to use the new file; nothing was written"}
	}
	return nil
}
