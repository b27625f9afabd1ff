package erase

import (
	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/sqlite/record"
	"github.com/lossless-context/lcm/internal/store"
)

// inheritedDigest digests the messages of other conversations that a fork
// leads to, as Verify does.
func inheritedDigest(c *dbfile.Conn, id store.ConversationID) ([]byte, error) {
	items, err := record.ViewItems(c, id, -1<<62, 1<<62)
	if err != nil {
		return nil, err
	}
	err = c.Query(`
		SELECT bi.message, bi.summary, s.id FROM branches b JOIN branch_items bi ON bi.branch = b.id LEFT JOIN summaries s ON s.num = bi.summary
		WHERE b.conversation = ?`, func(s *sqlite3.Stmt) error {
		it := record.ViewItem{Num: s.ColumnInt64(1)}
		it.Message, it.Summary = store.MessageID(s.ColumnInt64(0)), store.SummaryID(s.ColumnText(2))
		items = append(items, it)
		return nil
	}, int64(id))
	if err != nil {
		return nil, err
	}
	var all []record.Inherited
	err = record.WalkMessages(c, items, func(m record.MessageRef) error {
		if m.Conversation == id {
			return nil
		}
		pos, err := record.MessagePosition(c, m.ID)
		all = append(all, record.Inherited{Pos: pos, SHA256: m.SHA256})
		return err
	})
	if err != nil {
		return nil, err
	}
	return record.InheritedDigest(all), nil
}
