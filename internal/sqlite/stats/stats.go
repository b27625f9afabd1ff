// Package stats counts what a database holds and what its file is used for. It
// reads no message texts.
package stats

import (
	"context"
	"os"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
)

// Stats are the counts of a database.
type Stats struct {
	Schema        int            `json:"schemaVersion"`
	FileBytes     int64          `json:"fileBytes"` // of the database and its write-ahead log
	Conversations int64          `json:"conversations"`
	Archived      int64          `json:"archived"`
	Messages      int64          `json:"messages"`
	Erased        int64          `json:"erased"`   // messages that tombstones stand for
	Redacted      int64          `json:"redacted"` // messages from which something was kept out
	Tokens        int64          `json:"tokens"`
	Bytes         int64          `json:"bytes"` // of the original records
	Payloads      int64          `json:"payloads"`
	PayloadBytes  int64          `json:"payloadBytes"` // before compression
	Summaries     []SummaryStats `json:"depths"`
}

// SummaryStats counts the summaries of one depth that were written one way.
// Those that a rewind took apart are not among them.
type SummaryStats struct {
	Depth  int    `json:"depth"`
	Method string `json:"method"`
	Count  int64  `json:"summaries"`
	Tokens int64  `json:"tokens"`
}

// Read counts the contents of a database. It reads no message, so that it is
// quick.
func Read(ctx context.Context, f *dbfile.File) (Stats, error) {
	var st Stats
	err := f.Reader(ctx, func(c *dbfile.Conn) error {
		return c.Read(func() error { return st.count(c) })
	})
	for _, suffix := range []string{"", "-wal"} {
		if info, statErr := os.Stat(f.Path() + suffix); statErr == nil {
			st.FileBytes += info.Size()
		}
	}
	return st, err
}

func (st *Stats) count(c *dbfile.Conn) error {
	if _, err := c.One("PRAGMA user_version", dbfile.IntColumn(&st.Schema)); err != nil {
		return err
	}
	if _, err := c.One(`
		SELECT count(*), count(archived_at), ifnull(sum(messages - erased), 0), ifnull(sum(tokens), 0), ifnull(sum(bytes), 0),
		       (SELECT ifnull(sum(messages), 0) FROM erasures), (SELECT count(*) FROM messages WHERE flags & 32 <> 0)
		FROM conversations WHERE erased_at IS NULL`,
		func(s *sqlite3.Stmt) error {
			st.Conversations, st.Archived = s.ColumnInt64(0), s.ColumnInt64(1)
			st.Messages, st.Tokens, st.Bytes = s.ColumnInt64(2), s.ColumnInt64(3), s.ColumnInt64(4)
			st.Erased, st.Redacted = s.ColumnInt64(5), s.ColumnInt64(6)
			return nil
		}); err != nil {
		return err
	}
	if _, err := c.One(`SELECT count(*), ifnull(sum(size), 0) FROM payloads`, func(s *sqlite3.Stmt) error {
		st.Payloads, st.PayloadBytes = s.ColumnInt64(0), s.ColumnInt64(1)
		return nil
	}); err != nil {
		return err
	}
	return c.Query(`
		SELECT depth, method, count(*), sum(tokens) FROM summaries WHERE NOT retired GROUP BY depth, method ORDER BY depth, method`,
		func(s *sqlite3.Stmt) error {
			st.Summaries = append(st.Summaries, SummaryStats{
				Depth: s.ColumnInt(0), Method: s.ColumnText(1), Count: s.ColumnInt64(2), Tokens: s.ColumnInt64(3),
			})
			return nil
		})
}
