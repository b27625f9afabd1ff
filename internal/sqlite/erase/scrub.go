package erase

import (
	"context"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/hint"
	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/sqlite/record"
	"github.com/lossless-context/lcm/internal/store"
)

// Unworded implements [store.Eraser].
func (e Eraser) Unworded(ctx context.Context) ([]store.Summary, error) {
	return dbfile.Read(ctx, e.File, func(c *dbfile.Conn) (all []store.Summary, err error) {
		err = c.Query(`SELECT`+record.SummaryColumns+` WHERE s.method = 'erased' ORDER BY s.depth, s.num`, func(s *sqlite3.Stmt) error {
			_, sum, err := record.ScanSummary(s)
			all = append(all, sum)
			return err
		})
		return all, err
	})
}

// Scrub implements [store.Eraser]. Rows that were moved within the file leave
// copies in other pages, so that only rebuilding the file removes all of them.
// Scrub then empties the log.
func (e Eraser) Scrub(ctx context.Context) error {
	return e.File.Writer(ctx, func(c *dbfile.Conn) error {
		last, err := dbfile.Value[int64](c, `SELECT max(id) FROM erasures WHERE NOT finished`)
		if err != nil || last == 0 {
			return err
		}
		if err := dbfile.Vacuum(c); err != nil {
			return &hint.Error{
				Err:  fmt.Errorf("the erased messages are gone from every table, but the file could not be rebuilt: %w", err),
				Hint: "make room for a copy of the database, then run `lcm forget --finish`: until then parts of them may be left in free space of the file",
			}
		}
		if err := dbfile.TruncateLog(ctx, c, e.File.Options().BusyTimeout); err != nil {
			return err
		}
		return c.Exec(`UPDATE erasures SET finished = 1 WHERE id <= ?`, last)
	})
}
