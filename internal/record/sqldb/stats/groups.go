package stats

import (
	"context"
	"maps"
	"slices"
	"sort"
	"time"

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

// Group counts the conversations that have something in common.
type Group struct {
	Name          string `json:"name"`
	Conversations int64  `json:"conversations"`
	Messages      int64  `json:"messages"`
	Tokens        int64  `json:"tokens,omitempty"`
	Bytes         int64  `json:"bytes,omitempty"` // of the original records
	Summaries     int64  `json:"summaries,omitempty"`
}

// The ways to group conversations.
const (
	ByProject = "project"
	ByHost    = "host"
	ByMonth   = "month"
)

// CountBy counts conversations by project, host or month, the largest first and
// months in order. It reads few messages, at the turns of months; a month has
// no counts of tokens and bytes.
func CountBy(ctx context.Context, db sqldb.DB, by string) ([]Group, error) {
	return sqldb.Read(ctx, db, func(c sqldb.Conn) ([]Group, error) {
		if by == ByMonth {
			return countMonths(c)
		}
		name := `c.agent`
		if by == ByProject {
			name = `CASE WHEN p.origin <> '' THEN p.origin ELSE p.root END`
		}
		return sqldb.List(c, `
			SELECT `+name+` AS name, count(*), sum(c.messages), sum(c.tokens), sum(c.bytes), sum(c.summaries)
			FROM conversations c JOIN projects p ON p.id = c.project WHERE c.erased_at IS NULL
			GROUP BY 1 ORDER BY sum(c.messages) DESC, name`, func(s sqldb.Row) Group {
			return Group{s.ColumnText(0), s.ColumnInt64(1), s.ColumnInt64(2), s.ColumnInt64(3), s.ColumnInt64(4), s.ColumnInt64(5)}
		})
	})
}

// countMonths counts by when messages were said. Within a conversation that is
// nearly always the order in which they came, so that the turns of months are
// found by halving.
func countMonths(c sqldb.Conn) ([]Group, error) {
	type talk struct {
		id, messages int64
		first, last  time.Time
	}
	talks, err := sqldb.List(c, `SELECT id, messages, created_at, updated_at FROM conversations WHERE messages > 0 AND erased_at IS NULL`,
		func(s sqldb.Row) talk {
			return talk{s.ColumnInt64(0), s.ColumnInt64(1), sqldb.Millis(s, 2), sqldb.Millis(s, 3)}
		})
	if err != nil {
		return nil, err
	}
	by := map[string]*Group{}
	add := func(month time.Time, messages int64) {
		name := month.Format("2006-01")
		if by[name] == nil {
			by[name] = &Group{Name: name}
		}
		by[name].Conversations++
		by[name].Messages += messages
	}
	for _, t := range talks {
		before := int64(0)
		month := time.Date(t.first.Year(), t.first.Month(), 1, 0, 0, 0, 0, time.UTC)
		for {
			next := month.AddDate(0, 1, 0)
			until := t.messages
			if !t.last.Before(next) {
				if until, err = saidBefore(c, t.id, before, t.messages, next); err != nil {
					return nil, err
				}
			}
			if until > before {
				add(month, until-before)
			}
			if before, month = until, next; before >= t.messages {
				break
			}
		}
	}
	var all []Group
	for _, name := range slices.Sorted(maps.Keys(by)) {
		all = append(all, *by[name])
	}
	return all, nil
}

// saidBefore counts the messages between two positions that are older than a
// time.
func saidBefore(c sqldb.Conn, id, from, to int64, when time.Time) (int64, error) {
	var failed error
	n := sort.Search(int(to-from), func(i int) bool {
		said, err := sqldb.Value[int64](c, `SELECT coalesce(said, stored) FROM messages WHERE conversation = ? AND seq = ?`, id, from+int64(i)+1)
		if err != nil {
			failed = err
		}
		return said >= when.UnixMilli()
	})
	return from + int64(n), failed
}
