package rows

import (
	"bytes"
	"context"
	"crypto/sha256"
	"slices"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// SearchText returns the searchable text of a message, from a row with the id
// first, the role fourth, and format, record and body sixth to eighth.
func SearchText(c sqldb.Conn, s sqldb.Row) ([]byte, error) {
	text, err := PeekText(c, s, nil)
	return bytes.Clone(text), err
}

// PeekText is SearchText without a copy: the result is valid until the next row
// or call. Of a damaged message it returns the readable part. It may return nil
// for a text that does not contain literal; most such records are not decoded.
func PeekText(c sqldb.Conn, s sqldb.Row, literal []byte) ([]byte, error) {
	if !s.ColumnNull(7) {
		return bodyText(c, s, nil)
	}
	format, record := llms.Format(s.ColumnText(5)), sqldb.Unpack(s.ColumnRawBlob(6))
	if format == llms.FormatText {
		return record, nil
	}
	if wire.Lacks(format, record, literal) {
		return nil, nil
	}
	text, err := wire.AppendSearchText(c.Buffer(), format, store.RoleOf(s.ColumnInt(3)), record)
	if err != nil {
		return record, nil
	}
	c.KeepBuffer(text)
	return text, nil
}

// bodyText is PeekText for a message with a stored body. Its payloads are part
// of the text. If whole is not nil, payloads are checked against their hashes,
// and it is set to false if one does not match.
func bodyText(c sqldb.Conn, s sqldb.Row, whole *bool) ([]byte, error) {
	m, err := wire.Decode(llms.FormatLCM, store.RoleOf(s.ColumnInt(3)), s.ColumnRawBlob(7))
	text := []byte(m.SearchText())
	if err != nil {
		text = s.ColumnBlob(7, nil)
	} else if !hasRef(m.Parts) {
		return text, nil
	}
	payloads, err := PayloadsOf(c, s.ColumnInt64(0))
	if err != nil {
		return nil, err
	}
	return AppendPayloads(c, text, payloads, whole)
}

// AppendPayloads appends the payloads that are text, each after a line break.
// For whole see bodyText.
func AppendPayloads(c sqldb.Conn, text []byte, ids []store.PayloadID, whole *bool) ([]byte, error) {
	for _, id := range ids {
		content, sum, err := payloadContent(c, id)
		if err != nil && sqldb.FromDatabase(err) {
			return nil, err // it may be there the next time
		}
		if whole != nil && (err != nil || sha256.Sum256(content) != sum) {
			*whole = false
		}
		if err == nil && utf8.Valid(content) {
			text = append(append(text, '\n'), content...)
		}
	}
	return text, nil
}

func hasRef(parts []llms.Part) bool {
	return slices.ContainsFunc(parts, func(p llms.Part) bool {
		return p.Ref != nil || p.Call != nil || p.Result != nil && hasRef(p.Result.Output)
	})
}

// PayloadsOf lists the payloads of a message, in the order they were stored.
func PayloadsOf(c sqldb.Conn, message int64) ([]store.PayloadID, error) {
	return sqldb.Column[store.PayloadID](c, `
		SELECT p.id FROM message_payloads mp JOIN payloads p ON p.num = mp.payload WHERE mp.message = ? ORDER BY p.num`, message)
}

// Text implements [store.Searcher].
func (r *Records) Text(ctx context.Context, n store.ID) ([]byte, error) {
	return sqldb.Read(ctx, r.DB, func(c sqldb.Conn) ([]byte, error) {
		if !n.IsSummary() {
			return checkedText(c, n.Message)
		}
		_, sum, err := summaryByID(c, n.Summary)
		if err == nil && sum.Damaged {
			err = sqldb.Damaged("the text of "+string(sum.ID), errRewritten)
		}
		return []byte(sum.Body), err
	})
}

// Attached implements [store.Attachments].
func (r *Records) Attached(ctx context.Context, id store.MessageID) ([]store.PayloadID, error) {
	return sqldb.Read(ctx, r.DB, func(c sqldb.Conn) ([]store.PayloadID, error) { return PayloadsOf(c, int64(id)) })
}

// Holders implements [store.Attachments].
func (r *Records) Holders(ctx context.Context, id store.PayloadID, in []store.ConversationID, limit int) ([]store.MessageID, error) {
	return sqldb.Read(ctx, r.DB, func(c sqldb.Conn) (ids []store.MessageID, err error) {
		err = c.Query(`
			SELECT mp.message, m.conversation FROM payloads p JOIN message_payloads mp ON mp.payload = p.num JOIN messages m ON m.id = mp.message
			WHERE p.id = ? ORDER BY mp.message DESC`, func(s sqldb.Row) error {
			if len(in) > 0 && !slices.Contains(in, store.ConversationID(s.ColumnInt64(1))) {
				return nil
			}
			if len(ids) == limit {
				return sqldb.ErrStop
			}
			ids = append(ids, store.MessageID(s.ColumnInt64(0)))
			return nil
		}, string(id))
		return ids, err
	})
}

// The lanes of the search index.
const (
	LaneMessages  = 1
	LaneSummaries = 2
)

// DropIndexFrom drops the segments of a lane from the one with a changed
// document on. They are built again later.
func DropIndexFrom(c sqldb.Conn, lane int, id int64) error {
	// The row of the lane is locked first: a process that seals locks it too, and
	// its segments are seen or not stored.
	err := seal.Lanes.Keep(c, "l.lane = ?", func() error { return c.Exec(`UPDATE lanes SET epoch = epoch + 1 WHERE lane = ?`, lane) }, lane)
	if err != nil {
		return err
	}
	err = c.Exec(`DELETE FROM sections WHERE segment IN (SELECT id FROM segments WHERE lane = ? AND last_id >= ?)`, lane, id)
	if err != nil {
		return err
	}
	return c.Exec(`DELETE FROM segments WHERE lane = ? AND last_id >= ?`, lane, id)
}
