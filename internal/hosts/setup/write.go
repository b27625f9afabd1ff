package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// Tests stop before each change of the file system, as a kill would, and skip syncs.
var (
	beforeEffect = func() {}
	syncFile     = (*os.File).Sync
)

// Apply makes the changes of a plan: it copies each file and replaces it atomically, unless
// the file has changed. A receipt is written first, so that a second call can continue
// after a failure or a kill.
func (p Plan) Apply(kept *Receipts) error {
	p.sweep(kept)
	for _, c := range p.Changes {
		if err := c.prepare(kept); err != nil {
			return fmt.Errorf("%s: %w", c.Path, err)
		}
		if err := kept.willWrite(p.Host, c); err != nil {
			return err
		}
		if err := c.write(); err != nil {
			return fmt.Errorf("%s: %w", c.Path, err)
		}
	}
	return nil
}

// Undo makes the changes of a [Removal] plan. It drops a receipt after its file was changed. It
// begins with the last file: a skill, which is below the directory of the settings.
func (p Plan) Undo(kept *Receipts) error {
	p.sweep(kept)
	for _, c := range slices.Backward(p.Changes) {
		if err := c.prepare(kept); err != nil {
			return fmt.Errorf("%s: %w", c.Path, err)
		}
		if err := c.write(); err != nil {
			return fmt.Errorf("%s: %w", c.Path, err)
		}
		if err := kept.forget(c); err != nil {
			return err
		}
	}
	for _, c := range p.unchanged {
		if _, ok := kept.files[c.target]; ok {
			c.removeDirs()
			if err := kept.forget(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// prepare checks that a file has not changed since the plan, and copies it.
func (c Change) prepare(kept *Receipts) error {
	now, err := read(c.Path)
	if err != nil {
		return err
	}
	if now.Exists != c.Exists || string(now.Before) != string(c.Before) {
		return &hint.Error{Err: errors.New("the file has changed since it was read"), Hint: "the host may be running; repeat the command"}
	}
	if c.Exists {
		if _, err := kept.keep(c.target, c.Before); err != nil {
			return fmt.Errorf("copy the file: %w", err)
		}
	}
	return nil
}

func (c Change) write() error {
	if c.Delete {
		beforeEffect()
		if err := os.Remove(c.target); err != nil {
			return writing(err)
		}
		c.removeDirs()
		return nil
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(c.target); err == nil {
		mode = info.Mode().Perm()
	}
	return write(c.target, c.After, mode)
}

// removeDirs removes the directories that setup made for the file, if they are empty.
func (c Change) removeDirs() {
	for _, dir := range slices.Backward(c.dirs) {
		beforeEffect()
		_ = os.Remove(dir) // fails if it is not empty
	}
}

// partPattern names a file that is being written; partName matches it.
const partPattern = ".lcm-setup-*"

var partName = lazyregexp.New(`^\.lcm-setup-[0-9]+$`)

// sweep removes files that a killed setup of any host was writing. It had a receipt before.
func (p Plan) sweep(kept *Receipts) {
	dirs := map[string]bool{kept.dir: true}
	for path := range kept.files {
		dirs[filepath.Dir(path)] = true
	}
	for dir := range dirs {
		entries, _ := os.ReadDir(dir) // a missing directory has none
		for _, e := range entries {
			if partName().MatchString(e.Name()) && e.Type().IsRegular() {
				_ = os.Remove(filepath.Join(dir, e.Name())) // the next sweep tries again
			}
		}
	}
}

// write replaces a file atomically.
func write(path string, data []byte, mode fs.FileMode) (err error) {
	beforeEffect()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return writing(err)
	}
	beforeEffect()
	f, err := os.CreateTemp(filepath.Dir(path), partPattern)
	if err != nil {
		return writing(err)
	}
	defer func() {
		if err != nil {
			err = writing(errors.Join(err, os.Remove(f.Name())))
		}
	}()
	beforeEffect()
	if _, err = f.Write(data); err == nil {
		err = errors.Join(f.Chmod(mode), syncFile(f))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	beforeEffect()
	return os.Rename(f.Name(), path)
}

func writing(err error) error {
	advice := "repeat the command; `lcm setup --dry-run` shows what to write by hand"
	switch {
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS):
		advice = "the directory must be writable for you; `lcm setup --dry-run` shows what to write by hand"
	case errors.Is(err, syscall.ENOSPC):
		advice = "see that there is room on the disk"
	}
	return &hint.Error{Err: err, Hint: advice}
}
