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

// roomWanted is how much must fit on the disk for it not to be full. A session
// that is stored needs less.
const roomWanted = 1 << 20

// fullDisk finds out whether the disk of the database takes anything more. It
// writes a file and removes it: unlike the free space that the system tells of,
// that knows of quotas.
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
