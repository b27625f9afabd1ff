package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Apply makes the changes of a plan. Each file is copied before, and replaced
// in one step: whoever reads it meanwhile sees the old or the new one. A file
// that changed since the plan was made is not touched. When Apply fails,
// changes before the one that failed stay made, and a repetition goes on.
func (p Plan) Apply(kept *Receipts) error { return p.apply(kept, kept.wrote) }

// Undo makes the changes of a plan of [Removal].
func (p Plan) Undo(kept *Receipts) error {
	return p.apply(kept, func(_ string, c Change) error { return kept.forget(c) })
}

func (p Plan) apply(kept *Receipts, note func(string, Change) error) error {
	for _, c := range p.Changes {
		if err := c.apply(kept); err != nil {
			return fmt.Errorf("%s: %w", c.Path, err)
		}
		if err := note(p.Host, c); err != nil {
			return err
		}
	}
	return nil
}

func (c Change) apply(kept *Receipts) error {
	now, err := read(c.Path)
	if err != nil {
		return err
	}
	if now.Exists != c.Exists || string(now.Before) != string(c.Before) {
		return &Problem{Err: errors.New("the file has changed since it was read"), Hint: "the host may be running; repeat the command"}
	}
	if c.Exists {
		if _, err := kept.keep(c.target, c.Before); err != nil {
			return fmt.Errorf("copy the file: %w", err)
		}
	}
	if c.Delete {
		if err := os.Remove(c.target); err != nil {
			return writing(err)
		}
		for _, dir := range slices.Backward(c.dirs) {
			_ = os.Remove(dir) // it stays if there is anything else in it
		}
		return nil
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(c.target); err == nil {
		mode = info.Mode().Perm()
	}
	return write(c.target, c.After, mode)
}

// write replaces a file in one step.
func write(path string, data []byte, mode fs.FileMode) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return writing(err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".lcm-*")
	if err != nil {
		return writing(err)
	}
	defer func() {
		if err != nil {
			err = writing(errors.Join(err, os.Remove(f.Name())))
		}
	}()
	if _, err := f.Write(data); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Chmod(mode); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Sync(); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func writing(err error) error {
	hint := "see that there is room on the disk"
	if errors.Is(err, fs.ErrPermission) || isReadOnly(err) {
		hint = "the directory must be writable for you; `lcm setup --print` shows what to write by hand"
	}
	return &Problem{Err: err, Hint: hint}
}
