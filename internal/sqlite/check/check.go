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
		{"the references", func(context.Context) error { return k.take(OrphanFaults(k.Conn)) }},
		{"the payloads", k.payloads},
		{"the search index", func(ctx context.Context) error { return k.take(k.search.Check(ctx, k.Conn)) }},
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

// conversations verifies every conversation, with the derived rows that are
// not part of the proof.
func (k *checkup) conversations(ctx context.Context) error {
	ids, err := record.ConversationIDs(k.Conn)
	if err != nil {
		return err
	}
	for _, id := range ids {
		v, err := verify(ctx, k.file, id, true)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		k.list = append(k.list, v.Faults...)
		if err != nil {
			k.fault("unreadable", fmt.Sprintf("conversation %d", id), "%s", dbfile.WithoutHint(err))
		}
	}
	return nil
}

// take adds the faults that another function found.
func (f *faults) take(found []store.Fault, err error) error {
	f.list = append(f.list, found...)
	return err
}

// derived checks the columns of a conversation that follow from its messages, and
// finds branch items with a wrong position. For sources only the order counts:
// databases of earlier versions number them.
func (v *verifier) derived() error {
	if !v.whole || !v.ErasedAt.IsZero() {
		return nil
	}
	if base, err := BasePosition(v.Conn, v.Row); err != nil {
		return err
	} else if base != v.Base {
		v.fault("base", v.name(), "its positions begin after %d, they should after %d", v.Base, base)
	}
	if newest, err := NewestTime(v.Conn, v.Row); err != nil {
		return err
	} else if newest != 0 && newest != v.UpdatedAt.UnixMilli() {
		v.fault("times", v.name(), "it says that its last message was said at %s, which is not so", v.UpdatedAt)
	}
	return v.Query(`
		SELECT x.branch, x.pos, ifnull(m.seq + c.base, s.pos) AS place FROM branches b JOIN branch_items x ON x.branch = b.id
		LEFT JOIN messages m ON m.id = x.message LEFT JOIN conversations c ON c.id = m.conversation LEFT JOIN summaries s ON s.num = x.summary
		WHERE b.conversation = ? AND x.pos <> place ORDER BY x.branch, x.pos`, func(s *sqlite3.Stmt) error {
		v.fault("branch-order", fmt.Sprintf("branch %d of %s", s.ColumnInt64(0), v.name()),
			"one of its items is noted at %d, where it stood is %d", s.ColumnInt64(1), s.ColumnInt64(2))
		return nil
	}, int64(v.Row.ID))
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

// summaryQuality finds summaries that should be written again.
func (v *verifier) summaryQuality(s store.Summary) {
	switch why := looksBroken(s); {
	case s.Retired:
	case why != "":
		v.fault("summary-broken", string(s.ID), "%s", why)
	case s.Method == methodBare:
		v.fault("summary-fallback", string(s.ID), "it only names its sources: no summariser managed to shorten them")
	}
}

// SummariesOf returns the summaries of a conversation, sources first.
func SummariesOf(c *dbfile.Conn, id store.ConversationID) ([]SummaryNode, error) {
	return dbfile.List(c, `SELECT`+record.SummaryColumns+` WHERE s.conversation = ? ORDER BY s.num`, func(s *sqlite3.Stmt) SummaryNode {
		_, sum, err := record.ScanSummary(s)
		return SummaryNode{Num: s.ColumnInt64(0), Summary: sum, Unreadable: err}
	}, int64(id))
}

// differences names the wrong numbers of a summary, but for depth and message
// count.
func differences(have, want store.Summary) []string {
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

// methodBare is the method that package compact gives to a summary of last
// resort.
const methodBare = "reference"

// isInherited reports whether a summary belongs to another conversation.
func isInherited(c *dbfile.Conn, id store.ConversationID, num int64) bool {
	s, err := record.SummaryByNum(c, num)
	return err == nil && s.Conversation != id
}

// itemDifference names a wrong property of a view item, or returns "".
func itemDifference(have, want record.ViewItem) string {
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
