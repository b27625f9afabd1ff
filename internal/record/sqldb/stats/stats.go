// Package stats counts the contents of a database and the use of its file. It
// reads no message texts.
package stats

import (
	"context"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/store"
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
func Read(ctx context.Context, db sqldb.DB) (Stats, error) {
	st, err := sqldb.Read(ctx, db, count)
	if err != nil {
		return st, err
	}
	size, err := db.Size(ctx)
	st.FileBytes, st.Schema = size.Stored+size.Log, size.Schema
	return st, err
}

func count(c sqldb.Conn) (st Stats, err error) {
	if _, err := c.One(`
		SELECT count(*), count(archived_at), sum(messages - erased), sum(tokens), sum(bytes), (SELECT sum(messages) FROM erasures),
		       (SELECT count(*) FROM messages WHERE `+rows.AnyFlag(store.FlagRedacted)+`), (SELECT count(*) FROM payloads), (SELECT sum(size) FROM payloads)
		FROM conversations WHERE erased_at IS NULL`,
		sqldb.Into(&st.Conversations, &st.Archived, &st.Messages, &st.Tokens, &st.Bytes, &st.Erased,
			&st.Redacted, &st.Payloads, &st.PayloadBytes)); err != nil {
		return st, err
	}
	st.Summaries, err = sqldb.List(c, `
		SELECT depth, method, count(*), sum(tokens) FROM summaries WHERE NOT retired GROUP BY depth, method ORDER BY depth, method`,
		func(s sqldb.Row) SummaryStats {
			return SummaryStats{Depth: s.ColumnInt(0), Method: s.ColumnText(1), Count: s.ColumnInt64(2), Tokens: s.ColumnInt64(3)}
		})
	return st, err
}
