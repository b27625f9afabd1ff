package check

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/sqlite/record"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/llms"
)

// Verify implements [store.Checker]. It reads everything once, in one
// transaction, and trusts nothing that it can compute.
func Verify(ctx context.Context, f *dbfile.File, id store.ConversationID) (store.Verification, error) {
	v := verifier{Verification: store.Verification{Conversation: id}}
	err := f.Reader(ctx, func(c *dbfile.Conn) error {
		return c.Read(func() (err error) {
			v.Conn = c
			if v.Row, err = record.ReadConversation(c, id); err != nil {
				return err
			}
			if err := v.messages(); err != nil {
				return err
			}
			if err := v.coverage(); err != nil {
				return err
			}
			return v.summaries()
		})
	})
	v.digest()
	return v.Verification, err
}

type verifier struct {
	*dbfile.Conn
	record.Row
	store.Verification
	own     map[store.MessageID]int // how often each of its messages was reached
	hidden  map[store.MessageID]bool
	nodes   map[int64]int      // how often each summary was reached
	reached []record.Inherited // messages of other conversations
	head    [sha256.Size]byte
}

func (v *verifier) fault(code string, node fmt.Stringer, format string, args ...any) {
	v.Faults = append(v.Faults, store.Fault{Code: code, Node: node.String(), Detail: fmt.Sprintf(format, args...)})
}

type name string

func (n name) String() string { return string(n) }

func (v *verifier) conversationName() name {
	return name(fmt.Sprintf("conversation %d", v.Row.ID))
}

// messages verifies every record against its hash, and the chain over them.
func (v *verifier) messages() error {
	v.own = make(map[store.MessageID]int, v.Row.Messages)
	v.hidden = map[store.MessageID]bool{}
	v.head = store.Genesis
	var tokens, gone int64
	err := v.Query(`
		SELECT id, seq, role, flags, said, tokens, native, format, size, sha256, chain, record, cuts, body
		FROM messages WHERE conversation = ? ORDER BY seq`, func(s *sqlite3.Stmt) error {
		tokens += s.ColumnInt64(5)
		if store.Flag(s.ColumnInt64(3))&store.FlagErased != 0 {
			gone++
		}
		return v.message(s)
	}, int64(v.Row.ID))
	if err != nil {
		return err
	}
	if v.head != v.Head && v.ErasedAt.IsZero() {
		v.fault("head", v.conversationName(), "the chain does not end in the link that the conversation has")
	}
	for what, pair := range map[string][2]int64{
		"messages": {v.Row.Messages, v.Verification.Messages}, "tokens": {v.Tokens, tokens}, "bytes": {v.Row.Bytes, v.Verification.Bytes},
		"erased messages": {v.Row.Erased, gone},
	} {
		if pair[0] != pair[1] {
			v.fault("totals", v.conversationName(), "it says it has %d %s, there are %d", pair[0], what, pair[1])
		}
	}
	slices.SortStableFunc(v.Faults, func(a, b store.Fault) int { return cmp.Compare(a.Code, b.Code) })
	return nil
}

func (v *verifier) message(s *sqlite3.Stmt) error {
	id := store.MessageID(s.ColumnInt64(0))
	v.Verification.Messages++
	v.own[id] = 0
	flags := store.Flag(s.ColumnInt64(3))
	if flags&(store.FlagHidden|store.FlagErased) != 0 {
		v.hidden[id] = true
	}
	if !v.ErasedAt.IsZero() {
		return v.erasedMessage(s, id, flags)
	}
	if seq := s.ColumnInt64(1); seq != v.Verification.Messages {
		v.fault("sequence", id, "it has place %d where %d was due: a message is missing or doubled", seq, v.Verification.Messages)
		v.Verification.Messages = seq
	}
	if flags&store.FlagErased != 0 {
		return v.erasedMessage(s, id, flags)
	}
	n := store.NewMessage{
		Role: store.RoleOf(s.ColumnInt(2)), Flags: store.Flag(s.ColumnInt64(3)), Native: s.ColumnText(6),
		Format: llms.Format(s.ColumnText(7)), Size: s.ColumnInt64(8), Said: dbfile.Millis(s, 4),
	}
	var body []byte
	if s.ColumnType(13) != sqlite3.NULL {
		body = s.ColumnBlob(13, []byte{})
	}
	copy(n.SHA256[:], s.ColumnRawBlob(9))
	chain := s.ColumnBlob(10, nil)
	record, err := record.Join(v.Conn, s.ColumnBlob(11, nil), s.ColumnText(12))
	switch {
	case err != nil && Fatal(err):
		return err
	case err != nil:
		v.fault("record", id, "its record cannot be put together: %v", err)
	case int64(len(record)) != n.Size:
		v.fault("record", id, "its record has %d bytes, %d arrived", len(record), n.Size)
	case sha256.Sum256(record) != n.SHA256:
		v.fault("record", id, "its record does not match the SHA-256 taken when it arrived")
	}
	v.Verification.Bytes += n.Size
	v.head = store.Link(v.head, n, body)
	if !bytes.Equal(v.head[:], chain) {
		v.fault("chain", id, "its link does not follow from the one before: its metadata, its body or an earlier message was changed")
		copy(v.head[:], chain) // continue from here, so that one break is one fault
	}
	if cuts := s.ColumnText(12); body != nil || cuts != "" {
		return v.checkRefs(id, body, cuts)
	}
	return nil
}

// Fatal tells an error of the database from a fault of one record.
func Fatal(err error) bool {
	return !errors.Is(err, store.ErrNotFound) && (errors.Is(err, sqlite3.CORRUPT) || errors.Is(err, sqlite3.IOERR) ||
		errors.Is(err, sqlite3.INTERRUPT) || errors.Is(err, sqlite3.NOTADB))
}

// coverage verifies that the view and the kept branches lead to every message
// exactly once.
func (v *verifier) coverage() error {
	v.nodes = map[int64]int{}
	items, err := record.ViewItems(v.Conn, v.Row.ID, -1<<62, 1<<62)
	if err != nil {
		return err
	}
	tokens := 0
	for _, it := range items {
		tokens += it.Tokens
		if err := v.checkPlace(it); err != nil {
			return err
		}
		if err := v.reach(it.Node, it.Num, nil); err != nil {
			return err
		}
	}
	if newest, err := record.NewestUser(v.Conn, v.Row.ID); err != nil {
		return err
	} else if newest != v.LastUser {
		v.fault("view-totals", v.conversationName(), "it says that the user's newest message stands at %d, it stands at %d", v.LastUser, newest)
	}
	if len(items) != v.ViewItems || tokens != v.ViewTokens {
		v.fault("view-totals", v.conversationName(), "it says its view has %d items and %d tokens, there are %d and %d",
			v.ViewItems, v.ViewTokens, len(items), tokens)
	}
	var kept []record.Edge
	err = v.Query(`
		SELECT bi.message, bi.summary, s.id FROM branches b JOIN branch_items bi ON bi.branch = b.id LEFT JOIN summaries s ON s.num = bi.summary
		WHERE b.conversation = ? ORDER BY b.id, bi.pos`, func(s *sqlite3.Stmt) error {
		kept = append(kept, record.Edge{Num: s.ColumnInt64(1), Node: store.Node{
			Message: store.MessageID(s.ColumnInt64(0)), Summary: store.SummaryID(s.ColumnText(2)),
		}})
		return nil
	}, int64(v.Row.ID))
	if err != nil {
		return err
	}
	for _, e := range kept {
		if err := v.reach(e.Node, e.Num, nil); err != nil {
			return err
		}
	}
	v.checkOwn()
	v.checkInherited()
	return nil
}

// checkPlace verifies the position of a view item.
func (v *verifier) checkPlace(it record.ViewItem) error {
	place, err := record.ItemsOf(v.Conn, []record.Edge{{Node: it.Node, Num: it.Num}})
	if errors.Is(err, store.ErrNotFound) || err != nil && !Fatal(err) {
		return nil // reach reports missing nodes, and messages undecodable ones
	}
	if err == nil && place[0].Pos != it.Pos {
		v.fault("view-order", it.Node, "it stands at %d in the view, where it belongs is %d", it.Pos, place[0].Pos)
	}
	return err
}

// reach counts every node below a node. path holds the summaries above it, so
// that a cycle is found and not followed.
func (v *verifier) reach(n store.Node, num int64, path []int64) error {
	if !n.IsSummary() && num == 0 {
		if _, own := v.own[n.Message]; own {
			v.own[n.Message]++
			return nil
		}
		return v.reachForeign(n.Message)
	}
	if num != 0 && !n.IsSummary() {
		v.fault("missing", name(fmt.Sprintf("summary number %d", num)), "the view or a summary leads to it, but it is not there")
	}
	if slices.Contains(path, num) {
		v.fault("cycle", n, "it is a source of itself")
		return nil
	}
	if v.nodes[num]++; v.nodes[num] > 1 {
		v.fault("doubly-covered", n, "the view leads to it %d times", v.nodes[num])
		return nil
	}
	sources, err := record.Edges(v.Conn, num)
	if err != nil {
		return err
	}
	if len(sources) == 0 {
		v.fault("no-sources", n, "it has no sources")
	}
	path = append(path, num)
	for _, e := range sources {
		if err := v.reach(e.Node, e.Num, path); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) reachForeign(id store.MessageID) error {
	found, err := v.One(`
		SELECT m.seq + c.base, m.sha256 FROM messages m JOIN conversations c ON c.id = m.conversation WHERE m.id = ?`,
		func(s *sqlite3.Stmt) error {
			v.reached = append(v.reached, record.Inherited{Pos: s.ColumnInt64(0), SHA256: s.ColumnBlob(1, nil)})
			return nil
		}, int64(id))
	if err == nil && !found {
		v.fault("missing", id, "the view or a summary leads to it, but it is not there")
	}
	return err
}

func (v *verifier) checkOwn() {
	ids := make([]store.MessageID, 0, len(v.own))
	for id := range v.own {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		switch n := v.own[id]; {
		case v.hidden[id] && n > 0:
			v.fault("doubly-covered", id, "it should not be in the view, but the view leads to it")
		case n == 0 && !v.hidden[id]:
			v.fault("uncovered", id, "neither the view nor a kept branch leads to it")
		case n > 1:
			v.fault("doubly-covered", id, "the view leads to it %d times", n)
		}
	}
}

// checkInherited verifies that a fork leads to the messages that it inherited,
// each once.
func (v *verifier) checkInherited() {
	switch {
	case v.Inherited == nil && len(v.reached) > 0:
		v.fault("foreign", v.conversationName(), "its view leads to %d messages of other conversations", len(v.reached))
	case v.Inherited != nil && !bytes.Equal(record.InheritedDigest(v.reached), v.Inherited):
		v.fault("inherited", v.conversationName(), "its view does not lead to the messages it inherited when it was forked")
	}
}

// SummaryNode is a summary with its number.
type SummaryNode struct {
	Num int64
	store.Summary
	Unread bool // its list of files cannot be read
}

// summaries checks the numbers of each summary against its sources.
func (v *verifier) summaries() error {
	var all []SummaryNode
	err := v.Query(`SELECT`+record.SummaryColumns+` WHERE s.conversation = ? ORDER BY s.num`, func(s *sqlite3.Stmt) error {
		num, sum, err := record.ScanSummary(s)
		if err != nil {
			v.fault("summary", name(sum.ID), "it cannot be read: %v", err)
			num = s.ColumnInt64(0)
		}
		all = append(all, SummaryNode{Num: num, Summary: sum})
		return nil
	}, int64(v.Row.ID))
	if err != nil {
		return err
	}
	v.Verification.Summaries = int64(len(all))
	if v.Row.Summaries != int64(len(all)) {
		v.fault("totals", v.conversationName(), "it says it has %d summaries, there are %d", v.Row.Summaries, len(all))
	}
	for _, n := range all {
		if v.nodes[n.Num] == 0 && !n.Retired {
			v.fault("orphan", name(n.ID), "neither the view nor a kept branch leads to it")
		}
		if v.nodes[n.Num] > 0 && n.Retired {
			v.fault("retired", name(n.ID), "it is marked as taken apart, but the view or a kept branch leads to it")
		}
		if err := v.summary(n); err != nil {
			return err
		}
	}
	return nil
}

// summary checks the numbers of a summary, the order of its sources, and that
// its id follows from its text.
func (v *verifier) summary(n SummaryNode) error {
	sources, err := record.SourceItems(v.Conn, n.Num)
	if errors.Is(err, store.ErrNotFound) || err != nil && !Fatal(err) {
		return nil // it is reported already
	}
	if err != nil {
		return err
	}
	depth, messages := 0, 0
	for i, it := range sources {
		if i > 0 && it.Pos <= sources[i-1].Pos {
			v.fault("source-order", name(n.ID), "%s is out of order among its sources", it.Node)
		}
		if !it.IsSummary() {
			messages++
			continue
		}
		below, err := v.coveredBy(it.Num)
		if err != nil {
			return err
		}
		depth, messages = max(depth, it.Depth+1), messages+below
	}
	if n.Depth != depth || n.Messages != messages {
		v.fault("summary", name(n.ID), "it says depth %d over %d messages, its sources say %d over %d", n.Depth, n.Messages, depth, messages)
	}
	// A summary that was reworded keeps the id of its first text, and the id is
	// also made from the session key, which may be lost.
	provable := n.Revision == 0 && !strings.HasPrefix(v.Key, record.RecoveredKey)
	if digest := "sum_" + record.SummaryDigest(v.Row.Conversation, sources, n.Body); provable && !strings.HasPrefix(digest, string(n.ID)) {
		v.fault("summary-text", name(n.ID), "its text or its sources are not those that its id was made from")
	}
	return nil
}

// coveredBy returns the stored message count of a summary.
func (v *verifier) coveredBy(num int64) (messages int, err error) {
	_, err = v.One(`SELECT messages FROM summaries WHERE num = ?`, dbfile.IntColumn(&messages), num)
	return messages, err
}

// digest computes the digest of the messages, which does not depend on the
// database.
func (v *verifier) digest() {
	v.Digest = ConversationDigest(v.Key, v.Segment, v.Verification.Messages, v.head)
}

func ConversationDigest(key string, segment int, messages int64, head [sha256.Size]byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	fmt.Fprintf(h, "lcm digest 1\n%q %d %d\n", key, segment, messages)
	h.Write(head[:])
	h.Sum(sum[:0])
	return sum
}
