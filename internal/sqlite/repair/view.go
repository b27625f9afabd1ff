package repair

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/sqlite/check"
	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/sqlite/record"
	"github.com/lossless-context/lcm/internal/store"
)

// mender mends one conversation inside a transaction.
type mender struct {
	*dbfile.Conn
	record.Row
	own     map[store.MessageID]message
	nodes   []check.SummaryNode     // its summaries, sources first
	derived map[int64]store.Summary // what follows for summaries from their sources
	holders map[record.Edge]int     // how many summaries, view items and branches lead to a node directly
	loose   []source                // nodes that nothing leads to, by place
	hollow  map[int64]bool          // summaries without sources
	heirs   heritage                // what a fork may lead to of others

	moved     bool           // edges have changed in this round
	rewritten map[int64]bool // summaries whose numbers have changed

	places  []placement
	claimed map[record.Edge]bool
	changed bool
}

// message is what mending needs to know of a message.
type message struct {
	pos    int64
	hidden bool
	stored int64
}

// placement is an item of the view, or of a kept branch.
type placement struct {
	record.Edge
	pos    int64
	branch int64 // 0 for the view
	stub   bool
	tokens int // of a stub
}

// fixConversation makes edges, numbers, view, branches and totals of a
// conversation follow from its messages again.
func fixConversation(c *dbfile.Conn, id store.ConversationID) error {
	r, err := record.ReadConversation(c, id)
	if err != nil {
		return err
	}
	if !r.ErasedAt.IsZero() {
		return nil // nothing is left to be derived from
	}
	if r.Base, err = check.BasePosition(c, r); err != nil {
		return err
	}
	m := &mender{Conn: c, Row: r, derived: map[int64]store.Summary{}, claimed: map[record.Edge]bool{}}
	// What a summary led to that does not exist any more is loose.
	if err := m.Exec(`DELETE FROM edges WHERE summary NOT IN (SELECT num FROM summaries)`); err != nil {
		return err
	}
	if err := m.Exec(`UPDATE conversations SET base = ?1 WHERE id = ?2 AND base <> ?1`, r.Base, int64(id)); err != nil {
		return err
	}
	if err := m.survey(); err != nil {
		return err
	}
	if err := m.findHeritage(); err != nil {
		return err
	}
	if err := m.mendGraph(); err != nil {
		return err
	}
	if err := m.mendView(); err != nil {
		return err
	}
	return m.mendTotals()
}

// maxRounds bounds how often the graph is gone through: what one summary held
// in error is loose, and may be found by those before it, in the next round.
const maxRounds = 4

// mendGraph mends the edges and the numbers of all summaries, sources first.
func (m *mender) mendGraph() error {
	m.rewritten = map[int64]bool{}
	found := m.nodes // as they were found: what is derived may have been derived in error
	for range maxRounds {
		m.moved = false
		for _, n := range found {
			if err := m.mendEdges(n); err != nil {
				return err
			}
			if err := m.mendNumbers(n); err != nil {
				return err
			}
		}
		if !m.moved {
			break
		}
	}
	return m.survey()
}

// survey reads what there is, and what leads to it.
func (m *mender) survey() error {
	m.own, m.holders, m.loose, m.hollow = map[store.MessageID]message{}, map[record.Edge]int{}, nil, map[int64]bool{}
	err := m.Query(`SELECT id, seq, flags, stored FROM messages WHERE conversation = ?`, func(s *sqlite3.Stmt) error {
		m.own[store.MessageID(s.ColumnInt64(0))] = message{
			pos: m.Base + s.ColumnInt64(1), hidden: store.Flag(s.ColumnInt64(2))&(store.FlagHidden|store.FlagErased) != 0, stored: s.ColumnInt64(3),
		}
		return nil
	}, int64(m.ID))
	if err != nil {
		return err
	}
	if m.nodes, err = check.SummariesOf(m.Conn, m.ID); err != nil {
		return err
	}
	ids := map[int64]store.SummaryID{}
	for _, n := range m.nodes {
		ids[n.Num] = n.ID
	}
	for _, sql := range []string{
		`SELECT e.message, e.source FROM edges e JOIN summaries s ON s.num = e.summary WHERE s.conversation = ? AND NOT s.retired`,
		`SELECT message, summary FROM view WHERE conversation = ?`,
		`SELECT bi.message, bi.summary FROM branches b JOIN branch_items bi ON bi.branch = b.id WHERE b.conversation = ?`,
	} {
		err := m.Query(sql, func(s *sqlite3.Stmt) error {
			e := record.Edge{Num: s.ColumnInt64(1)}
			e.Message, e.Summary = store.MessageID(s.ColumnInt64(0)), ids[e.Num]
			m.holders[e]++
			return nil
		}, int64(m.ID))
		if err != nil {
			return err
		}
	}
	err = m.Query(`SELECT num FROM summaries WHERE conversation = ? AND NOT EXISTS (SELECT 1 FROM edges WHERE summary = num)`, func(s *sqlite3.Stmt) error {
		m.hollow[s.ColumnInt64(0)] = true
		return nil
	}, int64(m.ID))
	m.findLoose()
	return err
}

func (m *mender) findLoose() {
	for id, msg := range m.own {
		if e := (record.Edge{Node: store.Node{Message: id}}); !msg.hidden && m.holders[e] == 0 {
			m.loose = append(m.loose, source{Edge: e, pos: msg.pos})
		}
	}
	for _, n := range m.nodes {
		if e := (record.Edge{Num: n.Num, Node: store.Node{Summary: n.ID}}); !n.Retired && m.holders[e] == 0 && !m.hollow[n.Num] {
			m.loose = append(m.loose, source{Edge: e, pos: n.Pos})
		}
	}
	slices.SortFunc(m.loose, func(a, b source) int { return cmp.Or(cmp.Compare(a.pos, b.pos), cmp.Compare(a.Num, b.Num)) })
}

// mendView makes the view and the kept branches lead to every message once.
// What leads to a message that something else leads to already is taken out,
// and what nothing leads to is put back where it stood.
func (m *mender) mendView() error {
	old, err := m.readPlaces()
	if err != nil {
		return err
	}
	// Summaries first, the deepest before the others, and the view before the
	// branches: of two that claim a message, the larger is the likelier to be
	// right, and a message alone is never lost by being taken out.
	slices.SortStableFunc(old, func(a, b placement) int {
		return cmp.Or(cmp.Compare(m.derived[b.Num].Depth+min(1, int(b.Num)), m.derived[a.Num].Depth+min(1, int(a.Num))), cmp.Compare(a.branch, b.branch))
	})
	for _, p := range old {
		pos, err := record.NodePosition(m.Conn, p.Edge)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		ok := err == nil
		if ok {
			if ok, err = m.claim(p.Edge); err != nil {
				return err
			}
		}
		m.changed = m.changed || !ok || pos != p.pos
		if ok {
			p.pos = pos
			m.places = append(m.places, p)
		}
	}
	if err := m.placeLoose(); err != nil {
		return err
	}
	if err := m.placeInherited(); err != nil {
		return err
	}
	if err := m.mendRetired(); err != nil {
		return err
	}
	return m.writePlaces()
}

// readPlaces reads the view and the kept branches as they are.
func (m *mender) readPlaces() ([]placement, error) {
	var all []placement
	scan := func(s *sqlite3.Stmt) error {
		p := placement{Edge: record.Edge{Num: s.ColumnInt64(3)}, pos: s.ColumnInt64(1), branch: s.ColumnInt64(0), stub: s.ColumnBool(5), tokens: s.ColumnInt(6)}
		p.Message, p.Summary = store.MessageID(s.ColumnInt64(2)), store.SummaryID(s.ColumnText(4))
		all = append(all, p)
		return nil
	}
	err := m.Query(`
		SELECT 0, v.pos, v.message, v.summary, s.id, v.stub, v.tokens FROM view v LEFT JOIN summaries s ON s.num = v.summary
		WHERE v.conversation = ? ORDER BY v.pos`, scan, int64(m.ID))
	if err != nil {
		return nil, err
	}
	err = m.Query(`
		SELECT b.id, bi.pos, bi.message, bi.summary, s.id, 0, 0
		FROM branches b JOIN branch_items bi ON bi.branch = b.id LEFT JOIN summaries s ON s.num = bi.summary
		WHERE b.conversation = ? ORDER BY b.id, bi.pos`, scan, int64(m.ID))
	return all, err
}

// claim marks everything beneath a node, unless some of it is claimed already
// or has no place in the view.
func (m *mender) claim(e record.Edge) (bool, error) {
	below := map[record.Edge]bool{}
	ok := true
	err := m.descend(e, nil, func(n record.Edge) error {
		belongs, err := m.belongs(n)
		ok = ok && belongs && !m.claimed[n] && !below[n] && !m.own[n.Message].hidden
		below[n] = true
		return err
	})
	if err != nil || !ok {
		return false, err
	}
	maps.Copy(m.claimed, below)
	return true, nil
}

// descend visits a node and everything beneath it. What is missing beneath a
// summary is left out: the summary is all that is left of it.
func (m *mender) descend(e record.Edge, path []int64, visit func(record.Edge) error) error {
	if e.Num == 0 {
		if _, own := m.own[e.Message]; !own {
			if _, err := record.MessagePosition(m.Conn, e.Message); errors.Is(err, store.ErrNotFound) {
				return nil
			} else if err != nil {
				return err
			}
		}
		return visit(e)
	}
	if slices.Contains(path, e.Num) {
		return nil
	}
	if err := visit(e); err != nil {
		return err
	}
	sources, err := record.Edges(m.Conn, e.Num)
	if err != nil {
		return err
	}
	path = append(path, e.Num)
	for _, s := range sources {
		if err := m.descend(s, path, visit); err != nil {
			return err
		}
	}
	return nil
}
