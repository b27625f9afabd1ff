package erase

import (
	"context"

	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Unworded implements [store.Eraser].
func (e Eraser) Unworded(ctx context.Context) ([]store.Summary, error) {
	return sqldb.Read(ctx, e.DB, func(c sqldb.Conn) (all []store.Summary, err error) {
		err = c.Query(`SELECT`+rows.SummaryColumns+` WHERE s.method = 'erased' ORDER BY s.depth, s.num`, func(s sqldb.Row) error {
			sum, err := rows.ScanSummary(s)
			all = append(all, sum.Summary)
			return err
		})
		return all, err
	})
}

// Scrub implements [store.Eraser]. The database removes the remains of deleted rows
// outside of the transaction that notes it.
func (e Eraser) Scrub(ctx context.Context) error {
	last, err := sqldb.Read(ctx, e.DB, func(c sqldb.Conn) (int64, error) {
		return sqldb.Value[int64](c, `SELECT max(id) FROM erasures WHERE NOT finished`)
	})
	if err != nil || last == 0 {
		return err
	}
	if err := e.DB.Scrub(ctx); err != nil {
		return err
	}
	return e.DB.Transact(ctx, func(c sqldb.Conn) error {
		ids, err := sqldb.Column[int64](c, `SELECT id FROM erasures WHERE id <= ? AND NOT finished`, last)
		if err != nil {
			return err
		}
		return sqldb.Each(ids, func(id int64) error {
			return seal.Change(c, seal.Erasure(id), func() error { return c.Exec(`UPDATE erasures SET finished = TRUE WHERE id = ?`, id) })
		})
	})
}
