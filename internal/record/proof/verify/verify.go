package verify

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Checker is the [store.Checker] of a database.
type Checker struct{ DB sqldb.DB }

// Verify implements [store.Checker]. It reads everything once, in one
// transaction, and trusts nothing that it can compute.
func (k Checker) Verify(ctx context.Context, id store.ConversationID) (store.Verification, error) {
	return Conversation(ctx, k.DB, id, false)
}

// Conversation verifies a conversation. With whole it also checks the derived rows and
// columns that are not part of the proof.
func Conversation(ctx context.Context, f sqldb.DB, id store.ConversationID, whole bool) (store.Verification, error) {
	var v verifier
	_, err := sqldb.Read(ctx, f, func(c sqldb.Conn) (_ bool, err error) {
		v = verifier{Conn: c, Verification: store.Verification{Conversation: id}, whole: whole, own: map[store.MessageID]int{}, hidden: map[store.MessageID]bool{},
			nodes: map[int64]int{}, head: store.Genesis}
		if v.Row, err = rows.ReadConversation(c, id); err != nil {
			return false, err
		}
		return true, sqldb.Steps(v.messages, v.coverage, v.summaries, v.rows, v.derived)
	})
	v.Faults = v.List
	v.Digest = ConversationDigest(v.Key, v.Segment, v.Verification.Messages, v.head)
	return v.Verification, err
}

type verifier struct {
	sqldb.Conn
	rows.Row
	store.Verification
	Findings
	whole   bool                    // check derived data too
	own     map[store.MessageID]int // how often each of its messages was reached
	hidden  map[store.MessageID]bool
	nodes   map[int64]int     // how often each summary was reached
	reached []rows.MessageRef // messages of other conversations
	head    [sha256.Size]byte
}

// name returns the name of the conversation in faults.
func (v *verifier) name() string { return fmt.Sprintf("conversation %d", v.Row.ID) }

// messages verifies every record against its hash, and the chain over them.
func (v *verifier) messages() error {
	var tokens, gone int64
	err := v.Stream(`
		SELECT `+rows.MessageColumns+` FROM messages m WHERE m.conversation = ? ORDER BY m.seq`, func(s sqldb.Row) error {
		m := rows.ScanMessage(s, 0)
		tokens += int64(m.Tokens)
		if m.Flags&store.FlagErased != 0 {
			gone++
		}
		return v.message(s, m)
	}, int64(v.Row.ID))
	if err != nil {
		return err
	}
	if v.head != v.Head && v.ErasedAt.IsZero() {
		v.Fault("head", v.name(), "the chain does not end in the link that the conversation has")
	}
	for _, total := range []struct {
		noun       string
		says, have int64
	}{
		{"messages", v.Row.Messages, v.Verification.Messages}, {"tokens", v.Tokens, tokens},
		{"bytes", v.Row.Bytes, v.Verification.Bytes}, {"erased messages", v.Row.Erased, gone},
	} {
		if total.says != total.have {
			v.Fault("totals", v.name(), "it says it has %d %s, there are %d", total.says, total.noun, total.have)
		}
	}
	slices.SortStableFunc(v.List, func(a, b store.Fault) int { return cmp.Compare(a.Code, b.Code) })
	return nil
}

func (v *verifier) message(s sqldb.Row, m rows.MessageRow) error {
	id, known := m.ID, len(v.List)
	v.Verification.Messages++
	v.own[id] = 0
	v.hidden[id] = m.Flags&(store.FlagHidden|store.FlagErased) != 0
	if !v.ErasedAt.IsZero() {
		return v.erasedMessage(s, m)
	}
	if seq := m.Seq; seq != v.Verification.Messages {
		v.Fault("sequence", id.String(), "it has place %d where %d was due: a message is missing or doubled", seq, v.Verification.Messages)
		v.Verification.Messages = seq
	}
	if m.Flags&store.FlagErased != 0 {
		return v.erasedMessage(s, m)
	}
	data, err := rows.Join(v.Conn, bytes.Clone(m.Record), m.CutList)
	switch {
	case err != nil && sqldb.Fatal(err):
		return err
	case err != nil:
		v.Fault("record", id.String(), "its record cannot be put together: %v", err)
	case int64(len(data)) != m.Size:
		v.Fault("record", id.String(), "its record has %d bytes, %d arrived", len(data), m.Size)
	case sha256.Sum256(data) != m.SHA256:
		v.Fault("record", id.String(), "its record does not match the SHA-256 taken when it arrived")
	}
	v.Verification.Bytes += m.Size
	if !m.Follows(v.head) {
		v.Fault("chain", id.String(), "its link does not follow from the one before: its metadata, its body or an earlier message was changed")
	}
	v.head = m.Chain // continue from here, so that one break is one fault
	if len(v.List) == known && !seal.Messages.Holds(s, 0) {
		v.Fault("row", id.String(), "its number, its place, its size in tokens or the time when it was stored is not the one that was written")
	}
	if m.StoredBody != nil || m.CutList != "" {
		return v.checkRefs(id, m.StoredBody, m.CutList)
	}
	return nil
}

// coverage verifies that the view and the kept branches lead to every message
// exactly once.
func (v *verifier) coverage() error {
	items, err := rows.AllItems(v.Conn, v.Row.ID)
	if err != nil {
		return err
	}
	tokens := 0
	for _, it := range items {
		tokens += it.Tokens
		if err := v.checkItem(it); err != nil {
			return err
		}
		if err := v.reach(rows.Edge{ID: it.ID, Num: it.Num}, nil); err != nil {
			return err
		}
	}
	if newest, err := rows.NewestUser(v.Conn, v.Row.ID); err != nil {
		return err
	} else if newest != v.LastUser {
		v.Fault("view-totals", v.name(), "it says that the user's newest message stands at %d, it stands at %d", v.LastUser, newest)
	}
	if len(items) != v.ViewItems || tokens != v.ViewTokens {
		v.Fault("view-totals", v.name(), "it says its view has %d items and %d tokens, there are %d and %d",
			v.ViewItems, v.ViewTokens, len(items), tokens)
	}
	kept, err := rows.Kept(v.Conn, v.Row.ID, 0)
	if err != nil {
		return err
	}
	for _, e := range kept {
		if err := v.reach(e, nil); err != nil {
			return err
		}
	}
	v.checkOwn()
	v.checkInherited()
	return nil
}

// checkItem verifies the position of a view item, and its other columns if
// derived data are checked.
func (v *verifier) checkItem(it rows.ViewItem) error {
	all, err := rows.ItemsOf(v.Conn, []rows.Edge{{ID: it.ID, Num: it.Num}})
	if err != nil && !sqldb.Fatal(err) {
		return nil // reach reports missing nodes, and messages undecodable ones
	}
	if err != nil {
		return err
	}
	want := all[0]
	if want.Pos != it.Pos {
		v.Fault("view-order", it.ID.String(), "it stands at %d in the view, where it belongs is %d", it.Pos, want.Pos)
	}
	if !slices.Equal(it.Calls, want.Calls) || !slices.Equal(it.Results, want.Results) {
		v.Fault("view-item", it.ID.String(), "its list of tool calls in the view of %s is not that of the message", v.name())
	}
	if !v.whole {
		return nil
	}
	// Rewording a summary does not update the views of forks that inherited it.
	if it.IsSummary() && it.Tokens != want.Tokens && isInherited(v.Conn, v.Row.ID, it.Num) {
		want.Tokens = it.Tokens
	}
	if wrong := itemDifference(it, want); wrong != "" {
		v.Fault("view-item", it.ID.String(), "its %s in the view of %s differs from that of the message or summary", wrong, v.name())
	}
	return nil
}

// reach counts every node below a node. path holds the summaries above it, so
// that a cycle is found and not followed.
func (v *verifier) reach(e rows.Edge, path []int64) error {
	if !e.IsSummary() && e.Num == 0 {
		if _, own := v.own[e.Message]; own {
			v.own[e.Message]++
			return nil
		}
		m, err := rows.FindMessage(v.Conn, e.Message)
		if errors.Is(err, store.ErrNotFound) {
			v.Fault("missing", e.String(), "the view or a summary leads to it, but it is not there")
			return nil
		}
		v.reached = append(v.reached, m)
		return err
	}
	if !e.IsSummary() {
		v.Fault("missing", fmt.Sprintf("summary number %d", e.Num), "the view or a summary leads to it, but it is not there")
	}
	if slices.Contains(path, e.Num) {
		v.Fault("cycle", e.String(), "it is a source of itself")
		return nil
	}
	if v.nodes[e.Num]++; v.nodes[e.Num] > 1 {
		v.Fault("doubly-covered", e.String(), "the view leads to it %d times", v.nodes[e.Num])
		return nil
	}
	sources, err := rows.Edges(v.Conn, e.Num)
	if err != nil {
		return err
	}
	if len(sources) == 0 {
		v.Fault("no-sources", e.String(), "it has no sources")
	}
	path = append(path, e.Num)
	return sqldb.Each(sources, func(s rows.Edge) error { return v.reach(s, path) })
}

func (v *verifier) checkOwn() {
	for _, id := range slices.Sorted(maps.Keys(v.own)) {
		switch n := v.own[id]; {
		case v.hidden[id] && n > 0:
			v.Fault("doubly-covered", id.String(), "it should not be in the view, but the view leads to it")
		case n == 0 && !v.hidden[id]:
			v.Fault("uncovered", id.String(), "neither the view nor a kept branch leads to it")
		case n > 1:
			v.Fault("doubly-covered", id.String(), "the view leads to it %d times", n)
		}
	}
}

// checkInherited verifies that a fork leads to the messages that it inherited,
// each once.
func (v *verifier) checkInherited() {
	switch {
	case v.Inherited == nil && len(v.reached) > 0:
		v.Fault("foreign", v.name(), "its view leads to %d messages of other conversations", len(v.reached))
	case v.Inherited != nil && !bytes.Equal(rows.InheritedDigest(v.reached), v.Inherited):
		v.Fault("inherited", v.name(), "its view does not lead to the messages it inherited when it was forked")
	}
}

// SummaryNode is a summary with its number.
type SummaryNode struct {
	rows.SummaryRow
	Unreadable error // of its list of files
}

// summaries checks the numbers of each summary against its sources.
func (v *verifier) summaries() error {
	all, err := SummariesOf(v.Conn, v.Row.ID)
	if err != nil {
		return err
	}
	v.Verification.Summaries = int64(len(all))
	if v.Row.Summaries != int64(len(all)) {
		v.Fault("totals", v.name(), "it says it has %d summaries, there are %d", v.Row.Summaries, len(all))
	}
	known := map[int64]store.Summary{}
	for _, n := range all {
		if n.Unreadable != nil {
			v.Fault("summary", string(n.ID), "it cannot be read: %v", n.Unreadable)
		}
		if v.nodes[n.Num] == 0 && !n.Retired {
			v.Fault("orphan", string(n.ID), "neither the view nor a kept branch leads to it")
		}
		if v.nodes[n.Num] > 0 && n.Retired {
			v.Fault("retired", string(n.ID), "it is marked as taken apart, but the view or a kept branch leads to it")
		}
		if err := v.summary(n, known); err != nil {
			return err
		}
		if v.whole {
			v.summaryQuality(n.Summary)
		}
	}
	return nil
}

// summary checks the numbers of a summary, the order of its sources, and that
// its id follows from its text. known has the numbers of summaries that were
// derived already.
func (v *verifier) summary(n SummaryNode, known map[int64]store.Summary) error {
	sources, err := rows.SourceItems(v.Conn, n.Num)
	if errors.Is(err, store.ErrNotFound) || err != nil && !sqldb.Fatal(err) {
		return nil // it is reported already
	}
	if err != nil {
		return err
	}
	for i, it := range sources {
		if i > 0 && it.Pos <= sources[i-1].Pos {
			v.Fault("source-order", string(n.ID), "%s is out of order among its sources", it.ID)
		}
	}
	want, err := rows.Derive(v.Conn, n.Num, known)
	if err != nil && !errors.Is(err, store.ErrNotFound) { // it has no sources
		return err
	}
	known[n.Num] = want
	if n.Depth != want.Depth || n.Messages != want.Messages {
		v.Fault("summary", string(n.ID), "it says depth %d over %d messages, its sources say %d over %d", n.Depth, n.Messages, want.Depth, want.Messages)
	}
	if wrong := differences(n.Summary, want); v.whole && err == nil && len(wrong) > 0 {
		v.Fault("summary-numbers", string(n.ID), "its %s does not follow from its sources", strings.Join(wrong, ", "))
	}
	// The seal proves every text and the sources. The id proves the first text and them
	// too; it is also made from the session key, which may be lost.
	if err := n.CheckSources(v.Conn); err != nil {
		return err
	}
	if n.Damaged {
		v.Fault("summary-text", string(n.ID), "its text, its sources, its numbers, its model or its time are not those that were written")
		return nil
	}
	if err := v.revisions(n); err != nil {
		return err
	}
	provable := n.Revision == 0 && !strings.HasPrefix(v.Key, rows.RecoveredKey)
	if digest := "sum_" + rows.SummaryDigest(v.Row.Conversation, sources, n.Body); provable && !strings.HasPrefix(digest, string(n.ID)) {
		v.Fault("summary-text", string(n.ID), "its text or its sources are not those that its id was made from")
	}
	return nil
}

// ConversationDigest digests the messages of a conversation. It does not depend
// on the database.
func ConversationDigest(key string, segment int, messages int64, head [sha256.Size]byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	fmt.Fprintf(h, "lcm digest 1\n%q %d %d\n", key, segment, messages)
	h.Write(head[:])
	h.Sum(sum[:0])
	return sum
}

// erasedMessage verifies that nothing is left of an erased message. Its link is
// trusted, because its content is gone. The next link depends on it, so that an
// erasure cannot be moved, added or undone without breaking the chain.
func (v *verifier) erasedMessage(s sqldb.Row, m rows.MessageRow) error {
	v.head = m.Chain
	if m.Flags&store.FlagErased == 0 {
		v.Fault("erased-mark", v.name(), "it is marked as erased, but its messages are there")
		return nil
	}
	left := m.Size != 0 || m.Tokens != 0 || m.CutList != "" || m.StoredBody != nil ||
		m.Native != "" || !m.Said.IsZero() || len(m.Record) > 0 || m.SHA256 != [sha256.Size]byte{}
	switch {
	case left:
		v.Fault("erased", m.ID.String(), "it was erased, but something of it is left")
	case !seal.Messages.Holds(s, 0):
		v.Fault("row", m.ID.String(), "its number, its place or the time when it was stored is not the one that was written")
	}
	return nil
}
