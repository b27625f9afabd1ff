package search

import (
	"context"
	"slices"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/search"
)

// texts returns the texts that a search reads. Of a document that lacks literal the text
// may be nil.
func (l *lane) texts(literal []byte) search.Fetch {
	return func(ctx context.Context, ids []int64, yield func(id int64, text []byte) bool) error {
		return l.fetch(ctx, ids, func(c sqldb.Conn, s sqldb.Row) error {
			text, err := l.sql.text(c, s, literal)
			if err == nil && !yield(s.ColumnInt64(0), text) {
				err = sqldb.ErrStop
			}
			return err
		})
	}
}

// fetch reads the rows of documents. A dense range of ids is read in one
// query, which is several times faster than single lookups.
func (l *lane) fetch(ctx context.Context, ids []int64, row func(sqldb.Conn, sqldb.Row) error) error {
	if len(ids) == 0 {
		return nil
	}
	first, last := slices.Min(ids), slices.Max(ids)
	return l.ix.file.Reader(ctx, func(c sqldb.Conn) error {
		if len(ids) > 32 && last-first < 2*int64(len(ids)) {
			return l.sweep(c, ids, first, row)
		}
		return c.Query(l.sql.byID, func(s sqldb.Row) error { return row(c, s) }, ids)
	})
}

func (l *lane) sweep(c sqldb.Conn, ids []int64, first int64, row func(sqldb.Conn, sqldb.Row) error) error {
	wanted := slices.Clone(ids)
	slices.Sort(wanted)
	return c.Stream(l.sql.docs, func(s sqldb.Row) error {
		id := s.ColumnInt64(0)
		for len(wanted) > 0 && wanted[0] < id {
			wanted = wanted[1:]
		}
		if len(wanted) == 0 {
			return sqldb.ErrStop
		}
		if wanted[0] != id {
			return nil
		}
		return row(c, s)
	}, first-1, wanted[len(wanted)-1])
}
