package rows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/tracing"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// ViewItem is an item with the number of its summary, which is how rows refer
// to it.
type ViewItem struct {
	store.Item
	Num int64 // of the summary, else 0
}

// Most items are messages: a join would look for a summary of each.
const itemColumns = `
	v.pos, v.message, v.summary, ` + itemSummary + `, v.tokens, v.role, v.depth, v.stub, v.links, ` + itemHolds + `
	FROM view v`

// itemHolds tells whether an item stands where its message or summary belongs. A message that
// is shown in part, and no other, has fewer tokens there. Items of other conversations are
// those that a fork began with.
const itemHolds = `CASE WHEN v.summary IS NULL THEN (SELECT m.role = v.role AND CASE WHEN v.stub THEN v.tokens < m.tokens ELSE v.tokens = m.tokens END AND CASE WHEN m.conversation = v.conversation THEN m.seq + c.base = v.pos ELSE v.pos <= c.base END
		FROM messages m, conversations c WHERE m.id = v.message AND c.id = v.conversation)
	ELSE (SELECT s.pos = v.pos AND s.depth = v.depth FROM summaries s WHERE s.num = v.summary) END`

// itemSummary is the id of an item's summary, if it is one.
const itemSummary = `CASE WHEN v.summary IS NULL THEN NULL ELSE (SELECT id FROM summaries WHERE num = v.summary) END`

func scanItem(s sqldb.Row) (ViewItem, error) {
	it := ViewItem{Num: s.ColumnInt64(2)}
	it.Pos = s.ColumnInt64(0)
	it.Message = store.MessageID(s.ColumnInt64(1))
	if it.Num != 0 {
		it.Summary = store.SummaryID(s.ColumnText(3))
	}
	it.Tokens = s.ColumnInt(4)
	it.Role = store.RoleOf(s.ColumnInt(5))
	it.Depth = s.ColumnInt(6)
	it.Stub = s.ColumnBool(7)
	it.Damaged = !s.ColumnBool(9)
	if links := s.ColumnText(8); links != "" {
		var err error
		if it.Calls, it.Results, err = parseLinks(links); err != nil {
			return it, fmt.Errorf("view item %s: links: %w", it.ID, err)
		}
	}
	return it, nil
}

// parseLinks decodes a list of two lists of ids. It is most of the cost of
// reading a view, and ids rarely need escapes, so that usually the quotes alone
// separate them.
func parseLinks(links string) (calls, results []string, err error) {
	var lists [2][]string
	if strings.Contains(links, `\`) {
		err := json.Unmarshal([]byte(links), &lists)
		return lists[0], lists[1], err
	}
	n := 0 // of the list
	parts := strings.Split(links, `"`)
	for i, part := range parts {
		switch {
		case i%2 == 0: // between ids; null stands for an empty list
			n += strings.Count(part, "]") + strings.Count(part, "null")
		case n > 1 || len(parts)%2 == 0:
			return nil, nil, errors.New("not a list of ids")
		default:
			lists[n] = append(lists[n], part)
		}
	}
	return lists[0], lists[1], nil
}

// linksOf encodes the tool calls that a message makes and answers.
func linksOf(calls, results []string) (any, error) {
	if len(calls) == 0 && len(results) == 0 {
		return nil, nil
	}
	b, err := json.Marshal([2][]string{calls, results})
	return string(b), err
}

// ViewItems reads the view between two positions, both included.
func ViewItems(c sqldb.Conn, id store.ConversationID, from, to int64) ([]ViewItem, error) {
	var found []ViewItem
	err := c.Query(`SELECT`+itemColumns+` WHERE v.conversation = ? AND v.pos BETWEEN ? AND ? ORDER BY v.pos`,
		func(s sqldb.Row) error {
			it, err := scanItem(s)
			found = append(found, it)
			return err
		}, int64(id), from, to)
	return found, err
}

// AllItems reads the whole view.
func AllItems(c sqldb.Conn, id store.ConversationID) ([]ViewItem, error) {
	return ViewItems(c, id, math.MinInt64, math.MaxInt64)
}

// InsertItem adds an item to a view.
func InsertItem(c sqldb.Conn, id store.ConversationID, it ViewItem) error {
	links, err := linksOf(it.Calls, it.Results)
	if err != nil {
		return err
	}
	return c.Exec(`
		INSERT INTO view (conversation, pos, message, summary, tokens, role, depth, stub, links) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		int64(id), it.Pos, sqldb.Null(int64(it.Message)), sqldb.Null(it.Num), it.Tokens, int(store.RoleCode(it.Role)), it.Depth, it.Stub, links)
}

// View implements [store.Reader].
func (r *Records) View(ctx context.Context, id store.ConversationID, w store.Window) (v store.View, err error) {
	ctx, span := tracing.Start(ctx, "store.view")
	defer func() {
		span.Int("items", len(v.Items))
		span.End(err)
	}()
	return sqldb.Read(ctx, r.DB, func(c sqldb.Conn) (store.View, error) {
		row, err := ReadConversation(c, id)
		if err != nil {
			return store.View{}, err
		}
		v := store.View{Conversation: id, Count: row.ViewItems, Tokens: row.ViewTokens, LastUser: row.LastUser, Damaged: row.Damaged}
		return v, fillWindow(c, &v, w)
	})
}

// fillWindow fills v with the items that w asks for. It costs as much as those
// items, not as the whole view.
func fillWindow(c sqldb.Conn, v *store.View, w store.Window) error {
	whole := w == (store.Window{}) || (w.NewestTokens == 0 && w.Oldest+w.Newest >= v.Count)
	if whole { // a count that is wrong hides nothing of it
		w = store.Window{Oldest: math.MaxInt}
	}
	newest, err := newestItems(c, v, w)
	if err != nil {
		return err
	}
	v.Items = newest
	if w.Oldest > 0 {
		oldest, err := oldestItems(c, v, w, newest)
		if err != nil {
			return err
		}
		v.Gap = len(oldest)
		v.Items = append(oldest, newest...)
	}
	tokens := 0
	for _, it := range v.Items {
		tokens += it.Tokens
		v.Damaged = v.Damaged || it.Damaged
	}
	if whole || w.Newest == 0 && tokens < w.NewestTokens { // that is all
		v.Damaged = v.Damaged || len(v.Items) != v.Count || tokens != v.Tokens
		return nil
	}
	v.Skipped = v.Count - len(v.Items)
	return addSkippedUser(c, v)
}

// addSkippedUser adds the newest user message of the view where it was skipped.
func addSkippedUser(c sqldb.Conn, v *store.View) error {
	if v.LastUser == 0 || slices.ContainsFunc(v.Items, func(it store.Item) bool { return it.Pos == v.LastUser }) {
		return nil
	}
	items, err := ViewItems(c, v.Conversation, v.LastUser, v.LastUser)
	if err == nil && len(items) > 0 {
		v.LastUserItem = &items[0].Item
	}
	return err
}

// oldestItems reads the oldest items before newest, and leaves room for those.
func oldestItems(c sqldb.Conn, v *store.View, w store.Window, newest []store.Item) ([]store.Item, error) {
	end := int64(1) << 62
	if len(newest) > 0 {
		end = newest[0].Pos - 1
	}
	items := make([]store.Item, 0, max(0, min(w.Oldest, v.Count))+len(newest))
	err := c.Query(`SELECT`+itemColumns+` WHERE v.conversation = ? AND v.pos <= ? ORDER BY v.pos LIMIT ?`,
		func(s sqldb.Row) error {
			it, err := scanItem(s)
			items = append(items, it.Item)
			return err
		}, int64(v.Conversation), end, w.Oldest)
	return items, err
}

func newestItems(c sqldb.Conn, v *store.View, w store.Window) ([]store.Item, error) {
	if w.Newest == 0 && w.NewestTokens <= 0 {
		return nil, nil
	}
	limit, expected := w.Newest, min(w.Newest, v.Count)
	if limit == 0 {
		limit = math.MaxInt64
		expected = min(v.Count, int(int64(w.NewestTokens)*int64(v.Count)/int64(max(1, v.Tokens)))+16)
	}
	newest := make([]store.Item, 0, max(0, expected))
	tokens := 0
	err := c.Stream(`SELECT`+itemColumns+` WHERE v.conversation = ? ORDER BY v.pos DESC LIMIT ?`, func(s sqldb.Row) error {
		it, err := scanItem(s)
		newest = append(newest, it.Item)
		if tokens += it.Tokens; err == nil && w.NewestTokens > 0 && tokens >= w.NewestTokens {
			err = sqldb.ErrStop
		}
		return err
	}, int64(v.Conversation), limit)
	if errors.Is(err, sqldb.ErrStop) {
		err = nil
	}
	slices.Reverse(newest)
	return newest, err
}

// MessagePosition returns the position of a message in views.
func MessagePosition(c sqldb.Conn, id store.MessageID) (int64, error) {
	m, err := FindMessage(c, id)
	return m.Pos, err
}

// notSaid are the flags of messages that are not the user's own, whatever their
// role: 7 in SQL.
const notSaid = store.FlagEcho | store.FlagSynthetic | store.FlagHostSummary

// isSaidByUser reports whether a message is the user's own. The view keeps the
// newest one in full. Some formats put tool results into user messages.
func isSaidByUser(m *store.NewMessage) bool {
	return m.Role == llms.RoleUser && len(m.Results) == 0 && m.Flags&notSaid == 0
}

// findLastUser looks up the newest message of the view that the user said.
func (w *Writer) findLastUser() (err error) {
	w.LastUser, err = NewestUser(w.Conn, w.ID)
	return err
}

const newestUser = `
	SELECT v.pos FROM view v JOIN messages m ON m.id = v.message
	WHERE v.conversation = ?1 AND v.role = 1 AND (m.flags & 7) = 0 AND (v.links IS NULL OR v.links LIKE '%,null]' OR v.links LIKE '%,[]]')
	ORDER BY v.pos DESC LIMIT 1`

// NewestUser returns the position of the newest message of the view that the
// user said, or 0.
func NewestUser(c sqldb.Conn, id store.ConversationID) (int64, error) {
	return sqldb.Value[int64](c, newestUser, int64(id))
}

// Recount updates the counts of a conversation that follow from its rows, apart
// from those of its messages.
func Recount(c sqldb.Conn, id store.ConversationID) error {
	return c.Exec(`
		UPDATE conversations SET
			erased = (SELECT count(*) FROM messages WHERE conversation = ?1 AND `+AnyFlag(store.FlagErased)+`),
			summaries = (SELECT count(*) FROM summaries WHERE conversation = ?1),
			(view_items, view_tokens) = (SELECT count(*), coalesce(sum(tokens), 0) FROM view WHERE conversation = ?1),
			last_user = coalesce((`+newestUser+`), 0)
		WHERE id = ?1`, int64(id))
}
