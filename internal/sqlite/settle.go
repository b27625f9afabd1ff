package sqlite

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"time"
)

// settleTries is how often [DB.settle] tries.
const settleTries = 2

// settle moves the log into the file where closing did not, so that the file is
// complete when no process has it open. SQLite does that when the last
// connection closes, but when two processes close at the same moment each finds
// the other one, and neither does it. While another process has the database
// open nothing is moved: that process does it when it closes. A failure loses
// nothing: the log is complete, and the next process to close tries again.
func (db *DB) settle() {
	if db.opts.ReadOnly || db.opts.VFS != "" {
		return
	}
	for range settleTries {
		log, err := os.Stat(db.path + "-wal")
		if err != nil || log.Size() == 0 || db.stillThere() != nil {
			return
		}
		time.Sleep(rand.N(2 * time.Millisecond)) // so that two do not meet again
		if openAndClose(context.WithoutCancel(db.life), db.path, db.opts) != nil {
			return
		}
	}
}

// openAndClose closes the database once more.
func openAndClose(ctx context.Context, path string, o Options) error {
	c, err := openConn(ctx, path, o)
	if err != nil {
		return err
	}
	var version int
	_, err = c.one("PRAGMA user_version", integer(&version)) // a connection that read nothing has no log
	return errors.Join(err, c.close())
}
