package stats

import (
	"context"
	"time"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/record"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Activity counts the messages of each day (local, as 2026-02-18) with an id above
// a number, and returns the highest id. Hidden and erased messages do not count.
// It reads every message with such an id; a caller that keeps the counts asks for
// the new messages only.
func Activity(ctx context.Context, db sqldb.DB, above store.MessageID) (days map[string]int, last store.MessageID, err error) {
	const quarter = 15 * 60 * 1000 // every zone differs from UTC by a number of these
	days, last = map[string]int{}, above
	type count struct {
		quarter, n int64
		last       store.MessageID
	}
	counts, err := sqldb.Read(ctx, db, func(c sqldb.Conn) ([]count, error) {
		return sqldb.List(c, `SELECT coalesce(said, stored) / ?, sum(CASE WHEN `+record.NoFlag(store.FlagHidden|store.FlagErased)+` THEN 1 ELSE 0 END), max(id) FROM messages WHERE id > ? GROUP BY 1`,
			func(s sqldb.Row) count {
				return count{s.ColumnInt64(0), s.ColumnInt64(1), store.MessageID(s.ColumnInt64(2))}
			}, int64(quarter), int64(above))
	})
	for _, c := range counts {
		if c.n > 0 {
			days[time.UnixMilli(c.quarter*quarter).Local().Format(time.DateOnly)] += int(c.n)
		}
		last = max(last, c.last)
	}
	return days, last, err
}
