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
	st, err := dbfile.Read(ctx, f, count)
	for _, suffix := range []string{"", "-wal"} {
		if info, statErr := os.Stat(f.Path() + suffix); statErr == nil {
			st.FileBytes += info.Size()
		}
	}
	return st, err
}

func count(c *dbfile.Conn) (st Stats, err error) {
	if _, err := c.One(`
		SELECT count(*), count(archived_at), sum(messages - erased), sum(tokens), sum(bytes), (SELECT sum(messages) FROM erasures),
		       (SELECT count(*) FROM messages WHERE flags & 32 <> 0), (SELECT count(*) FROM payloads), (SELECT sum(size) FROM payloads),
		       (SELECT user_version FROM pragma_user_version)
		FROM conversations WHERE erased_at IS NULL`,
		dbfile.Into(&st.Conversations, &st.Archived, &st.Messages, &st.Tokens, &st.Bytes, &st.Erased,
			&st.Redacted, &st.Payloads, &st.PayloadBytes, &st.Schema)); err != nil {
		return st, err
	}
	st.Summaries, err = dbfile.List(c, `
		SELECT depth, method, count(*), sum(tokens) FROM summaries WHERE NOT retired GROUP BY depth, method ORDER BY depth, method`,
		func(s *sqlite3.Stmt) SummaryStats {
			return SummaryStats{Depth: s.ColumnInt(0), Method: s.ColumnText(1), Count: s.ColumnInt64(2), Tokens: s.ColumnInt64(3)}
		})
	return st, err
}
