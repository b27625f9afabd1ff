package rows

import (
	"errors"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/record"
)

// Derive computes a summary from its sources: everything but its wording. It
// trusts the numbers of summaries among them; known holds those that were derived
// already. Where a source is missing the error is [store.ErrNotFound], and the
// result covers the others.
func Derive(c sqldb.Conn, num int64, known map[int64]store.Summary) (store.Summary, error) {
	edges, err := Edges(c, num)
	if err == nil && len(edges) == 0 {
		err = store.Missing("a source")
	}
	if err != nil {
		return store.Summary{Kind: record.Leaf}, err
	}
	return derive(c, edges, known)
}

func derive(c sqldb.Conn, edges []Edge, known map[int64]store.Summary) (total store.Summary, err error) {
	total.Kind = record.Leaf
	messages := []store.MessageID{}
	var missing error
	for _, e := range edges {
		if e.Num == 0 {
			messages = append(messages, e.Message)
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
		total.Kind = record.Condensed
		total.Depth = max(total.Depth, part.Depth+1)
		total.Descendants += 1 + part.Descendants
		total.SourceTokens += part.Tokens
		cover(&total, part)
	}
	if total.Pos, err = NodePosition(c, edges[0]); errors.Is(err, store.ErrNotFound) {
		missing = err
	} else if err != nil {
		return total, err
	}
	return total, errors.Join(missing, deriveMessages(c, messages, &total))
}

// deriveMessages adds the messages among the sources of a summary.
func deriveMessages(c sqldb.Conn, ids []store.MessageID, total *store.Summary) error {
	list := sqldb.IDs(ids)
	var part store.Summary
	_, err := c.One(`
		SELECT count(*), sum(m.tokens), min(coalesce(m.said, m.stored)), max(coalesce(m.said, m.stored))
		FROM json_each(?) j JOIN messages m ON m.id = j.value`,
		sqldb.Into(&part.Messages, &part.MessageTokens, &part.Earliest, &part.Latest), list)
	if err != nil {
		return err
	}
	part.Files, err = sqldb.Column[store.PayloadID](c, `
		SELECT p.id FROM json_each(?) j JOIN message_payloads mp ON mp.message = j.value JOIN payloads p ON p.num = mp.payload
		ORDER BY j.rowid, p.num`, list)
	total.SourceTokens += int(part.MessageTokens)
	cover(total, part)
	if err == nil && part.Messages < len(ids) {
		err = store.Missing("a message that was summarised")
	}
	return err
}

// UpdateDerived writes the columns of a summary that [Derive] computes, but for the
// tokens of its sources.
func UpdateDerived(c sqldb.Conn, num int64, s store.Summary) error {
	files, err := filesOf(s.Files)
	if err != nil {
		return err
	}
	return c.Exec(`
		UPDATE summaries SET kind = ?, depth = ?, pos = ?, descendants = ?, messages = ?, message_tokens = ?, earliest = ?, latest = ?, files = ?
		WHERE num = ?`, string(s.Kind), s.Depth, s.Pos, s.Descendants, s.Messages, s.MessageTokens, s.Earliest.UnixMilli(), s.Latest.UnixMilli(), files, num)
}

// NodePosition returns where a node stands, or stood, in views.
func NodePosition(c sqldb.Conn, e Edge) (pos int64, err error) {
	if e.Num == 0 {
		return MessagePosition(c, e.Message)
	}
	found, err := c.One(`SELECT pos FROM summaries WHERE num = ?`, sqldb.Into(&pos), e.Num)
	if err == nil && !found {
		err = store.Missing(e.String())
	}
	return pos, err
}
