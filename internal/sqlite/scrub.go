package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/store"
)

// vacuumInMemory is up to which size a database is rebuilt in memory; a larger
// one needs as much room in the directory for temporary files.
const vacuumInMemory = 256 << 20

// Unworded implements [store.Eraser].
func (db *DB) Unworded(ctx context.Context) ([]store.Summary, error) {
	var all []store.Summary
	err := db.withReader(ctx, func(c *conn) error {
		return c.query(`SELECT`+summaryColumns+` WHERE s.method = 'erased' ORDER BY s.depth, s.num`, func(s *sqlite3.Stmt) error {
			_, sum, err := scanSummary(s)
			all = append(all, sum)
			return err
		})
	})
	return all, err
}

// Scrub implements [store.Eraser]. Rows that were moved within the file leave
// copies in pages that hold other rows now, so that nothing but building the
// file anew is sure to leave none. The log is emptied after it.
func (db *DB) Scrub(ctx context.Context) error {
	return db.withWriter(ctx, func(c *conn) error {
		var last int64
		if _, err := c.one(`SELECT ifnull(max(id), 0) FROM erasures WHERE NOT finished`,
			func(s *sqlite3.Stmt) error { last = s.ColumnInt64(0); return nil }); err != nil || last == 0 {
			return err
		}
		if err := c.vacuum(); err != nil {
			return &store.Problem{
				Err:  fmt.Errorf("the erased messages are gone from every table, but the file could not be built anew: %w", err),
				Hint: "make room for a copy of the database, then run `lcm forget --finish`: until then parts of them may be left in free space of the file",
			}
		}
		if err := c.truncateLog(ctx, db.opts.BusyTimeout); err != nil {
			return err
		}
		return c.exec(`UPDATE erasures SET finished = 1 WHERE id <= ?`, last)
	})
}

// vacuum builds the file anew, without its free pages.
func (c *conn) vacuum() (err error) {
	var pages, size int64
	for pragma, to := range map[string]*int64{"page_count": &pages, "page_size": &size} {
		if _, err := c.one("PRAGMA "+pragma, func(s *sqlite3.Stmt) error { *to = s.ColumnInt64(0); return nil }); err != nil {
			return err
		}
	}
	if pages*size > vacuumInMemory {
		if err := c.Exec("PRAGMA temp_store=FILE"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.Exec("PRAGMA temp_store=MEMORY")) }()
	}
	return c.Exec("VACUUM")
}

// truncateLog moves the write-ahead log into the file and empties it. Readers
// of other processes may be in the way for a moment.
func (c *conn) truncateLog(ctx context.Context, patience time.Duration) error {
	for begun := time.Now(); ; {
		var busy bool
		if _, err := c.one("PRAGMA wal_checkpoint(TRUNCATE)", func(s *sqlite3.Stmt) error { busy = s.ColumnBool(0); return nil }); err != nil {
			return err
		}
		if !busy {
			return nil
		}
		if time.Since(begun) > patience {
			return &store.Problem{
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
