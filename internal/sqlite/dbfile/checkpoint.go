package dbfile

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/hint"
)

// VacuumFile vacuums a database file that no other process has open.
func VacuumFile(ctx context.Context, path string) error {
	c, err := OpenConn(ctx, path, Options{CacheKiB: 1 << 10})
	if err != nil {
		return err
	}
	defer c.Interrupt(c.Interrupt(ctx))
	return errors.Join(Vacuum(c), c.Close())
}

// vacuumInMemory is the size up to which a database is rebuilt in memory. A
// larger one needs room in the directory for temporary files.
const vacuumInMemory = 256 << 20

// Vacuum rebuilds the file without its free pages.
func Vacuum(c *Conn) (err error) {
	var pages, size int64
	for pragma, to := range map[string]*int64{"page_count": &pages, "page_size": &size} {
		if _, err := c.One("PRAGMA "+pragma, func(s *sqlite3.Stmt) error { *to = s.ColumnInt64(0); return nil }); err != nil {
			return err
		}
	}
	if pages*size > vacuumInMemory {
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
		var busy bool
		if _, err := c.One("PRAGMA wal_checkpoint(TRUNCATE)", func(s *sqlite3.Stmt) error { busy = s.ColumnBool(0); return nil }); err != nil {
			return err
		}
		if !busy {
			return nil
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

// settleTries is how often [File.settle] tries.
const settleTries = 2

// settle moves the log into the file where closing did not. SQLite does that
// when the last connection closes, but when two processes close at the same
// moment each finds the other, and neither does it. While another process has
// the database open nothing is moved: that process does it when it closes. A
// failure loses nothing: the log is complete, and the next process to close
// tries again.
func (f *File) settle() {
	if f.opts.ReadOnly || f.opts.VFS != "" {
		return
	}
	for range settleTries {
		log, err := os.Stat(f.path + "-wal")
		if err != nil || log.Size() == 0 || f.stillThere() != nil {
			return
		}
		time.Sleep(rand.N(2 * time.Millisecond)) // so that two do not meet again
		if openAndClose(context.WithoutCancel(f.life), f.path, f.opts) != nil {
			return
		}
	}
}

// openAndClose closes the database once more.
func openAndClose(ctx context.Context, path string, o Options) error {
	c, err := OpenConn(ctx, path, o)
	if err != nil {
		return err
	}
	var version int
	_, err = c.One("PRAGMA user_version", IntColumn(&version)) // a connection that read nothing has no log
	return errors.Join(err, c.Close())
}

// Vacuum gives unused space back to the file system. It needs as much free
// space as the database has, and blocks other writers while it runs.
func (f *File) Vacuum(ctx context.Context) error {
	return f.Writer(ctx, func(c *Conn) error {
		for _, sql := range []string{"PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"} {
			if err := c.Script(sql); err != nil {
				return fmt.Errorf("%s: %w", strings.ToLower(sql), err)
			}
		}
		return nil
	})
}
