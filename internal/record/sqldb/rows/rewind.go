package rows

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Rewind implements [store.Writer]. A summary that reaches past the message
// is taken apart into its sources, so that the part before the message stays
// in the view; the summary is kept, marked as retired.
func (w *Writer) Rewind(ctx context.Context, to store.MessageID, cause string) (store.Branch, error) {
	items, err := AllItems(w.Conn, w.ID)
	if err != nil {
		return store.Branch{}, err
	}
	if to == 0 {
		return w.leave(items, items, nil, 0, cause)
	}
	pos, err := MessagePosition(w.Conn, to)
	if err != nil {
		return store.Branch{}, err
	}
	unfolded, err := UnfoldTo(w.Conn, items, to, pos)
	if errors.Is(err, store.ErrOffBranch) {
		return w.restore(ctx, to, pos, cause)
	}
	if err != nil {
		return store.Branch{}, err
	}
	kept, gone := Split(unfolded, pos)
	return w.leave(items, gone, kept, to, cause)
}

// leave stores the items that leave the view as a branch, and makes kept the
// view.
func (w *Writer) leave(old, gone, kept []ViewItem, to store.MessageID, cause string) (store.Branch, error) {
	b, err := w.branchOff(to, cause, gone)
	if err != nil {
		return b, err
	}
	return b, w.setView(old, kept, gone)
}

// restore makes the branch with a message active again, up to that message: the
// view is rewound to the start of the branch, and the items of the branch
// follow. Items past the message stay a branch.
func (w *Writer) restore(ctx context.Context, to store.MessageID, pos int64, cause string) (store.Branch, error) {
	branch, after, err := w.BranchOf(to)
	if err != nil {
		return store.Branch{}, err
	}
	left, err := w.Rewind(ctx, after, cause)
	if err != nil {
		return left, err
	}
	items, err := w.BranchItems(branch)
	if err != nil {
		return left, err
	}
	unfolded, err := UnfoldTo(w.Conn, items, to, pos)
	if err != nil {
		return left, err
	}
	back, rest := Split(unfolded, pos)
	if err := w.ExecAll([]string{`DELETE FROM branch_items WHERE branch = ?`, `DELETE FROM branches WHERE id = ?`}, branch); err != nil {
		return left, err
	}
	if _, err := w.branchOff(to, cause, rest); err != nil {
		return left, err
	}
	view, err := AllItems(w.Conn, w.ID)
	if err != nil {
		return left, err
	}
	if err := w.retire(items, numbers(unfolded)); err != nil {
		return left, err
	}
	return left, w.setView(view, append(view, back...), nil)
}

// BranchOf finds the kept branch that leads to a message, and the message it
// left the view after.
func (w *Writer) BranchOf(id store.MessageID) (branch int64, after store.MessageID, err error) {
	found, err := w.One(`
		WITH RECURSIVE above (num) AS (
			SELECT summary FROM edges WHERE message = ?1
			UNION SELECT e.summary FROM edges e JOIN above ON e.source = above.num
		)
		SELECT b.id, b.after FROM branches b JOIN branch_items bi ON bi.branch = b.id
		WHERE b.conversation = ?2 AND (bi.message = ?1 OR bi.summary IN (SELECT num FROM above))
		ORDER BY b.id DESC LIMIT 1`, sqldb.Into(&branch, &after), int64(id), int64(w.ID))
	if err == nil && !found {
		err = fmt.Errorf("%s: %w", id, store.ErrOffBranch)
	}
	return branch, after, err
}

// BranchItems rebuilds the view items of a kept branch.
func (w *Writer) BranchItems(branch int64) ([]ViewItem, error) {
	nodes, err := Kept(w.Conn, w.ID, branch)
	if err != nil {
		return nil, err
	}
	return ItemsOf(w.Conn, nodes)
}

// Active implements [store.Writer].
func (w *Writer) Active(_ context.Context, id store.MessageID) (bool, error) {
	pos, err := MessagePosition(w.Conn, id)
	if err != nil {
		return false, err
	}
	items, err := ViewItems(w.Conn, w.ID, 0, pos)
	if err != nil {
		return false, err
	}
	_, err = UnfoldTo(w.Conn, items, id, pos)
	if errors.Is(err, store.ErrOffBranch) {
		return false, nil
	}
	return err == nil, err
}

// Split divides items into those up to a position and those after it.
func Split(items []ViewItem, pos int64) (kept, gone []ViewItem) {
	i := slices.IndexFunc(items, func(it ViewItem) bool { return it.Pos > pos })
	if i < 0 {
		return items, nil
	}
	return items[:i:i], items[i:]
}

// UnfoldTo replaces the item that covers a message with its sources, until
// the message stands in the list itself.
func UnfoldTo(c sqldb.Conn, items []ViewItem, to store.MessageID, pos int64) ([]ViewItem, error) {
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
		sources, err := SourceItems(c, items[i].Num)
		if err != nil {
			return nil, err
		}
		items = slices.Concat(items[:i], sources, items[i+1:])
	}
}

// SourceItems rebuilds the view items that a summary was made from.
func SourceItems(c sqldb.Conn, num int64) ([]ViewItem, error) {
	edges, err := Edges(c, num)
	if err != nil {
		return nil, err
	}
	return ItemsOf(c, edges)
}

// ItemsOf rebuilds the view items of nodes.
func ItemsOf(c sqldb.Conn, edges []Edge) ([]ViewItem, error) {
	var items []ViewItem
	for _, e := range edges {
		var err error
		it := ViewItem{Num: e.Num, Item: store.Item{ID: e.ID}}
		if e.IsSummary() {
			_, err = c.One(`SELECT pos, tokens, depth FROM summaries WHERE num = ?`, sqldb.Into(&it.Pos, &it.Tokens, &it.Depth), e.Num)
		} else {
			it.Item, err = messageItem(c, e.Message)
		}
		if err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	return items, nil
}

// messageItem rebuilds the view item of a message from its row.
func messageItem(c sqldb.Conn, id store.MessageID) (store.Item, error) {
	pos, err := MessagePosition(c, id)
	if err != nil {
		return store.Item{}, err
	}
	it := store.Item{Pos: pos, ID: store.ID{Message: id}}
	_, err = c.One(`SELECT `+MessageColumns+` FROM messages m WHERE m.id = ?`, func(s sqldb.Row) error {
		m, err := scanMessage(s, true)
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
func (w *Writer) branchOff(after store.MessageID, cause string, gone []ViewItem) (store.Branch, error) {
	b := store.Branch{Conversation: w.ID, After: after, Cause: cause, Items: len(gone), CreatedAt: w.Now}
	if len(gone) == 0 {
		return b, nil
	}
	id, err := w.Insert("id", seal.Branches.Insert(), seal.Branches.Row(int64(w.ID), sqldb.Null(int64(after)), cause, w.Now)...)
	if err != nil {
		return b, err
	}
	b.ID = id
	for _, it := range gone {
		err := w.Exec(`INSERT INTO branch_items (branch, pos, message, summary) VALUES (?, ?, ?, ?)`,
			b.ID, it.Pos, sqldb.Null(int64(it.Message)), sqldb.Null(it.Num))
		if err != nil {
			return b, err
		}
	}
	return b, nil
}

// setView makes kept the view. Summaries of the old view that are neither kept
// nor on the branch are retired.
func (w *Writer) setView(old, kept, gone []ViewItem) error {
	if err := w.retire(old, numbers(slices.Concat(kept, gone))); err != nil {
		return err
	}
	if err := w.Exec(`DELETE FROM view WHERE conversation = ?`, int64(w.ID)); err != nil {
		return err
	}
	w.dirty = true
	w.ViewItems, w.ViewTokens = len(kept), 0
	for _, it := range kept {
		if err := InsertItem(w.Conn, w.ID, it); err != nil {
			return err
		}
		w.ViewTokens += it.Tokens
	}
	return w.findLastUser()
}

// numbers returns the set of the numbers of the summaries among items.
func numbers(items []ViewItem) map[int64]bool {
	set := map[int64]bool{}
	for _, it := range items {
		set[it.Num] = true
	}
	return set
}

// retire retires the summaries among items, and beneath them, down to those that
// stay.
func (w *Writer) retire(items []ViewItem, stays map[int64]bool) error {
	return sqldb.Each(items, func(it ViewItem) error { return w.retireNode(Edge{it.ID, it.Num}, stays) })
}

func (w *Writer) retireNode(e Edge, stays map[int64]bool) error {
	if !e.IsSummary() || stays[e.Num] {
		return nil
	}
	err := seal.Summaries.Keep(w.Conn, "s.num = ? AND s.conversation = ?", func() error {
		return w.Exec(`UPDATE summaries SET retired = TRUE WHERE num = ? AND conversation = ?`, e.Num, int64(w.ID))
	}, e.Num, int64(w.ID))
	if err != nil {
		return err
	}
	sources, err := Edges(w.Conn, e.Num)
	if err != nil {
		return err
	}
	return sqldb.Each(sources, func(e Edge) error { return w.retireNode(e, stays) })
}
