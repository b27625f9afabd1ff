package backup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// partName matches files named by PartPattern, and the logs beside them.
var partName = lazyregexp.New(`^(\.lcm-[0-9]+\.part)(-wal|-shm|-journal)?$`)

// LeftOver is an unfinished copy with the logs beside it. A process is writing
// it or was killed. Nothing else removes it, and it may hold messages that were
// erased since.
type LeftOver struct {
	Path    string
	Bytes   int64
	Written time.Time // when any of its files was last written to
	files   []string
}

// LeftOvers lists the unfinished copies in a directory that belong to this
// user.
func LeftOvers(dir string) ([]LeftOver, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []LeftOver // the names are sorted: logs come after their file
	for _, e := range entries {
		name := partName().FindStringSubmatch(e.Name())
		if name == nil {
			continue
		}
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !ownFile(info) {
			continue // it is gone by now, or not ours
		}
		path := filepath.Join(dir, name[1])
		if len(all) == 0 || all[len(all)-1].Path != path {
			all = append(all, LeftOver{Path: path})
		}
		l := &all[len(all)-1]
		l.files = append(l.files, filepath.Join(dir, e.Name()))
		l.Bytes += info.Size()
		if info.ModTime().After(l.Written) {
			l.Written = info.ModTime()
		}
	}
	return all, nil
}

// Remove removes the copy and the logs beside it.
func (l LeftOver) Remove() error {
	var errs []error
	for _, file := range l.files {
		if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// RemoveLeftOvers removes the unfinished copies in a directory that were last
// written before since, and returns their names.
func RemoveLeftOvers(dir string, since time.Time) (removed []string, err error) {
	all, err := LeftOvers(dir)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, l := range all {
		if !l.Written.Before(since) {
			continue
		}
		if err := l.Remove(); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, l.Path)
	}
	return removed, errors.Join(errs...)
}
