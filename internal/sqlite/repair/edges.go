package repair

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/sqlite/check"
	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/sqlite/record"
	"github.com/lossless-context/lcm/internal/store"
)

// source is an edge with the place of what it leads to.
type source struct {
	record.Edge
	pos int64
}

// maxTail is how many loose nodes behind the last source of a summary are
// tried as sources of it.
const maxTail = 256

// mendEdges finds the sources that a summary was made from, where its edges
// are not those. The id of a summary is a hash of them and of its text, so what
// is found is proved; one that was reworded has only the number of messages
// that it covered to go by.
func (m *mender) mendEdges(n check.SummaryNode) error {
	have, clean, err := m.sourcesOf(n)
	if err != nil || clean && m.matches(n, have) {
		return err
	}
	own := slices.DeleteFunc(slices.Clone(have), func(s source) bool { return m.holders[s.Edge] > 1 })
	for _, base := range [][]source{have, own} {
		for _, try := range m.completions(n, base) {
			if m.matches(n, try) {
				return m.setEdges(n, try)
			}
		}
	}
	if clean {
		return nil // the text is not what it was, or more is gone than can be guessed
	}
	return m.setEdges(n, have)
}

// sourcesOf reads the sources of a summary and leaves out what cannot be one:
// a node twice, a summary that was made later or is gone, what belongs to
// another conversation. clean says that nothing was left out and each has its
// place.
func (m *mender) sourcesOf(n check.SummaryNode) (have []source, clean bool, err error) {
	clean = true
	seen := map[record.Edge]bool{}
	err = m.Query(`SELECT e.message, e.source, s.id, e.ord FROM edges e LEFT JOIN summaries s ON s.num = e.source WHERE e.summary = ? ORDER BY e.ord`,
		func(s *sqlite3.Stmt) error {
			e := record.Edge{Num: s.ColumnInt64(1), Node: store.Node{Message: store.MessageID(s.ColumnInt64(0)), Summary: store.SummaryID(s.ColumnText(2))}}
			if seen[e] || e.Num >= n.Num || e.Num != 0 && e.Summary == "" {
				clean = false
				return nil
			}
			seen[e] = true
			have = append(have, source{Edge: e, pos: s.ColumnInt64(3)})
			return nil
		}, n.Num)
	if err != nil {
		return nil, false, err
	}
	var kept []source
	for _, s := range have {
		pos, err := record.NodePosition(m.Conn, s.Edge)
		if errors.Is(err, store.ErrNotFound) {
			kept = append(kept, s)
			continue // gone for good; the place that the edge tells is all there is
		}
		if err != nil {
			return nil, false, err
		}
		belongs, err := m.belongs(s.Edge)
		if err != nil {
			return nil, false, err
		}
		clean = clean && belongs && pos == s.pos
		if belongs {
			kept = append(kept, source{s.Edge, pos})
		}
	}
	slices.SortFunc(kept, byPlace)
	return kept, clean, nil
}

// byPlace orders sources as they stood. Of two with one place, the summary
// that was made last comes first: it may cover the others.
func byPlace(a, b source) int { return cmp.Or(cmp.Compare(a.pos, b.pos), cmp.Compare(b.Num, a.Num)) }

// completions are the runs that a summary may have been made from: what it
// has, with the loose nodes that stand between, and those with more and more
// of the loose nodes that follow.
func (m *mender) completions(n check.SummaryNode, have []source) [][]source {
	tries := [][]source{have}
	first, last := n.Pos, n.Pos
	if len(have) > 0 {
		first, last = min(first, have[0].pos), max(last, have[len(have)-1].pos)
	}
	run := slices.Clone(have)
	tail := 0
	for _, l := range m.loose {
		if l.pos < first || l.Num >= n.Num {
			continue
		}
		if l.pos > last {
			if tail++; tail > maxTail {
				break
			}
			tries = append(tries, slices.Clone(run))
		}
		run = append(run, l)
	}
	tries = append(tries, run)
	for _, t := range tries {
		slices.SortFunc(t, byPlace)
	}
	return append(tries, runs(n, have)...)
}

// maxRuns is up to how many sources every run of them is tried.
const maxRuns = 64

// runs are the runs among the sources of a summary, where others were added to
// them: those that begin where it stands, and of a few sources all, if there is
// an id to prove them.
func runs(n check.SummaryNode, have []source) [][]source {
	var tries [][]source
	for from := range have {
		if have[from].pos != n.Pos && (n.Revision > 0 || len(have) > maxRuns) {
			continue
		}
		for to := from + 1; to <= len(have); to++ {
			tries = append(tries, have[from:to])
		}
	}
	return tries
}

// matches reports whether sources are the ones that a summary was made from.
func (m *mender) matches(n check.SummaryNode, from []source) bool {
	if len(from) == 0 {
		return false
	}
	if n.Revision > 0 {
		messages := 0
		for _, s := range from {
			if s.Num == 0 {
				messages++
			} else {
				messages += m.derived[s.Num].Messages
			}
		}
		return messages == n.Messages
	}
	items := make([]record.ViewItem, len(from))
	for i, s := range from {
		items[i] = record.ViewItem{Num: s.Num, Item: store.Item{Pos: s.pos, Node: s.Node}}
	}
	return strings.HasPrefix("sum_"+record.SummaryDigest(m.Conversation, items, n.Body), string(n.ID))
}

// setEdges makes these the sources of a summary.
func (m *mender) setEdges(n check.SummaryNode, from []source) error {
	if err := m.Exec(`DELETE FROM edges WHERE summary = ?`, n.Num); err != nil {
		return err
	}
	m.moved = true
	for _, s := range from {
		err := m.Exec(`INSERT INTO edges (summary, ord, message, source) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`, n.Num, s.pos, dbfile.Null(int64(s.Message)), dbfile.Null(s.Num))
		if err != nil {
			return err
		}
	}
	return m.survey()
}

// mendNumbers writes what follows from the sources of a summary, where it says
// something else of itself.
func (m *mender) mendNumbers(n check.SummaryNode) error {
	want, err := record.Derive(m.Conn, n.Num, m.derived)
	if errors.Is(err, store.ErrNotFound) {
		m.derived[n.Num] = n.Summary
		return nil // what it covered is not there to be counted
	}
	if err != nil {
		return err
	}
	m.derived[n.Num] = want
	if n.Depth == want.Depth && n.Messages == want.Messages && !n.Unread && len(check.Differences(n.Summary, want)) == 0 && !m.rewritten[n.Num] {
		return nil
	}
	m.rewritten[n.Num] = true
	files, err := record.FilesOf(want.Files)
	if err != nil {
		return err
	}
	return m.Exec(`
		UPDATE summaries SET kind = ?, depth = ?, pos = ?, descendants = ?, messages = ?, message_tokens = ?, earliest = ?, latest = ?, files = ?
		WHERE num = ?`, string(want.Kind), want.Depth, want.Pos, want.Descendants, want.Messages, want.MessageTokens,
		want.Earliest.UnixMilli(), want.Latest.UnixMilli(), files, n.Num)
}
