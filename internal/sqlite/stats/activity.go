package stats

import (
	"context"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/store"
)

// Activity counts the messages of each day (UTC, as 2026-02-18) with an id above
// a number, and returns the highest id. Hidden and erased messages do not count.
// It reads every message with such an id; a caller that keeps the counts asks for
// the new messages only.
func Activity(ctx context.Context, f *dbfile.File, above store.MessageID) (days map[string]int, last store.MessageID, err error) {
	const day = 24 * 60 * 60 * 1000
	days, last = map[string]int{}, above
	type count struct {
		day, n int64
		last   store.MessageID
	}
	counts, err := dbfile.Read(ctx, f, func(c *dbfile.Conn) ([]count, error) {
		return dbfile.List(c, `SELECT ifnull(said, stored) / ?, sum(flags & 192 = 0), max(id) FROM messages WHERE id > ? GROUP BY 1`,
			func(s *sqlite3.Stmt) count {
				return count{s.ColumnInt64(0), s.ColumnInt64(1), store.MessageID(s.ColumnInt64(2))}
			}, int64(day), int64(above))
	})
	for _, c := range counts {
		if c.n > 0 {
			days[time.UnixMilli(c.day*day).UTC().Format(time.DateOnly)] = int(c.n)
		}
		last = max(last, c.last)
	}
	return days, last, err
}
