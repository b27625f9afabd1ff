package sqlite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// searchText returns what is searched of a message, from a row with its id
// first, role fourth, and format, record and body sixth to eighth.
func (c *conn) searchText(s *sqlite3.Stmt) ([]byte, error) {
	text, err := c.peekText(s)
	return bytes.Clone(text), err
}

// peekText is searchText without a copy: what it returns is valid until the
// next row, and until it is called again. What is damaged is searched as far
// as it can be read, so that everything else is found.
func (c *conn) peekText(s *sqlite3.Stmt) ([]byte, error) {
	if s.ColumnType(7) != sqlite3.NULL {
		return c.bodyText(s, nil)
	}
	format, record := formatOf(s.ColumnRawText(5)), s.ColumnRawBlob(6)
	if format == llms.FormatText {
		return record, nil
	}
	text, ok := wire.AppendSearchText(c.text[:0], format, record)
	if cap(text) <= maxKept {
		c.text = text[:0]
	}
	if ok {
		return text, nil
	}
	m, err := wire.Decode(format, store.RoleOf(s.ColumnInt(3)), record)
	if err != nil {
		return record, nil
	}
	return []byte(m.SearchText()), nil
}

// maxKept is the longest buffer that is kept for the next row.
const maxKept = 1 << 20

// bodyText is peekText for a message whose parsed form is stored. What was cut
// out of it is searched with it. Where whole is given, payloads are checked
// against their hashes, and it is set to false if one does not match.
func (c *conn) bodyText(s *sqlite3.Stmt, whole *bool) ([]byte, error) {
	m, err := wire.Decode(llms.FormatLCM, store.RoleOf(s.ColumnInt(3)), s.ColumnRawBlob(7))
	text := []byte(m.SearchText())
	if err != nil {
		text = s.ColumnBlob(7, nil)
	} else if !hasRef(m.Parts) {
		return text, nil
	}
	payloads, err := c.payloadsOf(s.ColumnInt64(0))
	if err != nil {
		return nil, err
	}
	return c.appendPayloads(text, payloads, whole)
}

// appendPayloads adds the payloads that are text and can be read, a line break
// before each. For whole see bodyText.
func (c *conn) appendPayloads(text []byte, ids []store.PayloadID, whole *bool) ([]byte, error) {
	for _, id := range ids {
		content, sum, err := c.content(id)
		if err != nil && errors.As(err, new(*sqlite3.Error)) {
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

// payloadsOf lists the payloads of a message, in the order they were stored.
func (c *conn) payloadsOf(message int64) ([]store.PayloadID, error) {
	var ids []store.PayloadID
	err := c.query(`SELECT p.id FROM message_payloads mp JOIN payloads p ON p.num = mp.payload WHERE mp.message = ? ORDER BY p.num`,
		func(s *sqlite3.Stmt) error {
			ids = append(ids, store.PayloadID(s.ColumnText(0)))
			return nil
		}, message)
	return ids, err
}

// Text implements [store.Searcher].
func (db *DB) Text(ctx context.Context, n store.Node) ([]byte, error) {
	var text []byte
	err := db.withReader(ctx, func(c *conn) error {
		return c.read(func() (err error) {
			if !n.IsSummary() {
				text, err = c.checkedText(n.Message)
				return err
			}
			_, sum, err := c.summaryByID(n.Summary)
			text = []byte(sum.Body)
			return err
		})
	})
	return text, err
}

// texts gives the index what a search looks at: the whole text of a document,
// or only its payloads.
func (l *lane) texts(q store.Search) search.Fetch {
	if !q.Files && len(q.Payloads) == 0 {
		return l.fetch
	}
	return func(ctx context.Context, ids []int64, yield func(id int64, text []byte) bool) error {
		return l.db.withReader(ctx, func(c *conn) error {
			for _, id := range ids {
				payloads, err := c.payloadsOf(id)
				if err != nil {
					return err
				}
				if len(q.Payloads) > 0 {
					payloads = slices.DeleteFunc(payloads, func(p store.PayloadID) bool { return !slices.Contains(q.Payloads, p) })
				}
				text, err := c.appendPayloads(nil, payloads, nil)
				if err != nil {
					return err
				}
				if len(text) > 0 && !yield(id, text[1:]) {
					return nil
				}
			}
			return nil
		})
	}
}

// Attached implements [store.Attachments].
func (db *DB) Attached(ctx context.Context, id store.MessageID) ([]store.PayloadID, error) {
	var ids []store.PayloadID
	err := db.withReader(ctx, func(c *conn) (err error) {
		ids, err = c.payloadsOf(int64(id))
		return err
	})
	return ids, err
}

// Holders implements [store.Attachments].
func (db *DB) Holders(ctx context.Context, id store.PayloadID, in []store.ConversationID, limit int) ([]store.MessageID, error) {
	var ids []store.MessageID
	err := db.withReader(ctx, func(c *conn) error {
		err := c.query(`
			SELECT mp.message, m.conversation FROM payloads p JOIN message_payloads mp ON mp.payload = p.num JOIN messages m ON m.id = mp.message
			WHERE p.id = ? ORDER BY mp.message DESC`,
			func(s *sqlite3.Stmt) error {
				if len(in) > 0 && !slices.Contains(in, store.ConversationID(s.ColumnInt64(1))) {
					return nil
				}
				if len(ids) == limit {
					return errStop
				}
				ids = append(ids, store.MessageID(s.ColumnInt64(0)))
				return nil
			}, string(id))
		if errors.Is(err, errStop) {
			err = nil
		}
		return err
	})
	return ids, err
}

// fetch gives the index the texts of documents. A dense run of ids is read in
// one sweep, which is several times faster than looking each one up.
func (l *lane) fetch(ctx context.Context, ids []int64, yield func(id int64, text []byte) bool) error {
	if len(ids) == 0 {
		return nil
	}
	first, last := slices.Min(ids), slices.Max(ids)
	err := l.db.withReader(ctx, func(c *conn) error {
		if len(ids) > 32 && last-first < 2*int64(len(ids)) {
			return l.sweep(c, ids, first, yield)
		}
		// In one transaction: a lock for each row takes longer than the row.
		return c.read(func() error {
			for _, id := range ids {
				_, err := c.one(l.sql.byID, func(s *sqlite3.Stmt) error { return l.yield(c, s, yield) }, id)
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
	if errors.Is(err, errStop) {
		err = nil
	}
	return err
}

func (l *lane) sweep(c *conn, ids []int64, first int64, yield func(id int64, text []byte) bool) error {
	wanted := slices.Clone(ids)
	slices.Sort(wanted)
	return c.query(l.sql.docs, func(s *sqlite3.Stmt) error {
		id := s.ColumnInt64(0)
		for len(wanted) > 0 && wanted[0] < id {
			wanted = wanted[1:]
		}
		if len(wanted) == 0 {
			return errStop
		}
		if wanted[0] != id {
			return nil
		}
		return l.yield(c, s, yield)
	}, first-1)
}

func (l *lane) yield(c *conn, s *sqlite3.Stmt, yield func(id int64, text []byte) bool) error {
	id := s.ColumnInt64(0)
	text, err := l.sql.text(c, s)
	if err != nil {
		return err
	}
	if !yield(id, text) {
		return errStop
	}
	return nil
}
