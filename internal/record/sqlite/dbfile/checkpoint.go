package dbfile

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/sqldb"
)

// vacuumInMemory is the size up to which a database is rebuilt in memory. A
// larger one needs room in the directory for temporary files.
const vacuumInMemory = 256 << 20

// Vacuum rebuilds the file without its free pages.
func Vacuum(c *Conn) (err error) {
	size, err := sqldb.Value[int64](c, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
	if err != nil {
		return err
	}
	if size > vacuumInMemory {
		if err := c.Script("PRAGMA temp_store=FILE"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.Script("PRAGMA temp_store=MEMORY")) }()
	}
	return c.Script("VACUUM")
}

// TruncateLog moves the write-ahead log into the file and empties it. Readers
// of other processes may block it for a moment.
func TruncateLog(ctx context.Context, c *Conn, patience time.Duration) error {
	for begun := time.Now(); ; {
		busy, err := sqldb.Value[bool](c, "PRAGMA wal_checkpoint(TRUNCATE)")
		if err != nil || !busy {
			return err
		}
		if time.Since(begun) > patience {
			return &hint.Error{
				Err:  errors.New("the erased messages are gone from the database, but another process keeps its log open"),
				Hint: "end the other process or wait for it, then run `lcm forget --finish`",
			}
		}
		t := time.NewTimer(20 * time.Millisecond)
		select {
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-t.C:
		}
	}
}

var settling sync.Mutex

// settle moves the log into the file where closing did not. SQLite does that
// when the last connection closes, but two processes that close at the same
// moment each find the other, and neither does it. A process that still has the
// database open does it when it closes. Files that this process closes at the same
// moment do it one after the other. A failure loses nothing: the next process to close
// tries again.
func (f *File) settle() {
	if f.opts.ReadOnly || f.opts.VFS != "" {
		return
	}
	settling.Lock()
	defer settling.Unlock()
	for range 2 {
		log, err := os.Stat(f.path + "-wal")
		if err != nil || log.Size() == 0 || f.stillThere() != nil {
			return
		}
		time.Sleep(rand.N(2 * time.Millisecond)) // so that two do not meet again
		err = WithConn(context.WithoutCancel(f.life), f.path, f.opts, func(c *Conn) error {
			return c.Exec("PRAGMA user_version") // a connection that read nothing has no log
		})
		if err != nil {
			return
		}
	}
}

// Vacuum gives unused space back to the file system. It needs as much free
// space as the database has, and blocks other writers while it runs.
func (f *File) Vacuum(ctx context.Context) error {
	return f.Writer(ctx, func(c *Conn) error {
		checkpoint := func() error { return c.Script("PRAGMA wal_checkpoint(TRUNCATE)") }
		return sqldb.Steps(checkpoint, func() error { return Vacuum(c) }, checkpoint)
	})
}
