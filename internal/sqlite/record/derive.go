package record

import (
	"errors"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/internal/summary"
)

// Derive computes what a summary says of itself from its sources: everything but
// its wording. It trusts the numbers of summaries among them; known holds those
// that were derived already. Where a source is missing the error is
// [store.ErrNotFound], and the result covers the others.
func Derive(c *dbfile.Conn, num int64, known map[int64]store.Summary) (store.Summary, error) {
	total := store.Summary{Kind: summary.Leaf}
	edges, err := Edges(c, num)
	if err != nil {
		return total, err
	}
	if len(edges) == 0 {
		return total, store.Missing("a source")
	}
	var missing error
	for _, e := range edges {
		if e.Num == 0 {
			continue
		}
		part, ok := known[e.Num]
		if !ok {
			if part, err = SummaryByNum(c, e.Num); errors.Is(err, store.ErrNotFound) {
				missing = err
				continue
			} else if err != nil {
				return total, err
			}
		}
		total.Kind = summary.Condensed
		total.Depth = max(total.Depth, part.Depth+1)
		total.Descendants += 1 + part.Descendants
		total.SourceTokens += part.Tokens
		Cover(&total, part)
	}
	if total.Pos, err = NodePosition(c, edges[0]); errors.Is(err, store.ErrNotFound) {
		missing = err
	} else if err != nil {
		return total, err
	}
	return total, errors.Join(missing, deriveMessages(c, num, &total))
}

// deriveMessages adds the messages among the sources of a summary.
func deriveMessages(c *dbfile.Conn, num int64, total *store.Summary) error {
	direct, found := 0, 0
	err := c.Query(`
		SELECT count(*), count(m.id), sum(m.tokens), min(ifnull(m.said, m.stored)), max(ifnull(m.said, m.stored))
		FROM edges e LEFT JOIN messages m ON m.id = e.message WHERE e.summary = ? AND e.message IS NOT NULL`, func(s *sqlite3.Stmt) error {
		if direct, found = s.ColumnInt(0), s.ColumnInt(1); found > 0 {
			total.SourceTokens += s.ColumnInt(2)
			Cover(total, store.Summary{Messages: found, MessageTokens: s.ColumnInt64(2), Earliest: dbfile.Millis(s, 3), Latest: dbfile.Millis(s, 4)})
		}
		return nil
	}, num)
	if err != nil {
		return err
	}
	err = c.Query(`
		SELECT p.id FROM edges e JOIN message_payloads mp ON mp.message = e.message JOIN payloads p ON p.num = mp.payload
		WHERE e.summary = ? ORDER BY e.ord, p.num`, func(s *sqlite3.Stmt) error {
		Cover(total, store.Summary{Files: []store.PayloadID{store.PayloadID(s.ColumnText(0))}})
		return nil
	}, num)
	if err == nil && found < direct {
		err = store.Missing("a message that was summarised")
	}
	return err
}

// NodePosition returns where a node stands, or stood, in views.
func NodePosition(c *dbfile.Conn, e Edge) (pos int64, err error) {
	if e.Num == 0 {
		return MessagePosition(c, e.Message)
	}
	found, err := c.One(`SELECT pos FROM summaries WHERE num = ?`, dbfile.Int64Column(&pos), e.Num)
	if err == nil && !found {
		err = store.Missing(e.String())
	}
	return pos, err
}
