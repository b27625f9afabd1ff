package repair

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/sqlite/check"
	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/sqlite/record"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/llms"
)

// placeLoose puts back what nothing leads to: summaries whose messages are all
// unclaimed, the deepest first, and then the messages that are left.
func (m *mender) placeLoose() error {
	nodes := slices.Clone(m.nodes)
	slices.SortStableFunc(nodes, func(a, b check.SummaryNode) int { return cmp.Compare(m.derived[b.Num].Depth, m.derived[a.Num].Depth) })
	for _, n := range nodes {
		e := record.Edge{Num: n.Num, Node: store.Node{Summary: n.ID}}
		if n.Retired || m.claimed[e] || m.derived[n.Num].Messages == 0 {
			continue
		}
		ok, err := m.claim(e)
		if err != nil {
			return err
		}
		if ok {
			if err := m.putBack(e, m.derived[n.Num].Pos, m.derived[n.Num].Latest.UnixMilli()); err != nil {
				return err
			}
		}
	}
	for id, msg := range m.own {
		e := record.Edge{Node: store.Node{Message: id}}
		if msg.hidden || m.claimed[e] {
			continue
		}
		m.claimed[e] = true
		if err := m.putBack(e, msg.pos, msg.stored); err != nil {
			return err
		}
	}
	return nil
}

// putBack places a node on the branch that it must have left the view with,
// else in the view.
func (m *mender) putBack(e record.Edge, pos, stored int64) error {
	branch, err := m.branchAt(pos, stored)
	if err != nil {
		return err
	}
	m.changed = true
	m.places = append(m.places, placement{Edge: e, pos: pos, branch: branch})
	return nil
}

// branchAt finds the branch that holds a position: one that was cut off before
// it, when the message was there, or whose items stand around it.
func (m *mender) branchAt(pos, stored int64) (branch int64, err error) {
	err = m.Query(`SELECT id, after, created_at FROM branches WHERE conversation = ? ORDER BY id DESC`, func(s *sqlite3.Stmt) error {
		id, after, cut := s.ColumnInt64(0), int64(0), s.ColumnInt64(2)
		if at, ok := m.own[store.MessageID(s.ColumnInt64(1))]; ok {
			after = at.pos
		}
		before, behind := false, false
		for _, p := range m.places {
			if p.branch == id {
				before, behind = before || p.pos < pos, behind || p.pos > pos
			}
		}
		if after < pos && (stored < cut || before && behind) {
			branch = id
		}
		return nil
	}, int64(m.ID))
	return branch, err
}

// mendRetired marks the summaries that nothing leads to any more, and only
// those. One that has lost its sources as well leads nowhere and can be proved by
// nothing: it goes, and what it was made from has its place without it.
func (m *mender) mendRetired() error {
	for _, n := range m.nodes {
		retired := !m.claimed[record.Edge{Num: n.Num, Node: store.Node{Summary: n.ID}}]
		if sources, err := record.Edges(m.Conn, n.Num); err != nil {
			return err
		} else if retired && len(sources) == 0 {
			if err := m.drop(n.Num); err != nil {
				return err
			}
			continue
		}
		if retired == n.Retired {
			continue
		}
		if err := m.Exec(`UPDATE summaries SET retired = ? WHERE num = ?`, retired, n.Num); err != nil {
			return err
		}
	}
	return nil
}

// drop removes a summary.
func (m *mender) drop(num int64) error {
	return errors.Join(m.Exec(`DELETE FROM revisions WHERE summary = ?`, num), m.Exec(`DELETE FROM summaries WHERE num = ?`, num))
}

// writePlaces writes the view and the branches, if they are not so already.
func (m *mender) writePlaces() error {
	var view []record.ViewItem
	for _, p := range m.places {
		if p.branch != 0 {
			continue
		}
		it, err := m.itemAt(p)
		if err != nil {
			return err
		}
		view = append(view, it)
	}
	slices.SortFunc(view, func(a, b record.ViewItem) int { return cmp.Compare(a.Pos, b.Pos) })
	old, err := record.ViewItems(m.Conn, m.ID, -1<<62, 1<<62)
	same := err == nil && slices.EqualFunc(old, view, func(a, b record.ViewItem) bool {
		return a.Pos == b.Pos && a.Node == b.Node && a.Num == b.Num && a.Stub == b.Stub && a.Tokens == b.Tokens && check.ItemDifference(a, b) == ""
	})
	if same && !m.changed {
		return nil
	}
	if err := m.Exec(`DELETE FROM view WHERE conversation = ?`, int64(m.ID)); err != nil {
		return err
	}
	for _, it := range view {
		if err := record.InsertItem(m.Conn, m.ID, it); err != nil {
			return err
		}
	}
	if err := m.Exec(`DELETE FROM branch_items WHERE branch IN (SELECT id FROM branches WHERE conversation = ?)`, int64(m.ID)); err != nil {
		return err
	}
	for _, p := range m.places {
		if p.branch == 0 {
			continue
		}
		err := m.Exec(`INSERT INTO branch_items (branch, pos, message, summary) VALUES (?, ?, ?, ?)`, p.branch, p.pos, dbfile.Null(int64(p.Message)), dbfile.Null(p.Num))
		if err != nil {
			return err
		}
	}
	return nil
}

// itemAt is the view item of a placement. A message that does not decode any
// more is shown without its tool calls.
func (m *mender) itemAt(p placement) (record.ViewItem, error) {
	items, err := record.ItemsOf(m.Conn, []record.Edge{p.Edge})
	if err != nil {
		items = []record.ViewItem{{Item: store.Item{Node: p.Node}}}
		_, err = m.One(`SELECT tokens, role FROM messages WHERE id = ?`, func(s *sqlite3.Stmt) error {
			items[0].Tokens, items[0].Role = s.ColumnInt(0), store.RoleOf(s.ColumnInt(1))
			return nil
		}, int64(p.Message))
	}
	it := items[0]
	it.Num, it.Pos = p.Num, p.pos
	if p.stub {
		it.Stub, it.Tokens = true, p.tokens
	}
	return it, err
}

// mendTotals counts a conversation anew. How many messages there are, and
// where the chain ends, is left alone where they disagree: that is how a loss
// is told.
func (m *mender) mendTotals() error {
	var count, tokens, bytes int64
	_, err := m.One(`SELECT count(*), ifnull(sum(tokens), 0), ifnull(sum(size), 0) FROM messages WHERE conversation = ?`, func(s *sqlite3.Stmt) error {
		count, tokens, bytes = s.ColumnInt64(0), s.ColumnInt64(1), s.ColumnInt64(2)
		return nil
	}, int64(m.ID))
	if err != nil {
		return err
	}
	head, linked, err := m.lastLink(count)
	if err != nil {
		return err
	}
	if linked && (head == m.Head || count == m.Row.Messages) {
		err := m.Exec(`UPDATE conversations SET messages = ?, tokens = ?, bytes = ?, head = ? WHERE id = ?`, count, tokens, bytes, head[:], int64(m.ID))
		if err != nil {
			return err
		}
	}
	newest, err := check.NewestTime(m.Conn, m.Row)
	if err != nil {
		return err
	}
	user, err := record.NewestUser(m.Conn, m.ID)
	if err != nil {
		return err
	}
	return m.Exec(`
		UPDATE conversations SET last_user = ?2, updated_at = iif(?3 = 0, updated_at, ?3),
			erased = (SELECT count(*) FROM messages WHERE conversation = ?1 AND flags & 128 <> 0),
			summaries = (SELECT count(*) FROM summaries WHERE conversation = ?1),
			view_items = (SELECT count(*) FROM view WHERE conversation = ?1),
			view_tokens = (SELECT ifnull(sum(tokens), 0) FROM view WHERE conversation = ?1)
		WHERE id = ?1`, int64(m.ID), user, newest)
}

// lastLink returns the link of the last message of a conversation with that
// many, and whether it follows from the one before.
func (m *mender) lastLink(count int64) (head [sha256.Size]byte, linked bool, err error) {
	prev := store.Genesis
	if count == 0 {
		return prev, true, nil
	}
	if count > 1 {
		found, err := m.One(`SELECT chain FROM messages WHERE conversation = ? AND seq = ?`, func(s *sqlite3.Stmt) error {
			copy(prev[:], s.ColumnRawBlob(0))
			return nil
		}, int64(m.ID), count-1)
		if err != nil || !found {
			return head, false, err
		}
	}
	found, err := m.One(`SELECT role, flags, said, native, format, size, sha256, chain, body FROM messages WHERE conversation = ? AND seq = ?`,
		func(s *sqlite3.Stmt) error {
			n := store.NewMessage{
				Role: store.RoleOf(s.ColumnInt(0)), Flags: store.Flag(s.ColumnInt64(1)), Said: dbfile.Millis(s, 2), Native: s.ColumnText(3),
				Format: llms.Format(s.ColumnText(4)), Size: s.ColumnInt64(5),
			}
			copy(n.SHA256[:], s.ColumnRawBlob(6))
			copy(head[:], s.ColumnRawBlob(7))
			var body []byte
			if s.ColumnType(8) != sqlite3.NULL {
				body = s.ColumnBlob(8, []byte{})
			}
			// What the link of an erased message was made from is gone.
			linked = n.Flags&store.FlagErased != 0 || store.Link(prev, n, body) == head
			return nil
		}, int64(m.ID), count)
	return head, linked && found, err
}
