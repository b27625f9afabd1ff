package rows

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"math"

	"github.com/lossless-context/lcm/internal/kit/tracing"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// Records reads and writes the conversations of a database, each call in a
// transaction of its own. It implements [store.Reader], [store.Attachments] and
// [store.Conversations].
type Records struct{ DB sqldb.DB }

// present leaves out erased messages, unless its parameter is true.
var present = ` AND (m.` + NotErased + ` OR ?)`

// scanMessage decodes a message, and marks it if it is damaged. One that does
// not decode has its raw bytes as text, and an error. With brief the message
// does not keep its record.
func scanMessage(s sqldb.Row, brief bool) (m store.Message, err error) {
	row := ScanMessage(s, 0)
	m = store.Message{
		ID: row.ID, Conversation: row.Conversation, Seq: row.Seq, Stored: row.Stored, Tokens: row.Tokens,
		Flags: row.Flags, Native: row.Native, Format: row.Format, Size: row.Size, SHA256: row.SHA256,
	}
	if m.Flags&store.FlagErased != 0 {
		return m, nil
	}
	format, data := m.Format, row.Record
	switch {
	case row.StoredBody != nil:
		format, data = llms.FormatLCM, row.StoredBody
	case !brief:
		data = bytes.Clone(data)
	}
	if m.Body, err = wire.Decode(format, row.Role, data); err != nil {
		err = fmt.Errorf("%s: its record does not decode: %w", m.ID, err)
		m.Body = llms.Text(row.Role, string(data))
	}
	if row.StoredBody != nil || brief {
		m.Body.Raw = llms.Raw{} // the record is elsewhere: see Record
	}
	m.Body.Role, m.Body.ID, m.Body.Time = row.Role, m.Native, row.Said
	if m.Body.Time.IsZero() {
		m.Body.Time = m.Stored
	}
	if err != nil || !row.Intact(s, 0) {
		store.MarkDamaged(&m)
	}
	return m, err
}

// stream yields the values that read passes on, until the caller stops. name is that of
// its span.
func stream[T any](ctx context.Context, name string, f sqldb.DB, read func(c sqldb.Conn, pass func(T) error) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		ctx, span := tracing.Start(ctx, name)
		stopped, rows := false, 0
		err := f.Reader(ctx, func(c sqldb.Conn) error {
			return c.Read(func() error {
				return read(c, func(v T) error {
					rows++
					if stopped = stopped || !yield(v, nil); stopped {
						return sqldb.ErrStop
					}
					return nil
				})
			})
		})
		span.Int("rows", rows)
		span.End(err)
		if err != nil && !stopped {
			var none T
			yield(none, err)
		}
	}
}

// Messages implements [store.Reader].
func (r *Records) Messages(ctx context.Context, q store.MessageQuery) iter.Seq2[store.Message, error] {
	return stream(ctx, "store.messages", r.DB, func(c sqldb.Conn, pass func(store.Message) error) error {
		row := func(s sqldb.Row) error {
			m, err := scanMessage(s, q.NoRaw)
			if err != nil && !m.Damaged { // damage is marked, and the messages around it are returned
				return err
			}
			return pass(m)
		}
		switch {
		case q.IDs != nil:
			return queryIDs(c, q.IDs, q.Erased, row)
		case q.Natives != nil:
			return sqldb.Each(q.Natives, func(native string) error {
				_, err := c.One(`SELECT `+MessageColumns+` FROM messages m WHERE m.conversation = ? AND m.native = ?`, row, int64(q.Conversation), native)
				return err
			})
		}
		return queryRange(c, q, row)
	})
}

func queryIDs(c sqldb.Conn, ids []store.MessageID, erased bool, row func(sqldb.Row) error) error {
	return c.Query(`SELECT `+MessageColumns+`, j.value FROM json_each(?) j LEFT JOIN messages m ON m.id = j.value`+present+` ORDER BY j.rowid`,
		func(s sqldb.Row) error {
			if s.ColumnNull(0) {
				return store.Missing(store.MessageID(s.ColumnInt64(messageColumns)).String())
			}
			return row(s)
		}, sqldb.IDs(ids), erased)
}

func queryRange(c sqldb.Conn, q store.MessageQuery, row func(sqldb.Row) error) error {
	order := "ASC"
	if q.Newest {
		order = "DESC"
	}
	return c.Stream(`SELECT `+MessageColumns+` FROM messages m WHERE m.conversation = ? AND m.seq > ? AND m.seq < ? AND (m.role <> ? OR ?)`+present+` ORDER BY m.seq `+order+` LIMIT ?`,
		row, int64(q.Conversation), q.After, cmp.Or(q.Before, 1<<62), int(store.RoleCode(llms.RoleTool)), !q.NoTools, q.Erased, cmp.Or(q.Limit, math.MaxInt64))
}

// Record implements [store.Reader].
func (r *Records) Record(ctx context.Context, id store.MessageID) ([]byte, error) {
	return sqldb.Read(ctx, r.DB, func(c sqldb.Conn) (record []byte, err error) {
		found, err := c.One(`SELECT `+MessageColumns+` FROM messages m WHERE m.id = ? AND m.`+NotErased, func(s sqldb.Row) (err error) {
			m := ScanMessage(s, 0)
			record, err = Join(c, bytes.Clone(m.Record), m.CutList)
			if err == nil && (!m.Intact(s, 0) || sha256.Sum256(record) != m.SHA256) {
				err = errChanged
			}
			return sqldb.Damaged("the record of "+id.String(), err)
		}, int64(id))
		if err == nil && !found {
			err = store.Missing(id.String())
		}
		return record, err
	})
}

// Join puts the payloads that were cut out of a record back into it.
func Join(c sqldb.Conn, record []byte, cuts string) ([]byte, error) {
	if cuts == "" {
		if record == nil {
			record = []byte{}
		}
		return record, nil
	}
	var stored []store.Cut
	if err := json.Unmarshal([]byte(cuts), &stored); err != nil {
		return nil, fmt.Errorf("cuts: %w", err)
	}
	if len(stored) == 1 && stored[0].Style == store.Verbatim {
		data, _, err := payloadContent(c, stored[0].Payload)
		return data, err
	}
	places := make([]wire.Cut, len(stored))
	for i, cut := range stored {
		places[i] = wire.Cut{At: cut.At, Style: cut.Style}
	}
	return wire.Join(record, places, func(i int) ([]byte, error) {
		data, _, err := payloadContent(c, stored[i].Payload)
		return data, err
	})
}
