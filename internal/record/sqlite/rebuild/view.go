package rebuild

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/lossless-context/lcm/internal/record/proof/verify"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/store"
)

// placement is an item of the view, or of a kept branch.
type placement struct {
	rows.Edge
	pos    int64
	branch int64 // 0 for the view
	stub   bool
	tokens int // of a stub
}

// rebuildView makes the view and the kept branches lead to every message once.
// Items that are there are placed first, then the nodes that nothing leads to.
func (r *rebuild) rebuildView() error {
	for _, nodes := range []func() ([]placement, error){r.readPlacements, r.looseNodes} {
		all, err := nodes()
		if err == nil {
			err = r.place(all)
		}
		if err != nil {
			return err
		}
	}
	return sqldb.Steps(r.markRetired, r.writePlacements)
}

// place places nodes. They claim the messages below them, the deepest summary before the
// others: of two that claim a message, the larger is the likelier to be right, and a
// message alone is never lost by being taken out.
func (r *rebuild) place(all []placement) error {
	rank := func(p placement) int { return r.derived[p.Num].Depth + min(1, int(p.Num)) }
	slices.SortStableFunc(all, func(a, b placement) int { return cmp.Compare(rank(b), rank(a)) })
	for _, p := range all {
		pos, err := rows.NodePosition(r.Conn, p.Edge)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		p.pos = pos
		free, below := true, map[rows.Edge]bool{}
		if err == nil {
			err = r.descend(p.Edge, func(e rows.Edge) error {
				belongs, err := r.belongs(e)
				if errors.Is(err, store.ErrNotFound) { // a missing message is left out
					return nil
				}
				free = free && belongs && !r.claimed[e] && !below[e] && !r.messages[e.Message].hidden
				below[e] = true
				return err
			})
		}
		if err != nil {
			return err
		}
		if free { // nothing else leads to a part of it
			maps.Copy(r.claimed, below)
			r.placed = append(r.placed, p)
		}
	}
	return nil
}

// readPlacements reads the view and the kept branches as they are, without items of other branches.
func (r *rebuild) readPlacements() ([]placement, error) {
	return sqldb.List(r.Conn, `
		SELECT 0 AS branch, v.pos AS pos, v.message, v.summary, s.id, v.stub, v.tokens FROM view v LEFT JOIN summaries s ON s.num = v.summary
		WHERE v.conversation = ?1
		UNION ALL SELECT b.id, bi.pos, bi.message, bi.summary, s.id, 0, 0
		FROM branches b JOIN branch_items bi ON bi.branch = b.id LEFT JOIN summaries s ON s.num = bi.summary
		WHERE b.conversation = ?1 AND bi.pos > `+verify.BranchStart+` ORDER BY branch, pos`, func(s sqldb.Row) placement {
		p := placement{Edge: rows.Edge{Num: s.ColumnInt64(3)}, pos: s.ColumnInt64(1), branch: s.ColumnInt64(0), stub: s.ColumnBool(5), tokens: s.ColumnInt(6)}
		p.Message, p.Summary = store.MessageID(s.ColumnInt64(2)), store.SummaryID(s.ColumnText(4))
		return p
	}, int64(r.ID))
}

// descend visits a node and the nodes below it.
func (r *rebuild) descend(e rows.Edge, visit func(rows.Edge) error) error {
	if err := visit(e); err != nil || e.Num == 0 {
		return err
	}
	sources, err := rows.Edges(r.Conn, e.Num) // they were made again, and are older
	if err != nil {
		return err
	}
	return sqldb.Each(sources, func(s rows.Edge) error { return r.descend(s, visit) })
}

// looseNodes returns the nodes that nothing leads to: summaries, messages, and messages that
// a fork started with. They belong to the branch that was cut off before their position when
// they existed already, else to the view.
func (r *rebuild) looseNodes() (loose []placement, err error) {
	add := func(e rows.Edge, pos, stored int64) {
		if r.claimed[e] || err != nil {
			return
		}
		p := placement{Edge: e}
		p.branch, err = sqldb.Value[int64](r.Conn, `
			SELECT b.id FROM branches b WHERE b.conversation = ? AND b.created_at > ? AND `+verify.BranchStart+` < ? ORDER BY b.id LIMIT 1`, int64(r.ID), stored, pos)
		loose = append(loose, p)
	}
	for _, n := range r.summaries {
		if want := r.derived[n.Num]; !n.Retired && want.Messages > 0 {
			add(rows.Edge{Num: n.Num, ID: store.ID{Summary: n.ID}}, want.Pos, want.Latest.UnixMilli())
		}
	}
	for id, m := range r.messages {
		add(rows.Edge{ID: store.ID{Message: id}}, m.pos, m.stored)
	}
	for id, pos := range r.origin.messages {
		add(rows.Edge{ID: store.ID{Message: id}}, pos, math.MaxInt64)
	}
	return loose, err
}

// markRetired marks the summaries that nothing leads to, and only those.
func (r *rebuild) markRetired() error {
	for _, n := range r.summaries {
		retired := !r.claimed[rows.Edge{Num: n.Num, ID: store.ID{Summary: n.ID}}]
		if err := r.Exec(`UPDATE summaries SET retired = ? WHERE num = ?`, retired, n.Num); err != nil {
			return err
		}
	}
	return nil
}

// writePlacements writes the view and the branches.
func (r *rebuild) writePlacements() error {
	if err := r.ExecAll([]string{
		`DELETE FROM view WHERE conversation = ?`,
		`DELETE FROM branch_items WHERE branch IN (SELECT id FROM branches WHERE conversation = ?)`,
	}, int64(r.ID)); err != nil {
		return err
	}
	for _, p := range r.placed {
		var err error
		if p.branch != 0 {
			err = r.Exec(`INSERT INTO branch_items (branch, pos, message, summary) VALUES (?, ?, ?, ?)`, p.branch, p.pos, sqldb.Null(int64(p.Message)), sqldb.Null(p.Num))
		} else {
			var it rows.ViewItem
			if it, err = r.itemOf(p); err == nil {
				err = rows.InsertItem(r.Conn, r.ID, it)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// itemOf returns the view item of a placement. The item of a message that does
// not decode has no tool calls.
func (r *rebuild) itemOf(p placement) (rows.ViewItem, error) {
	items, err := rows.ItemsOf(r.Conn, []rows.Edge{p.Edge})
	if err != nil {
		items = []rows.ViewItem{{Item: store.Item{ID: p.ID}}}
		var role int
		_, err = r.One(`SELECT tokens, role FROM messages WHERE id = ?`, sqldb.Into(&items[0].Tokens, &role), int64(p.Message))
		items[0].Role = store.RoleOf(role)
	}
	it := items[0]
	it.Num, it.Pos = p.Num, p.pos
	if p.stub && p.tokens < it.Tokens {
		it.Stub, it.Tokens = true, p.tokens
	}
	return it, err
}
