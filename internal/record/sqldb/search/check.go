package search

import (
	"context"
	"errors"
	"fmt"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/search/segment"
)

// unsound finds the first damaged segment of a lane. at is the id of the first
// document to index again, 0 if all segments are sound.
func (l *lane) unsound(ctx context.Context, c sqldb.Conn) (at int64, why string, err error) {
	var epochs int
	if _, err := c.One(`SELECT count(*) FROM lanes WHERE lane = ?`, sqldb.Into(&epochs), l.kind); err != nil {
		return 0, "", err
	}
	ids, infos, err := l.infos(c)
	if err != nil {
		return 0, "", err
	}
	if epochs != 1 {
		return 1, "the lane has no epoch", nil
	}
	from := int64(0)
	for i, id := range ids {
		docs := 0
		sql := `SELECT count(*) FROM messages WHERE id > ? AND id <= ? AND ` + rows.NotErased
		if l.kind == rows.LaneSummaries {
			sql = `SELECT count(*) FROM summaries WHERE num > ? AND num <= ?`
		}
		_, err := c.One(sql, sqldb.Into(&docs), from, infos[i].LastID)
		if err != nil {
			return 0, "", err
		}
		if docs != infos[i].Docs {
			return from + 1, fmt.Sprintf("between %d and %d there are %d documents, %d are indexed", from+1, infos[i].LastID, docs, infos[i].Docs), nil
		}
		seg, err := segment.Open(ctx, uncached{c}, id)
		if err == nil && seg.Info() != infos[i] {
			err = fmt.Errorf("segment %d: %w", id, errSegmentRow)
		}
		if err == nil {
			err = seg.Check(ctx)
		}
		if err != nil {
			if ctx.Err() != nil {
				return 0, "", ctx.Err()
			}
			return from + 1, sqldb.WithoutHint(err), nil
		}
		from = infos[i].LastID
	}
	return 0, "", nil
}

var errSegmentRow = errors.New("its row does not say what it holds")

// uncached reads the sections of segments as they are in the database.
type uncached struct{ sqldb.Conn }

// Get implements [segment.Blobs].
func (u uncached) Get(_ context.Context, segment, n int64) ([]byte, error) {
	var data []byte
	found, err := u.One(`SELECT data FROM sections WHERE segment = ? AND n = ?`, func(s sqldb.Row) error {
		data = s.ColumnBlob(0, nil)
		return nil
	}, segment, n)
	if err == nil && !found {
		err = fmt.Errorf("section %d of segment %d is missing", n, segment)
	}
	return data, err
}
