package erase

import (
	"bytes"
	"context"
	"fmt"

	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Mask hides parts of messages. Their records and hashes stay. The links of the
// chain, which cover the visible part, are computed again. Summaries of the
// messages lose their text until they are reworded ([store.Eraser.Unworded]),
// and their part of the search index is dropped.
func (e Eraser) Mask(ctx context.Context, masks []store.Mask) error {
	if len(masks) == 0 {
		return nil
	}
	w := &erasing{now: e.DB.Now().UTC()}
	for _, m := range masks {
		w.order.Messages = append(w.order.Messages, m.ID)
	}
	return e.DB.Erase(ctx, func(c sqldb.Conn) error {
		*w = erasing{Conn: c, order: w.order, now: w.now}
		return sqldb.Steps(w.lock, w.collect, w.findAffected, w.findSummaries,
			func() error { return sqldb.Each(masks, func(m store.Mask) error { return w.maskOne(ctx, m) }) },
			func() error { return sqldb.Each(w.out.Affected, w.relink) },
			func() error {
				return w.Exec(`DELETE FROM revisions WHERE summary IN (SELECT num FROM temp.unwording)`)
			},
			w.unwordAll, w.recount, w.unindexed, w.reseal, w.dropScratch)
	})
}

// maskOne replaces the visible part of a message and its payloads.
func (e *erasing) maskOne(ctx context.Context, m store.Mask) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", m.ID, err)
		}
	}()
	w := &rows.Writer{Conn: e.Conn, Now: e.now}
	for i, p := range m.Payloads {
		id, err := w.PutPayload(ctx, p)
		if err != nil {
			return err
		}
		if id != m.Row.Payloads[i] {
			return fmt.Errorf("its payload %s is stored as %s", m.Row.Payloads[i], id)
		}
	}
	body, err := rows.EncodeBody(m.Row.Body)
	if err != nil {
		return err
	}
	cuts, err := rows.CutsOf(m.Row.Cuts)
	if err != nil {
		return err
	}
	held, err := sqldb.Column[int64](e.Conn, `SELECT payload FROM message_payloads WHERE message = ?`, int64(m.ID))
	if err != nil {
		return err
	}
	err = seal.Messages.Keep(e.Conn, "m.id = ?", func() error {
		return e.Exec(`UPDATE messages SET flags = flags | ?, record = ?, cuts = ?, body = ? WHERE id = ? AND sha256 = ?`,
			int64(store.FlagMasked), sqldb.Pack(m.Row.Record), cuts, rows.BodyColumn(body), int64(m.ID), m.Row.SHA256[:])
	}, int64(m.ID))
	if err != nil {
		return err
	}
	if err := e.Exec(`DELETE FROM message_payloads WHERE message = ?`, int64(m.ID)); err != nil {
		return err
	}
	if err := w.Attach(m.ID, &m.Row); err != nil {
		return err
	}
	return sqldb.Each(held, func(num int64) error {
		_, _, err := rows.DropUnusedPayload(e.Conn, num)
		return err
	})
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
	err := e.Stream(`SELECT `+rows.MessageColumns+` FROM messages m WHERE m.conversation = ? ORDER BY m.seq`, func(s sqldb.Row) error {
		m := rows.ScanMessage(s, 0)
		if m.Flags&store.FlagErased != 0 {
			head = m.Chain
			return nil
		}
		head = store.Link(head, m.NewMessage, m.StoredBody)
		if head != m.Chain {
			links = append(links, link{int64(m.ID), bytes.Clone(head[:])})
		}
		return nil
	}, int64(id))
	if err != nil {
		return err
	}
	err = sqldb.Each(links, func(l link) error {
		return seal.Messages.Keep(e.Conn, "m.id = ?", func() error { return e.Exec(`UPDATE messages SET chain = ? WHERE id = ?`, l.chain, l.id) }, l.id)
	})
	if err != nil {
		return err
	}
	return e.Exec(`UPDATE conversations SET head = ? WHERE id = ?`, head[:], int64(id))
}
