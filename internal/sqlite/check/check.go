// Package check looks for damage, and changes nothing.
//
// [Verify] proves one conversation: every record against its hash, the hash
// chain, and that the view leads to every message once. [Run] checks everything
// else as well: pages, schema, payloads, search index, state. [File] looks at a
// file that may not open. Faults have codes; package doctor explains them, and
// package repair fixes those that can be derived from the messages.
package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/lazyregexp"
	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/sqlite/record"
	"github.com/lossless-context/lcm/internal/sqlite/search"
	"github.com/lossless-context/lcm/internal/store"
)

// Run checks the whole database: pages, schema, every conversation and its
// derived rows, payloads, search index and state. An unreadable part does not
// keep it from the others.
func Run(ctx context.Context, f *dbfile.File, ix *search.Index) ([]store.Fault, error) {
	k := &checkup{file: f, search: ix}
	err := f.Reader(ctx, func(c *dbfile.Conn) error {
		k.Conn = c
		return k.all(ctx)
	})
	return k.list, err
}

// faults collects faults.
type faults struct{ list []store.Fault }

func (f *faults) fault(code, node, format string, args ...any) {
	f.list = append(f.list, store.Fault{Code: code, Node: node, Detail: fmt.Sprintf(format, args...)})
}

// checkup checks a database.
type checkup struct {
	*dbfile.Conn
	faults
	file   *dbfile.File
	search *search.Index
}

func (k *checkup) all(ctx context.Context) error {
	whole, err := k.schema()
	if err != nil {
		return err
	}
	parts := []struct {
		name string
		look func(context.Context) error
	}{
		{"the pages of the file", k.pages},
		{"the conversations", k.conversations},
		{"the references", k.references},
		{"the payloads", k.payloads},
		{"the search index", k.index},
		{"the state", k.state},
		{"the tombstones", k.tombstones},
	}
	for _, part := range parts {
		err := part.look(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && whole {
			k.fault("unreadable", part.name, "%s", dbfile.WithoutHint(err))
		}
	}
	return nil
}

// IndexTrouble matches the messages of SQLite about a damaged index, which can
// be built again from its table.
var IndexTrouble = lazyregexp.New(`^(?:row \d+ missing from index|wrong # of entries in index|non-unique entry in index) ?(\S*)`)

// maxPageFaults is how many faults of pages are listed.
const maxPageFaults = 20

// pages runs SQLite's own integrity check.
func (k *checkup) pages(context.Context) error {
	broken := map[string]bool{}
	return k.Query(fmt.Sprintf("PRAGMA integrity_check(%d)", 10*maxPageFaults), func(s *sqlite3.Stmt) error {
		line := s.ColumnText(0)
		switch m := IndexTrouble().FindStringSubmatch(line); {
		case line == "ok":
		case m != nil && !broken[m[1]]:
			broken[m[1]] = true
			k.fault("table-index", "index "+m[1], "%s", line)
		case m == nil && len(k.list) < maxPageFaults:
			k.fault("page", "the file", "%s", strings.TrimPrefix(line, "*** in database main ***\n"))
		}
		return nil
	})
}

// conversations verifies every conversation, and checks the derived rows that
// are not part of the proof.
func (k *checkup) conversations(ctx context.Context) error {
	ids, err := record.ConversationIDs(k.Conn)
	if err != nil {
		return err
	}
	for _, id := range ids {
		node := fmt.Sprintf("conversation %d", id)
		v, err := Checker{k.file}.Verify(ctx, id)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		k.list = append(k.list, v.Faults...)
		if err == nil {
			err = k.derived(id)
		}
		if err != nil {
			k.fault("unreadable", node, "%s", dbfile.WithoutHint(err))
		}
	}
	return nil
}

// references finds rows that refer to missing rows.
func (k *checkup) references(context.Context) error {
	found, err := OrphanFaults(k.Conn)
	k.list = append(k.list, found...)
	return err
}

// derived checks the rows and columns of a conversation that follow from other
// rows.
func (k *checkup) derived(id store.ConversationID) error {
	return k.Read(func() error {
		r, err := record.ReadConversation(k.Conn, id)
		if err != nil || !r.ErasedAt.IsZero() {
			return err
		}
		node := fmt.Sprintf("conversation %d", id)
		if base, err := BasePosition(k.Conn, r); err != nil {
			return err
		} else if base != r.Base {
			k.fault("base", node, "its positions begin after %d, they should after %d", r.Base, base)
		}
		if newest, err := NewestTime(k.Conn, r); err != nil {
			return err
		} else if newest != 0 && newest != r.UpdatedAt.UnixMilli() {
			k.fault("times", node, "it says that its last message was said at %s, which is not so", r.UpdatedAt)
		}
		return dbfile.Each([]func(store.ConversationID) error{k.summaryNumbers, k.misplaced, k.viewNumbers},
			func(check func(store.ConversationID) error) error { return check(id) })
	})
}

// BasePosition computes the position before the first message of a
// conversation.
func BasePosition(c *dbfile.Conn, r record.Row) (int64, error) {
	if r.ForkedAt == 0 {
		return 0, nil
	}
	pos, err := record.MessagePosition(c, r.ForkedAt)
	if errors.Is(err, store.ErrNotFound) {
		return r.Base, nil // nothing to compute it from
	}
	return pos, err
}

// NewestTime returns the time of the last message, or 0 if it may have been
// erased.
func NewestTime(c *dbfile.Conn, r record.Row) (ms int64, err error) {
	if r.Erased > 0 {
		return 0, nil
	}
	return dbfile.Value[int64](c, `SELECT max(ifnull(said, stored)) FROM messages WHERE conversation = ?`, int64(r.ID))
}

// summaryNumbers compares the numbers of each summary with those that its
// sources give, sources first.
func (k *checkup) summaryNumbers(id store.ConversationID) error {
	all, err := SummariesOf(k.Conn, id)
	if err != nil {
		return err
	}
	known := map[int64]store.Summary{}
	for _, n := range all {
		want, err := record.Derive(k.Conn, n.Num, known)
		if errors.Is(err, store.ErrNotFound) {
			continue // Verify reports it
		}
		if err != nil {
			return err
		}
		known[n.Num] = want
		if wrong := Differences(n.Summary, want); len(wrong) > 0 {
			k.fault("summary-numbers", string(n.ID), "its %s is not what its sources give", strings.Join(wrong, ", "))
		}
		switch why := looksBroken(n.Summary); {
		case n.Retired:
		case why != "":
			k.fault("summary-broken", string(n.ID), "%s", why)
		case n.Method == methodBare:
			k.fault("summary-fallback", string(n.ID), "it only names what it covers: no summariser had managed to shorten it")
		}
	}
	return nil
}

// SummariesOf returns the summaries of a conversation, sources first.
func SummariesOf(c *dbfile.Conn, id store.ConversationID) ([]SummaryNode, error) {
	return dbfile.List(c, `SELECT`+record.SummaryColumns+` WHERE s.conversation = ? ORDER BY s.num`, func(s *sqlite3.Stmt) SummaryNode {
		_, sum, err := record.ScanSummary(s)
		return SummaryNode{Num: s.ColumnInt64(0), Summary: sum, Unreadable: err}
	}, int64(id))
}

// Differences names the wrong numbers of a summary. Verify checks depth and
// message count.
func Differences(have, want store.Summary) []string {
	var wrong []string
	for _, f := range []struct {
		name string
		same bool
	}{
		{"kind", have.Kind == want.Kind},
		{"place", have.Pos == want.Pos},
		{"number of summaries beneath it", have.Descendants == want.Descendants},
		{"number of tokens that it covers", have.MessageTokens == want.MessageTokens},
		{"time range", have.Earliest.Equal(want.Earliest) && have.Latest.Equal(want.Latest)},
		{"list of files", slices.Equal(have.Files, want.Files)},
	} {
		if !f.same {
			wrong = append(wrong, f.name)
		}
	}
	return wrong
}

// misplaced finds branch items with a wrong position. For sources only the
// order counts, which Verify checks: databases of earlier versions number them.
func (k *checkup) misplaced(id store.ConversationID) error {
	return k.Query(`
		SELECT x.branch, x.pos, ifnull(m.seq + c.base, s.pos) AS place FROM branches b JOIN branch_items x ON x.branch = b.id
		LEFT JOIN messages m ON m.id = x.message LEFT JOIN conversations c ON c.id = m.conversation LEFT JOIN summaries s ON s.num = x.summary
		WHERE b.conversation = ? AND x.pos <> place ORDER BY x.branch, x.pos`, func(s *sqlite3.Stmt) error {
		k.fault("branch-order", fmt.Sprintf("branch %d of conversation %d", s.ColumnInt64(0), id),
			"one of its items is noted at %d, where it stood is %d", s.ColumnInt64(1), s.ColumnInt64(2))
		return nil
	}, int64(id))
}

// methodBare is the method that package compact gives to a summary of last
// resort.
const methodBare = "reference"

// viewNumbers compares the items of a view with their messages and summaries.
func (k *checkup) viewNumbers(id store.ConversationID) error {
	items, err := record.AllItems(k.Conn, id)
	if err != nil {
		return err
	}
	for _, it := range items {
		want, err := record.ItemsOf(k.Conn, []record.Edge{{Node: it.Node, Num: it.Num}})
		if err != nil && !Fatal(err) {
			continue // Verify has reported it
		}
		if err != nil {
			return err
		}
		// Rewording a summary does not update the views of forks that inherited
		// it.
		if it.IsSummary() && it.Tokens != want[0].Tokens && isInherited(k.Conn, id, it.Num) {
			want[0].Tokens = it.Tokens
		}
		if wrong := ItemDifference(it, want[0]); wrong != "" {
			k.fault("view-item", it.Node.String(), "its %s in the view of conversation %d is not that of what it stands for", wrong, id)
		}
	}
	return nil
}

// isInherited reports whether a summary belongs to another conversation.
func isInherited(c *dbfile.Conn, id store.ConversationID, num int64) bool {
	s, err := record.SummaryByNum(c, num)
	return err == nil && s.Conversation != id
}

// ItemDifference names a wrong property of a view item, or returns "".
func ItemDifference(have, want record.ViewItem) string {
	switch {
	case have.Tokens != want.Tokens && !have.Stub:
		return "size"
	case have.Role != want.Role:
		return "role"
	case have.Depth != want.Depth:
		return "depth"
	case !slices.Equal(have.Calls, want.Calls) || !slices.Equal(have.Results, want.Results):
		return "list of tool calls"
	}
	return ""
}
