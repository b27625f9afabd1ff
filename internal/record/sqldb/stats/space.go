package stats

import (
	"context"

	"github.com/lossless-context/lcm/internal/record/sqldb"
)

// Space is the use of the database in bytes. It is computed from columns, so that
// it is as quick as [Read]; Messages is the rest, with indexes and everything
// small.
type Space struct {
	Messages  int64 `json:"messages"`
	Payloads  int64 `json:"payloads"`      // compressed
	Summaries int64 `json:"summaries"`     // with their revisions
	Index     int64 `json:"searchIndex"`   // the search index
	Free      int64 `json:"free"`          // pages that nothing is in: see [DB.Vacuum]
	Log       int64 `json:"writeAheadLog"` // the write-ahead log
}

// MeasureSpace computes the use of the database.
func MeasureSpace(ctx context.Context, db sqldb.DB) (Space, error) {
	var s Space
	size, err := db.Size(ctx)
	if err != nil {
		return s, err
	}
	_, err = sqldb.Read(ctx, db, func(c sqldb.Conn) (bool, error) {
		return c.One(`SELECT (SELECT sum(length(data)) FROM chunks), (SELECT sum(word_bytes + gram_bytes + doc_bytes) FROM segments),
				coalesce((SELECT sum(length(body)) FROM summaries), 0) + coalesce((SELECT sum(length(body)) FROM revisions), 0)`,
			sqldb.Into(&s.Payloads, &s.Index, &s.Summaries))
	})
	s.Free, s.Log = size.Free, size.Log
	s.Messages = max(0, size.Used-s.Free-s.Payloads-s.Index-s.Summaries)
	return s, err
}
