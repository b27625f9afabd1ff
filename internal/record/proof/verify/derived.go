package verify

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/store"
)

// derived checks the positions of branch items, and those of the messages if derived data
// are checked.
func (v *verifier) derived() error {
	if !v.ErasedAt.IsZero() {
		return nil
	}
	if base, err := BasePosition(v.Conn, v.Row); err != nil {
		return err
	} else if v.whole && base != v.Base {
		v.Fault("base", v.name(), "its positions begin after %d, they should after %d", v.Base, base)
	}
	return v.Query(`
		SELECT x.branch, x.pos, coalesce(m.seq + c.base, s.pos), `+BranchStart+` FROM branches b JOIN branch_items x ON x.branch = b.id
		LEFT JOIN messages m ON m.id = x.message LEFT JOIN conversations c ON c.id = m.conversation LEFT JOIN summaries s ON s.num = x.summary
		WHERE b.conversation = ? AND (x.pos <> coalesce(m.seq + c.base, s.pos) OR x.pos <= `+BranchStart+`) ORDER BY x.branch, x.pos`, func(s sqldb.Row) error {
		v.Fault("branch-order", fmt.Sprintf("branch %d of %s", s.ColumnInt64(0), v.name()),
			"one of its items is noted at %d, it stood at %d, and the branch begins after %d", s.ColumnInt64(1), s.ColumnInt64(2), s.ColumnInt64(3))
		return nil
	}, int64(v.Row.ID))
}

// BranchStart is the position after which the items of branch b stood.
const BranchStart = `coalesce((SELECT a.seq + o.base FROM messages a JOIN conversations o ON o.id = a.conversation WHERE a.id = b.after), 0)`

// BasePosition computes the position before the first message of a
// conversation.
func BasePosition(c sqldb.Conn, r rows.Row) (int64, error) {
	if r.ForkedAt == 0 {
		return 0, nil
	}
	pos, err := rows.MessagePosition(c, r.ForkedAt)
	if errors.Is(err, store.ErrNotFound) {
		return r.Base, nil // nothing to compute it from
	}
	return pos, err
}

// NewestTime returns the time of the last message, or 0 if it may have been
// erased.
func NewestTime(c sqldb.Conn, r rows.Row) (ms int64, err error) {
	if r.Erased > 0 {
		return 0, nil
	}
	return sqldb.Value[int64](c, `SELECT max(coalesce(said, stored)) FROM messages WHERE conversation = ?`, int64(r.ID))
}

// summaryQuality finds summaries that should be written again.
func (v *verifier) summaryQuality(s store.Summary) {
	switch why := looksBroken(s); {
	case s.Retired:
	case why != "":
		v.Fault("summary-broken", string(s.ID), "%s", why)
	case s.Method == methodBare:
		v.Fault("summary-fallback", string(s.ID), "it only names its sources: no summariser managed to shorten them")
	}
}

// SummariesOf returns the summaries of a conversation, sources first.
func SummariesOf(c sqldb.Conn, id store.ConversationID) ([]SummaryNode, error) {
	return sqldb.List(c, `SELECT`+rows.SummaryColumns+` WHERE s.conversation = ? ORDER BY s.num`, func(s sqldb.Row) SummaryNode {
		sum, err := rows.ScanSummary(s)
		return SummaryNode{sum, err}
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
func isInherited(c sqldb.Conn, id store.ConversationID, num int64) bool {
	s, err := rows.SummaryByNum(c, num)
	return err == nil && s.Conversation != id
}

// itemDifference names a wrong property of a view item, or returns "".
func itemDifference(have, want rows.ViewItem) string {
	switch {
	case have.Stub && have.Tokens >= want.Tokens, !have.Stub && have.Tokens != want.Tokens:
		return "size"
	case have.Role != want.Role:
		return "role"
	case have.Depth != want.Depth:
		return "depth"
	}
	return ""
}

// looksBroken describes a text that no summariser would have written, or
// returns "".
func looksBroken(s store.Summary) string {
	switch {
	case strings.TrimSpace(s.Body) == "":
		return "it has no text"
	case !utf8.ValidString(s.Body) || strings.ContainsRune(s.Body, 0):
		return "its text is not text"
	case strings.Contains(s.Body, "<think>") || strings.Contains(s.Body, "</think>"):
		return "it holds a model's reasoning instead of, or beside, a summary"
	case s.Tokens <= 0:
		return "it says that it costs nothing"
	case s.SourceTokens > 0 && s.Tokens > 2*s.SourceTokens+500: // a short summary costs its frame too
		return "it is far larger than its sources"
	}
	return ""
}
