package stats

import (
	"context"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Branch is a run of messages that a rewind took out of a conversation's view.
type Branch struct {
	After int64  `json:"after"` // Seq of the message that it follows, 0 for none
	First int64  `json:"first"` // of its messages, by Seq
	Last  int64  `json:"last"`
	Cause string `json:"cause"`
}

// Branches lists the kept branches of a conversation in the order of their messages.
func Branches(ctx context.Context, db sqldb.DB, id store.ConversationID) ([]Branch, error) {
	return sqldb.Read(ctx, db, func(c sqldb.Conn) ([]Branch, error) {
		// A position is base + Seq.
		return sqldb.List(c, `
			SELECT coalesce(a.seq, 0), min(i.pos) - c.base, max(i.pos - c.base + coalesce(s.messages, 1) - 1), b.cause
			FROM branches b JOIN conversations c ON c.id = b.conversation JOIN branch_items i ON i.branch = b.id
			LEFT JOIN messages a ON a.id = b.after AND a.conversation = b.conversation LEFT JOIN summaries s ON s.num = i.summary
			WHERE b.conversation = ? GROUP BY b.id, b.cause, a.seq, c.base ORDER BY 2`,
			func(s sqldb.Row) Branch {
				return Branch{s.ColumnInt64(0), s.ColumnInt64(1), s.ColumnInt64(2), s.ColumnText(3)}
			}, int64(id))
	})
}
