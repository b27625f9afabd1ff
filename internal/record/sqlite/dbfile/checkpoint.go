package dbfile

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"

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

// logPages is the length of the write-ahead log from which a commit moves it into the file.
const logPages = 1000

// Checkpoint moves the write-ahead log into the file. busy says that other processes kept some of it from
// being moved.
//
// SQLite notes which pages it has copied before they are synced, where readers keep it from
// copying all. After a failed sync the operating system may drop them, and a later checkpoint would copy only the
// others and remove the log. So the note is taken back: all pages are copied again. Where that is
// impossible, this connection leaves the log alone, and whoever opens the file next copies all.
func (c *Conn) Checkpoint(mode sqlite3.CheckpointMode) (busy bool, err error) {
	if c.stopped {
		return true, nil
	}
	_, _, err = c.raw.WALCheckpoint("main", mode)
	if errors.Is(err, sqlite3.BUSY) {
		return true, nil
	}
	if errors.Is(err, sqlite3.IOERR) {
		if again := copyAgain(c.raw.Filename("main").Database()); again != nil {
			c.stopped = true
			_, stop := c.raw.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true)
			err = errors.Join(err, again, stop)
		}
		if c.log != nil {
			c.log.Warn("the disk did not take what is in the log of the database: check the disk; nothing is lost while the log (-wal) stays", "err", err)
		}
	}
	return false, driverError(err, "PRAGMA wal_checkpoint")
}

// copyAgain sets the number of pages of the log that were copied to 0: nBackfill in the
// wal-index of SQLite, 32 bits after two headers of 48 bytes. Whoever copies reads and sets it once.
func copyAgain(database string) error {
	f, err := os.OpenFile(database+"-shm", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(make([]byte, 4), 96)
	return errors.Join(err, f.Close())
}

// TruncateLog moves the write-ahead log into the file and empties it. Readers
// of other processes may block it for a moment.
func TruncateLog(ctx context.Context, c *Conn, patience time.Duration) error {
	for begun := time.Now(); ; {
		busy, err := c.Checkpoint(sqlite3.CHECKPOINT_TRUNCATE)
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
		checkpoint := func() error {
			_, err := c.Checkpoint(sqlite3.CHECKPOINT_TRUNCATE)
			return err
		}
		return sqldb.Steps(checkpoint, func() error { return Vacuum(c) }, checkpoint)
	})
}
