package rebuild

import (
	"cmp"
	"errors"
	"slices"

	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/proof/verify"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/store"
)

// source is a source of a summary with its position.
type source struct {
	rows.Edge
	pos int64
}

// addTo adds the source to the sum of those before it.
func (s source) addTo(sum int64) int64 { return seal.Source(sum, s.pos, int64(s.Message), s.Num) }

// byPosition orders sources. Of two at one position the summary that was made
// last comes first: it may cover the others.
func byPosition(a, b source) int { return cmp.Or(cmp.Compare(a.pos, b.pos), cmp.Compare(b.Num, a.Num)) }

// rebuildGraph finds the sources of every summary and writes edges and numbers
// again. A summary that has no source left is dropped.
func (r *rebuild) rebuildGraph() error {
	if err := r.findSources(); err != nil {
		return err
	}
	for _, n := range r.summaries {
		drop := []string{`DELETE FROM edges WHERE summary = ?`}
		if len(r.sources[n.Num]) == 0 {
			drop = append(drop, `DELETE FROM revisions WHERE summary = ?`, `DELETE FROM summaries WHERE num = ?`)
		}
		if err := r.ExecAll(drop, n.Num); err != nil {
			return err
		}
		if len(r.sources[n.Num]) == 0 {
			continue
		}
		for _, s := range r.sources[n.Num] {
			if below, known := r.derived[s.Num]; known { // its place may have been wrong
				s.pos = below.Pos
			}
			err := r.Exec(`INSERT INTO edges (summary, ord, message, source) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
				n.Num, s.pos, sqldb.Null(int64(s.Message)), sqldb.Null(s.Num))
			if err != nil {
				return err
			}
		}
		if err := r.writeNumbers(n); err != nil {
			return err
		}
	}
	r.summaries = slices.DeleteFunc(r.summaries, func(n verify.SummaryNode) bool { return len(r.sources[n.Num]) == 0 })
	return nil
}

// findSources decides on the sources of every summary. Its row has the sum of those that it
// was written from. A summary whose edges do not have that sum gets the run of free nodes
// that does; where none does, it keeps those of its edges that can be right.
func (r *rebuild) findSources() error {
	taken, proven := map[rows.Edge]bool{}, map[int64]bool{}
	take := func(n verify.SummaryNode) {
		for _, s := range r.sources[n.Num] {
			taken[s.Edge] = taken[s.Edge] || !n.Retired
		}
	}
	for _, n := range r.summaries {
		have, err := r.validEdges(n)
		if err != nil {
			return err
		}
		r.sources[n.Num] = have
		sum := int64(0)
		for _, s := range have {
			sum = s.addTo(sum)
		}
		if proven[n.Num] = len(have) > 0 && sum == n.SourceSum; proven[n.Num] {
			take(n)
		}
	}
	for _, n := range r.summaries {
		have := r.sources[n.Num]
		kept := slices.DeleteFunc(slices.Clone(have), func(s source) bool { return r.isEmpty(s.Num) })
		if !proven[n.Num] || len(kept) < len(have) {
			if run := r.findRun(n, kept, taken); run != nil {
				kept = run
			} else if !proven[n.Num] && !n.Retired {
				kept = slices.DeleteFunc(kept, func(s source) bool { return taken[s.Edge] })
			}
		}
		r.sources[n.Num] = kept
		take(n)
	}
	return nil
}

// isEmpty reports whether a summary of the conversation has no sources.
func (r *rebuild) isEmpty(num int64) bool {
	sources, own := r.sources[num]
	return own && len(sources) == 0
}

// validEdges reads the sources of a summary without those that cannot be right:
// a node twice, a summary that is missing or was made later, a node of another
// conversation. An edge to a missing message stays: it shows the loss.
func (r *rebuild) validEdges(n verify.SummaryNode) (have []source, err error) {
	edges, err := sqldb.List(r.Conn, `SELECT e.message, e.source, s.id, e.ord FROM edges e LEFT JOIN summaries s ON s.num = e.source WHERE e.summary = ? ORDER BY e.ord`,
		func(s sqldb.Row) source {
			e := rows.Edge{Num: s.ColumnInt64(1), ID: store.ID{Message: store.MessageID(s.ColumnInt64(0)), Summary: store.SummaryID(s.ColumnText(2))}}
			return source{e, s.ColumnInt64(3)}
		}, n.Num)
	if err != nil {
		return nil, err
	}
	seen := map[rows.Edge]bool{}
	for _, s := range edges {
		if seen[s.Edge] || s.Num >= n.Num || s.Num != 0 && s.Summary == "" {
			continue
		}
		seen[s.Edge] = true
		belongs, err := r.belongs(s.Edge)
		if err == nil && !belongs {
			continue
		}
		if err == nil {
			s.pos, err = rows.NodePosition(r.Conn, s.Edge)
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) { // its edge still has the position
			return nil, err
		}
		have = append(have, s)
	}
	slices.SortFunc(have, byPosition)
	return have, nil
}

// maxRun is how many nodes beyond the known sources a run may have.
const maxRun = 256

// findRun looks for the run of neighbouring nodes that a summary was made from.
// It tries the known sources and the nodes that no other summary has taken.
func (r *rebuild) findRun(n verify.SummaryNode, known []source, taken map[rows.Edge]bool) []source {
	nodes := slices.Clone(known)
	add := func(e rows.Edge, pos int64) {
		if !taken[e] && !slices.ContainsFunc(known, func(s source) bool { return s.Edge == e }) {
			nodes = append(nodes, source{e, pos})
		}
	}
	for id, m := range r.messages {
		if !m.hidden {
			add(rows.Edge{ID: store.ID{Message: id}}, m.pos)
		}
	}
	for _, s := range r.summaries {
		if s.Num < n.Num && !s.Retired && !r.isEmpty(s.Num) {
			add(rows.Edge{Num: s.Num, ID: store.ID{Summary: s.ID}}, r.sources[s.Num][0].pos)
		}
	}
	slices.SortFunc(nodes, byPosition)
	for from, first := range nodes {
		if first.pos != n.Pos && !slices.Contains(known, first) {
			continue
		}
		sum := int64(0)
		for i, s := range nodes[from:min(len(nodes), from+len(known)+maxRun)] {
			if sum = s.addTo(sum); sum == n.SourceSum {
				return nodes[from : from+i+1]
			}
		}
	}
	return nil
}

// writeNumbers computes the numbers of a summary from its sources. Where a
// message is missing, the old numbers stay: they show the loss.
func (r *rebuild) writeNumbers(n verify.SummaryNode) error {
	want, err := rows.Derive(r.Conn, n.Num, r.derived)
	if errors.Is(err, store.ErrNotFound) {
		r.derived[n.Num] = n.Summary
		return nil
	}
	if err != nil {
		return err
	}
	r.derived[n.Num] = want
	return rows.UpdateDerived(r.Conn, n.Num, want)
}
