package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/lossless-context/lcm/internal/sqlite"
	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/store"
)

// roomWanted is how many bytes must fit on the disk. Storing a session needs less.
const roomWanted = 1 << 20

// fullDisk checks whether the disk is full. It writes a file, because the free space that
// the system reports ignores quotas.
func (p Patient) fullDisk(ctx context.Context, db *sqlite.DB) []store.Fault {
	if db == nil || !dbfile.Full(room(filepath.Dir(db.Path()), roomWanted)) {
		return nil
	}
	detail := "the disk is full: nothing new is stored, what is stored can be read"
	if p.Waiting != nil {
		if n, err := p.Waiting(ctx, db); err != nil {
			detail += fmt.Sprintf("; how many sessions wait for space cannot be told: %v", err)
		} else {
			detail += fmt.Sprintf("; sessions that wait for space: %d", n)
		}
	}
	return []store.Fault{{Code: "disk-full", Node: filepath.Dir(db.Path()), Detail: detail}}
}

// room reports why a number of bytes cannot be written to a directory.
func room(dir string, bytes int) (err error) {
	f, err := os.CreateTemp(dir, dbfile.PartPattern)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, bytes))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}
