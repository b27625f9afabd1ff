package erase

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/sqlite/record"
	"github.com/lossless-context/lcm/internal/store"
)

// Mask hides parts of messages. Their records and hashes stay. The links of the
// chain, which cover the visible part, are computed again. Summaries of the
// messages lose their text until they are reworded ([store.Eraser.Unworded]),
// and their part of the search index is dropped.
func Mask(ctx context.Context, f *dbfile.File, masks []store.Mask) error {
	if len(masks) == 0 {
		return nil
	}
	e := &erasing{now: f.Now().UTC()}
	for _, m := range masks {
		e.order.Messages = append(e.order.Messages, m.ID)
	}
	err := f.Writer(ctx, func(c *dbfile.Conn) error {
		e.Conn = c
		return c.Write(func() error { return e.mask(ctx, masks) })
	})
	return err
}

func (e *erasing) mask(ctx context.Context, masks []store.Mask) error {
	for _, step := range []func() error{e.collect, e.findAffected, e.findSummaries} {
		if err := step(); err != nil {
			return err
		}
	}
	for _, m := range masks {
		if err := e.maskOne(ctx, m); err != nil {
			return fmt.Errorf("%s: %w", m.ID, err)
		}
	}
	for _, id := range e.out.Affected {
		if err := e.relink(id); err != nil {
			return err
		}
	}
	if err := e.Exec(`DELETE FROM revisions WHERE summary IN (SELECT num FROM temp.unwording)`); err != nil {
		return err
	}
	nums, err := e.Int64s(`SELECT s.num FROM temp.unwording u JOIN summaries s ON s.num = u.num ORDER BY s.depth, s.num`)
	if err != nil {
		return err
	}
	for _, num := range nums {
		if err := e.unword(num); err != nil {
			return err
		}
	}
	for _, step := range []func() error{e.recount, e.unindexed} {
		if err := step(); err != nil {
			return err
		}
	}
	for table := range scratch {
		if err := e.Script(`DELETE FROM temp.` + table); err != nil {
			return err
		}
	}
	return nil
}

// maskOne replaces the visible part of a message and its payloads.
func (e *erasing) maskOne(ctx context.Context, m store.Mask) error {
	w := &record.Writer{Conn: e.Conn, Now: e.now}
	for i, p := range m.Payloads {
		id, err := w.PutPayload(ctx, p)
		if err != nil {
			return err
		}
		if id != m.Row.Payloads[i] {
			return fmt.Errorf("its payload %s is stored as %s", m.Row.Payloads[i], id)
		}
	}
	var body, cuts any
	if m.Row.Body != nil {
		b, err := record.EncodeBody(*m.Row.Body)
		if err != nil {
			return err
		}
		body = b
	}
	if len(m.Row.Cuts) > 0 {
		b, err := json.Marshal(m.Row.Cuts)
		if err != nil {
			return err
		}
		cuts = string(b)
	}
	held, err := e.Int64s(`SELECT payload FROM message_payloads WHERE message = ?`, int64(m.ID))
	if err != nil {
		return err
	}
	err = e.Exec(`UPDATE messages SET flags = flags | ?, record = ?, cuts = ?, body = ? WHERE id = ? AND sha256 = ?`,
		int64(store.FlagMasked), m.Row.Record, cuts, body, int64(m.ID), m.Row.SHA256[:])
	if err != nil {
		return err
	}
	if err := e.Exec(`DELETE FROM message_payloads WHERE message = ?`, int64(m.ID)); err != nil {
		return err
	}
	if err := w.Attach(m.ID, &m.Row); err != nil {
		return err
	}
	for _, num := range held {
		if _, _, err := record.DropUnusedPayload(e.Conn, num); err != nil {
			return err
		}
	}
	return nil
}

// relink computes the chain of a conversation again. The links of erased
// messages stay.
func (e *erasing) relink(id store.ConversationID) error {
	type link struct {
		id    int64
		chain []byte
	}
	var links []link
	head := store.Genesis
	err := e.Query(`
		SELECT id, role, flags, said, native, format, size, sha256, body, chain FROM messages WHERE conversation = ? ORDER BY seq`, func(s *sqlite3.Stmt) error {
		if s.ColumnInt64(2)&int64(store.FlagErased) != 0 {
			copy(head[:], s.ColumnRawBlob(9))
			return nil
		}
		m := store.NewMessage{
			Role: store.RoleOf(s.ColumnInt(1)), Flags: store.Flag(s.ColumnInt64(2)), Said: dbfile.Millis(s, 3), Native: s.ColumnText(4),
			Format: record.FormatOf(s.ColumnRawText(5)), Size: s.ColumnInt64(6),
		}
		copy(m.SHA256[:], s.ColumnRawBlob(7))
		var body []byte
		if s.ColumnType(8) != sqlite3.NULL {
			body = s.ColumnBlob(8, nil)
		}
		head = store.Link(head, m, body)
		links = append(links, link{s.ColumnInt64(0), append([]byte{}, head[:]...)})
		return nil
	}, int64(id))
	if err != nil {
		return err
	}
	for _, l := range links {
		if err := e.Exec(`UPDATE messages SET chain = ? WHERE id = ? AND chain <> ?`, l.chain, l.id, l.chain); err != nil {
			return err
		}
	}
	return e.Exec(`UPDATE conversations SET head = ? WHERE id = ?`, head[:], int64(id))
}
