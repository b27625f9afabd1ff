package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/lazyregexp"
	"github.com/lossless-context/lcm/internal/store"
)

// Check looks at everything in the database that can be wrong: the file, the
// schema, every conversation (see [DB.Verify]) with what is derived in it, the
// payloads, the search index and the state. It changes nothing, and a part
// that cannot be read keeps it from none of the others. Each fault has a code;
// package doctor says what the codes mean and which of them [DB.Repair] mends.
func (db *DB) Check(ctx context.Context) ([]store.Fault, error) {
	k := &checkup{db: db}
	err := db.withReader(ctx, func(c *conn) error {
		k.conn = c
		return k.all(ctx)
	})
	return k.faults, err
}

// checkup collects what is wrong with a database.
type checkup struct {
	*conn
	db     *DB
	faults []store.Fault
}

func (k *checkup) fault(code, node, format string, args ...any) {
	k.faults = append(k.faults, store.Fault{Code: code, Node: node, Detail: fmt.Sprintf(format, args...)})
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
			k.fault("unreadable", part.name, "%s", bare(err))
		}
	}
	return nil
}

// indexTrouble is how SQLite says that one of its indexes, which it can build
// anew from the table, is not what it should be.
var indexTrouble = lazyregexp.New(`^(?:row \d+ missing from index|wrong # of entries in index|non-unique entry in index) ?(\S*)`)

// maxPageFaults is how many faults of pages are listed.
const maxPageFaults = 20

// pages has SQLite check its own structures.
func (k *checkup) pages(context.Context) error {
	broken := map[string]bool{}
	err := k.query(fmt.Sprintf("PRAGMA integrity_check(%d)", 10*maxPageFaults), func(s *sqlite3.Stmt) error {
		line := s.ColumnText(0)
		switch m := indexTrouble().FindStringSubmatch(line); {
		case line == "ok":
		case m != nil && !broken[m[1]]:
			broken[m[1]] = true
			k.fault("table-index", "index "+m[1], "%s", line)
		case m == nil && len(k.faults) < maxPageFaults:
			k.fault("page", "the file", "%s", strings.TrimPrefix(line, "*** in database main ***\n"))
		}
		return nil
	})
	return err
}

// conversations proves every conversation, and checks what Verify leaves: what
// is derived for convenience and not part of the proof.
func (k *checkup) conversations(ctx context.Context) error {
	ids, err := k.conversationIDs()
	if err != nil {
		return err
	}
	for _, id := range ids {
		node := fmt.Sprintf("conversation %d", id)
		v, err := k.db.Verify(ctx, id)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		k.faults = append(k.faults, v.Faults...)
		if err == nil {
			err = k.derived(id)
		}
		if err != nil {
			k.fault("unreadable", node, "%s", bare(err))
		}
	}
	return nil
}

// references finds rows that belong to nothing.
func (k *checkup) references(context.Context) error {
	faults, err := k.orphans()
	k.faults = append(k.faults, faults...)
	return err
}

// conversationIDs lists every conversation, also those that are shown to
// nobody any more.
func (c *conn) conversationIDs() ([]store.ConversationID, error) {
	var ids []store.ConversationID
	err := c.query(`SELECT id FROM conversations ORDER BY id`, func(s *sqlite3.Stmt) error {
		ids = append(ids, store.ConversationID(s.ColumnInt64(0)))
		return nil
	})
	return ids, err
}

// derived checks what a conversation keeps that follows from other rows.
func (k *checkup) derived(id store.ConversationID) error {
	return k.read(func() error {
		r, err := k.conversation(id)
		if err != nil || !r.ErasedAt.IsZero() {
			return err
		}
		node := fmt.Sprintf("conversation %d", id)
		if base, err := k.baseOf(r); err != nil {
			return err
		} else if base != r.base {
			k.fault("base", node, "its positions begin after %d, they should after %d", r.base, base)
		}
		if newest, err := k.newestTime(r); err != nil {
			return err
		} else if newest != 0 && newest != r.UpdatedAt.UnixMilli() {
			k.fault("times", node, "it says that its last message was said at %s, which is not so", r.UpdatedAt)
		}
		if err := k.summaryNumbers(id); err != nil {
			return err
		}
		if err := k.misplaced(id); err != nil {
			return err
		}
		return k.viewNumbers(id)
	})
}

// baseOf computes where the positions of a conversation begin.
func (c *conn) baseOf(r row) (int64, error) {
	if r.ForkedAt == 0 {
		return 0, nil
	}
	pos, err := c.position(r.ForkedAt)
	if errors.Is(err, store.ErrNotFound) {
		return r.base, nil // nothing to compute it from
	}
	return pos, err
}

// newestTime is when the last message of a conversation was said, or 0 where
// that cannot be told: the last one may have been erased.
func (c *conn) newestTime(r row) (ms int64, err error) {
	if r.Erased > 0 {
		return 0, nil
	}
	_, err = c.one(`SELECT ifnull(max(ifnull(said, stored)), 0) FROM messages WHERE conversation = ?`,
		func(s *sqlite3.Stmt) error { ms = s.ColumnInt64(0); return nil }, int64(r.ID))
	return ms, err
}

// summaryNumbers compares what each summary says of itself with what its
// sources give, bottom up.
func (k *checkup) summaryNumbers(id store.ConversationID) error {
	all, err := k.summariesOf(id)
	if err != nil {
		return err
	}
	known := map[int64]store.Summary{}
	for _, n := range all {
		want, err := k.derive(n.num, known)
		if errors.Is(err, store.ErrNotFound) {
			continue // Verify has reported it
		}
		if err != nil {
			return err
		}
		known[n.num] = want
		if wrong := differences(n.Summary, want); len(wrong) > 0 {
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

// summariesOf returns the summaries of a conversation, sources first.
func (c *conn) summariesOf(id store.ConversationID) ([]node, error) {
	var all []node
	err := c.query(`SELECT`+summaryColumns+` WHERE s.conversation = ? ORDER BY s.num`, func(s *sqlite3.Stmt) error {
		_, sum, err := scanSummary(s)
		all = append(all, node{num: s.ColumnInt64(0), Summary: sum, unread: err != nil})
		return nil
	}, int64(id))
	return all, err
}

// differences names the numbers of a summary that are not as derived. Depth
// and the number of messages are part of Verify's proof.
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

// misplaced finds items of kept branches that are noted with another place than
// they have. (Of sources only the order counts, which Verify proves: databases
// from earlier versions number them.)
func (k *checkup) misplaced(id store.ConversationID) error {
	return k.query(`
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

// viewNumbers compares the items of a view with what they stand for.
func (k *checkup) viewNumbers(id store.ConversationID) error {
	items, err := k.items(id, -1<<62, 1<<62)
	if err != nil {
		return err
	}
	for _, it := range items {
		want, err := k.itemsOf([]edge{{Node: it.Node, num: it.num}})
		if err != nil && !fatal(err) {
			continue // Verify has reported it
		}
		if err != nil {
			return err
		}
		// A fork is not told when a summary that it inherited is reworded.
		if it.IsSummary() && it.Tokens != want[0].Tokens && k.inheritedItem(id, it.num) {
			want[0].Tokens = it.Tokens
		}
		if wrong := itemDifference(it, want[0]); wrong != "" {
			k.fault("view-item", it.Node.String(), "its %s in the view of conversation %d is not that of what it stands for", wrong, id)
		}
	}
	return nil
}

// inheritedItem reports whether a summary belongs to another conversation.
func (c *conn) inheritedItem(id store.ConversationID, num int64) bool {
	s, err := c.summaryByNum(num)
	return err == nil && s.Conversation != id
}

func itemDifference(have, want viewItem) string {
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
