package move

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
)

// growing appends the messages that conversations have in another database and not here.
type growing struct {
	here, there *rows.Records
	from        *dbfile.Conn // reads there
	out         Merged
	same        map[int64]int64 // the conversations that are here, by their number there
}

// all visits the conversations of the other database. Origins come before their forks.
func (g *growing) all(ctx context.Context) error {
	list, err := sqldb.List(g.from, unerased, rows.ScanConversation)
	if err != nil {
		return err
	}
	return sqldb.Each(list, func(c rows.Row) error {
		here, forked, err := g.find(ctx, c)
		if err != nil || here.ID == 0 || !here.ErasedAt.IsZero() { // [merging] adds it, or tells why not
			return err
		}
		g.same[int64(c.ID)] = int64(here.ID)
		added, damaged, err := g.grow(ctx, c, here)
		switch {
		case errors.Is(err, store.ErrArchived):
			g.out.conflict(c, "it is archived here, and has other messages there")
		case err != nil:
			return fmt.Errorf("add messages to the session %q: %w", c.Key, err)
		case damaged > 0:
			g.out.conflict(c, fmt.Sprintf("of its new messages %d are damaged, the others were added", damaged))
		case forked:
			g.out.Added++
		case added > 0:
			g.out.Grown++
		default:
			g.out.Known++
		}
		g.out.Messages += added
		return nil
	})
}

// find returns the conversation that is here, or none. Of a conversation that is here it makes
// the forks that are new.
func (g *growing) find(ctx context.Context, c rows.Row) (here store.Conversation, forked bool, err error) {
	var at store.MessageID
	err = g.here.DB.Reader(ctx, func(conn sqldb.Conn) error {
		all, err := sqldb.List(conn, `SELECT`+rows.ConversationColumns+` WHERE c.key = ?`, rows.ScanConversation, c.Key)
		for _, r := range all {
			if r.Segment == c.Segment {
				here = r.Conversation
			}
		}
		if err != nil || len(all) > 0 || c.ForkedFrom == 0 || c.Segment != 1 {
			return err
		}
		var of, seq int64
		var link [32]byte
		if _, err = g.from.One(`SELECT conversation, seq, chain FROM messages WHERE id = ?`, sqldb.Into(&of, &seq, &link), int64(c.ForkedAt)); err != nil {
			return err
		}
		_, err = conn.One(`SELECT id FROM messages WHERE conversation = ? AND seq = ? AND chain = ?`, sqldb.Into(&at), g.same[of], seq, link[:])
		return err
	})
	if err != nil || at == 0 {
		return here, false, err
	}
	here, err = g.here.Fork(ctx, store.ConversationID(g.same[int64(c.ForkedFrom)]), at, store.NewConversation{
		Key: c.Key, Agent: c.Agent, Project: c.Project, Title: c.Title, Parent: store.ConversationID(g.same[int64(c.Parent)]), Time: c.CreatedAt,
	})
	return here, true, err
}

// grow appends the messages after those that both databases begin with. A conversation that is
// archived there is archived here too, unless it has messages of its own here.
func (g *growing) grow(ctx context.Context, c rows.Row, here store.Conversation) (added int64, damaged int, err error) {
	known, err := g.common(ctx, c, here)
	head := here.Head
	if err == nil && known < c.Messages {
		_, err = g.here.Update(ctx, here.ID, func(w store.Writer) (err error) {
			damaged, err = g.tail(ctx, w.(*rows.Writer), c.ID, known)
			added, head = w.Conversation().Messages-here.Messages, w.Conversation().Head
			return err
		})
	}
	if err == nil && head == c.Head && !c.Active() {
		err = g.here.Archive(ctx, here.ID, c.ArchiveCause)
	}
	return added, damaged, err
}

// common returns how many messages both conversations begin with: the link of a message covers
// those before it.
func (g *growing) common(ctx context.Context, c rows.Row, here store.Conversation) (n int64, err error) {
	err = g.here.DB.Reader(ctx, func(conn sqldb.Conn) error {
		var failed error
		n = int64(sort.Search(int(min(here.Messages, c.Messages)), func(i int) bool {
			mine, _, err := rows.LinkAt(conn, here.ID, int64(i)+1)
			theirs, _, errThere := rows.LinkAt(g.from, c.ID, int64(i)+1)
			failed = errors.Join(failed, err, errThere)
			return mine != theirs
		}))
		return failed
	})
	return n, err
}

// tail appends the messages of a conversation after the first ones, and counts the damaged ones,
// which it leaves out.
func (g *growing) tail(ctx context.Context, w *rows.Writer, id store.ConversationID, after int64) (damaged int, err error) {
	link, _, err := rows.LinkAt(g.from, id, after)
	if err != nil {
		return 0, err
	}
	err = g.from.Stream(`SELECT `+rows.MessageColumns+` FROM messages m WHERE m.conversation = ? AND m.seq > ? ORDER BY m.seq`, func(s sqldb.Row) error {
		m := rows.ScanMessage(s, 0)
		together := w.Head == link
		link = m.Chain
		if m.Flags&store.FlagErased != 0 {
			return nil
		}
		whole := m.Intact(s, 0)
		if whole {
			if whole, err = g.put(ctx, w, m, together); err != nil {
				return err
			}
		}
		if !whole {
			damaged++
		}
		return nil
	}, int64(id), after)
	return damaged, err
}

// put stores a message with its payloads, unless it was erased here. It reports whether they are
// whole. together says that the messages before it are the same here.
func (g *growing) put(ctx context.Context, w *rows.Writer, m rows.MessageRow, together bool) (whole bool, err error) {
	row, err := m.Again()
	if err != nil {
		return false, nil // it is damaged
	}
	gone, err := w.Forgotten(ctx, fingerprint(ctx, g.there, m.ID, row))
	if err != nil || gone {
		return true, err
	}
	if row.Native == "" && !together {
		// By this id the next archive of the conversation knows it.
		row.Native = "lcm-archive:" + hex.EncodeToString(m.Chain[:12])
	}
	w.Now = m.Stored // what refuses messages has been read with the time of now
	row.Payloads, err = sqldb.Column[store.PayloadID](g.from, `SELECT p.id FROM message_payloads mp JOIN payloads p ON p.num = mp.payload WHERE mp.message = ? ORDER BY p.num`, int64(m.ID))
	if err != nil {
		return false, err
	}
	for _, id := range row.Payloads {
		p, err := g.there.Payload(ctx, id)
		if err != nil || p.Damaged {
			return false, err
		}
		data, err := io.ReadAll(io.NewSectionReader(p.Content, 0, p.Size))
		if err != nil {
			return false, err
		}
		stored, err := w.PutPayload(ctx, store.NewPayload{Data: data, MIME: p.MIME, Name: p.Name, Path: p.Path, Kind: p.Kind, Summary: p.Summary, Tokens: p.Tokens})
		if err == nil && stored != id {
			err = fmt.Errorf("other content has the id %s here", id)
		}
		if err != nil {
			return false, err
		}
	}
	_, err = ingest.Put(ctx, w, row)
	return true, err
}
