package stats

import (
	"cmp"
	"context"
	"os"
	"slices"
	"sort"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
)

// Space is the use of the file in bytes. It is computed from columns, so that
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

// MeasureSpace computes the use of the file.
func MeasureSpace(ctx context.Context, f *dbfile.File) (Space, error) {
	var s Space
	var pages, size, free int64
	err := f.Reader(ctx, func(c *dbfile.Conn) error {
		return c.Read(func() error {
			for sql, to := range map[string]*int64{
				"PRAGMA page_count": &pages, "PRAGMA page_size": &size, "PRAGMA freelist_count": &free,
				"SELECT ifnull(sum(length(data)), 0) FROM chunks":                                                                    &s.Payloads,
				"SELECT ifnull(sum(word_bytes + gram_bytes + doc_bytes), 0) FROM segments":                                           &s.Index,
				"SELECT ifnull((SELECT sum(length(body)) FROM summaries), 0) + ifnull((SELECT sum(length(body)) FROM revisions), 0)": &s.Summaries,
			} {
				if _, err := c.One(sql, func(st *sqlite3.Stmt) error { *to = st.ColumnInt64(0); return nil }); err != nil {
					return err
				}
			}
			return nil
		})
	})
	s.Free = free * size
	s.Messages = max(0, pages*size-s.Free-s.Payloads-s.Index-s.Summaries)
	if info, statErr := os.Stat(f.Path() + "-wal"); statErr == nil {
		s.Log = info.Size()
	}
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
func CountBy(ctx context.Context, f *dbfile.File, by string) ([]Group, error) {
	var groups []Group
	err := f.Reader(ctx, func(c *dbfile.Conn) error {
		return c.Read(func() (err error) {
			if by == ByMonth {
				groups, err = countMonths(c)
				return err
			}
			name := `c.agent`
			if by == ByProject {
				name = `iif(p.origin <> '', p.origin, p.root)`
			}
			return c.Query(`
				SELECT `+name+` AS name, count(*), sum(c.messages), sum(c.tokens), sum(c.bytes), sum(c.summaries)
				FROM conversations c JOIN projects p ON p.id = c.project WHERE c.erased_at IS NULL
				GROUP BY name ORDER BY sum(c.messages) DESC, name`, func(s *sqlite3.Stmt) error {
				groups = append(groups, Group{
					Name: s.ColumnText(0), Conversations: s.ColumnInt64(1), Messages: s.ColumnInt64(2), Tokens: s.ColumnInt64(3),
					Bytes: s.ColumnInt64(4), Summaries: s.ColumnInt64(5),
				})
				return nil
			})
		})
	})
	return groups, err
}

// countMonths counts by when messages were said. Within a conversation that is
// nearly always the order in which they came, so that the turns of months are
// found by halving.
func countMonths(c *dbfile.Conn) ([]Group, error) {
	type talk struct {
		id, messages int64
		first, last  time.Time
	}
	var talks []talk
	err := c.Query(`SELECT id, messages, created_at, updated_at FROM conversations WHERE messages > 0 AND erased_at IS NULL`, func(s *sqlite3.Stmt) error {
		talks = append(talks, talk{s.ColumnInt64(0), s.ColumnInt64(1), dbfile.Millis(s, 2), dbfile.Millis(s, 3)})
		return nil
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
	for _, g := range by {
		all = append(all, *g)
	}
	slices.SortFunc(all, func(a, b Group) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// saidBefore counts the messages between two positions that are older than a
// time.
func saidBefore(c *dbfile.Conn, id, from, to int64, when time.Time) (int64, error) {
	var failed error
	n := sort.Search(int(to-from), func(i int) bool {
		said := int64(0)
		_, err := c.One(`SELECT ifnull(said, stored) FROM messages WHERE conversation = ? AND seq = ?`,
			dbfile.Int64Column(&said), id, from+int64(i)+1)
		if err != nil {
			failed = err
		}
		return said >= when.UnixMilli()
	})
	return from + int64(n), failed
}
