package sqlite

import (
	"context"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/store"
)

// Rewind implements [store.Writer]. A summary that reaches past the message
// is taken apart into its sources, so that the part before the message stays
// in the view; the summary is kept, marked as retired.
func (w *writer) Rewind(_ context.Context, to store.MessageID, cause string) (store.Branch, error) {
	var pos int64
	if to != 0 {
		var err error
		if pos, err = w.position(to); err != nil {
			return store.Branch{}, err
		}
	}
	items, err := w.items(w.ID, 0, 1<<62)
	if err != nil {
		return store.Branch{}, err
	}
	keep := items
	if to != 0 {
		if keep, err = w.unfoldTo(items, to, pos); err != nil {
			return store.Branch{}, err
		}
	}
	kept, gone := split(keep, pos)
	if to == 0 {
		kept, gone = nil, items
	}
	b, err := w.branchOff(to, cause, gone)
	if err != nil {
		return b, err
	}
	return b, w.setView(items, kept, gone)
}

func split(items []viewItem, pos int64) (kept, gone []viewItem) {
	for i, it := range items {
		if it.Pos > pos {
			return items[:i:i], items[i:]
		}
	}
	return items, nil
}

// unfoldTo replaces the item that covers a message with its sources, until
// the message stands in the list itself.
func (c *conn) unfoldTo(items []viewItem, to store.MessageID, pos int64) ([]viewItem, error) {
	for {
		i := len(items) - 1
		for i >= 0 && items[i].Pos > pos {
			i--
		}
		switch {
		case i >= 0 && items[i].Message == to:
			return items, nil
		case i < 0 || !items[i].IsSummary():
			return nil, fmt.Errorf("%s: %w", to, store.ErrOffBranch)
		}
		sources, err := c.sourceItems(items[i].num)
		if err != nil {
			return nil, err
		}
		unfolded := append([]viewItem{}, items[:i]...)
		unfolded = append(unfolded, sources...)
		items = append(unfolded, items[i+1:]...)
	}
}

// sourceItems rebuilds the view items that a summary was made from.
func (c *conn) sourceItems(num int64) ([]viewItem, error) {
	edges, err := c.edges(num)
	if err != nil {
		return nil, err
	}
	var items []viewItem
	for _, e := range edges {
		it := viewItem{num: e.num, Item: store.Item{Node: e.Node}}
		if e.IsSummary() {
			err = c.query(`SELECT pos, tokens, depth FROM summaries WHERE num = ?`, func(s *sqlite3.Stmt) error {
				it.Pos, it.Tokens, it.Depth = s.ColumnInt64(0), s.ColumnInt(1), s.ColumnInt(2)
				return nil
			}, e.num)
		} else {
			it.Item, err = c.messageItem(e.Message)
		}
		if err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	return items, nil
}

// messageItem rebuilds the view item of a message from its row.
func (c *conn) messageItem(id store.MessageID) (store.Item, error) {
	pos, err := c.position(id)
	if err != nil {
		return store.Item{}, err
	}
	it := store.Item{Pos: pos, Node: store.Node{Message: id}}
	_, err = c.one(`SELECT`+messageColumns+` WHERE m.id = ?`, func(s *sqlite3.Stmt) error {
		m, err := scanMessage(s)
		if err != nil {
			return err
		}
		it.Tokens, it.Role = m.Tokens, m.Body.Role
		it.Calls, it.Results = store.Links(m.Body)
		return nil
	}, int64(id))
	return it, err
}

// branchOff keeps items that leave the view.
func (w *writer) branchOff(after store.MessageID, cause string, gone []viewItem) (store.Branch, error) {
	b := store.Branch{Conversation: w.ID, After: after, Cause: cause, Items: len(gone), CreatedAt: w.now}
	if len(gone) == 0 {
		return b, nil
	}
	err := w.exec(`INSERT INTO branches (conversation, after, cause, created_at) VALUES (?, ?, ?, ?)`,
		int64(w.ID), null(int64(after)), cause, w.now)
	if err != nil {
		return b, err
	}
	b.ID = w.LastInsertRowID()
	for _, it := range gone {
		err := w.exec(`INSERT INTO branch_items (branch, pos, message, summary) VALUES (?, ?, ?, ?)`,
			b.ID, it.Pos, null(int64(it.Message)), null(it.num))
		if err != nil {
			return b, err
		}
	}
	return b, nil
}

// setView makes kept the view. Summaries of the old view that are neither
// kept nor on the branch were taken apart on the way.
func (w *writer) setView(old, kept, gone []viewItem) error {
	stays := map[int64]bool{}
	for _, it := range kept {
		stays[it.num] = true
	}
	for _, it := range gone {
		stays[it.num] = true
	}
	if err := w.retire(old, stays); err != nil {
		return err
	}
	if err := w.exec(`DELETE FROM view WHERE conversation = ?`, int64(w.ID)); err != nil {
		return err
	}
	w.dirty = true
	w.ViewItems, w.ViewTokens = len(kept), 0
	for _, it := range kept {
		if err := w.insertItem(w.ID, it); err != nil {
			return err
		}
		w.ViewTokens += it.Tokens
	}
	return w.findLastUser()
}

// retire marks the summaries that lie between the old items and those that
// stay.
func (w *writer) retire(items []viewItem, stays map[int64]bool) error {
	for _, it := range items {
		if !it.IsSummary() || stays[it.num] {
			continue
		}
		if err := w.exec(`UPDATE summaries SET retired = 1 WHERE num = ? AND conversation = ?`, it.num, int64(w.ID)); err != nil {
			return err
		}
		sources, err := w.edges(it.num)
		if err != nil {
			return err
		}
		var below []viewItem
		for _, e := range sources {
			below = append(below, viewItem{num: e.num, Item: store.Item{Node: e.Node}})
		}
		if err := w.retire(below, stays); err != nil {
			return err
		}
	}
	return nil
}
