package record

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/internal/summary"
)

// The statements of a fold.
const (
	foldRun = `
		SELECT v.pos, v.message, v.summary, v.tokens, ` + itemSummary + `, m.tokens, ifnull(m.said, m.stored)
		FROM view v LEFT JOIN messages m ON m.id = v.message
		WHERE v.conversation = ? AND v.pos BETWEEN ? AND ? ORDER BY v.pos`
	foldFiles = `
		SELECT mp.message, p.id FROM message_payloads mp JOIN payloads p ON p.num = mp.payload
		WHERE mp.message BETWEEN ? AND ? ORDER BY mp.message, p.num`
	foldTaken  = `SELECT 1 FROM summaries WHERE id = ?`
	foldInsert = `
		INSERT INTO summaries (id, conversation, kind, depth, pos, body, tokens, source_tokens, descendants, messages, message_tokens,
		                       earliest, latest, files, level, method, model, tokens_in, tokens_out, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	foldEdges = `
		INSERT INTO edges (summary, ord, message, source)
		SELECT ?, pos, message, summary FROM view WHERE conversation = ? AND pos BETWEEN ? AND ?`
	foldDelete = `DELETE FROM view WHERE conversation = ? AND pos BETWEEN ? AND ?`
	foldFlush  = `UPDATE conversations SET summaries = ?, view_items = ?, view_tokens = ?, last_user = ? WHERE id = ?`
)

// Fold implements [store.Writer]. It computes everything about the new summary
// but its wording from the items that it replaces.
func (w *Writer) Fold(_ context.Context, n store.NewSummary) (store.Summary, error) {
	if len(n.Over) == 0 {
		return store.Summary{}, errors.New("fold: there is nothing to fold")
	}
	if n.Body == "" {
		return store.Summary{}, errors.New("fold: the summary has no text")
	}
	over, s, err := w.run(n.Over[0].Pos, n.Over[len(n.Over)-1].Pos, len(n.Over))
	if err != nil {
		return store.Summary{}, err
	}
	if !sameItems(over, n.Over) {
		return store.Summary{}, fmt.Errorf("fold %s to %s: %w", n.Over[0].Node, n.Over[len(n.Over)-1].Node, store.ErrStale)
	}
	if err := w.gather(over, &s); err != nil {
		return store.Summary{}, err
	}
	if s.ID, err = w.summaryID(over, n.Body); err != nil {
		return store.Summary{}, err
	}
	s.Conversation = w.ID
	s.Pos = over[0].Pos
	s.CreatedAt = w.Now
	reword(&s, n.Wording)
	num, err := w.insertSummary(s, over[0].Pos)
	if err != nil {
		return store.Summary{}, err
	}
	err = w.Exec(foldEdges, num, int64(w.ID), over[0].Pos, over[len(over)-1].Pos)
	if err != nil {
		return store.Summary{}, err
	}
	return s, w.replace(over, ViewItem{Num: num, Item: store.Item{
		Pos: over[0].Pos, Node: store.Node{Summary: s.ID}, Tokens: s.Tokens, Depth: s.Depth,
	}})
}

// run reads the view items to fold, and the numbers of a summary over the
// messages among them.
func (w *Writer) run(from, to int64, expected int) ([]ViewItem, store.Summary, error) {
	found := make([]ViewItem, 0, expected)
	total := store.Summary{Kind: summary.Leaf}
	var earliest, latest int64
	err := w.Query(foldRun, func(s *sqlite3.Stmt) error {
		it := ViewItem{Num: s.ColumnInt64(2)}
		it.Pos, it.Message, it.Tokens = s.ColumnInt64(0), store.MessageID(s.ColumnInt64(1)), s.ColumnInt(3)
		total.SourceTokens += it.Tokens
		if it.Num != 0 {
			it.Summary = store.SummaryID(s.ColumnText(4))
		} else {
			said := s.ColumnInt64(6)
			if total.Messages == 0 {
				earliest, latest = said, said
			}
			earliest, latest = min(earliest, said), max(latest, said)
			total.Messages++
			total.MessageTokens += s.ColumnInt64(5)
		}
		found = append(found, it)
		return nil
	}, int64(w.ID), from, to)
	if total.Messages > 0 {
		total.Earliest, total.Latest = time.UnixMilli(earliest).UTC(), time.UnixMilli(latest).UTC()
	}
	return found, total, err
}

func sameItems(have []ViewItem, want []store.Item) bool {
	return slices.EqualFunc(have, want, func(a ViewItem, b store.Item) bool { return a.Pos == b.Pos && a.Node == b.Node && a.Tokens == b.Tokens })
}

// replace swaps a run of view items for one.
func (w *Writer) replace(over []ViewItem, by ViewItem) error {
	err := w.Exec(foldDelete, int64(w.ID), over[0].Pos, over[len(over)-1].Pos)
	if err != nil {
		return err
	}
	for _, it := range over {
		w.ViewTokens -= it.Tokens
	}
	w.dirty = true
	w.ViewItems += 1 - len(over)
	w.ViewTokens += by.Tokens
	w.Summaries++
	if w.LastUser >= over[0].Pos && w.LastUser <= over[len(over)-1].Pos {
		if err := w.findLastUser(); err != nil {
			return err
		}
	}
	return InsertItem(w.Conn, w.ID, by)
}

// gather adds the summaries and files among the items to the numbers of their
// summary.
func (w *Writer) gather(over []ViewItem, total *store.Summary) error {
	for _, it := range over {
		if !it.IsSummary() {
			continue
		}
		part, err := SummaryByNum(w.Conn, it.Num)
		if err != nil {
			return err
		}
		total.Kind = summary.Condensed
		total.Depth = max(total.Depth, part.Depth+1)
		total.Descendants += 1 + part.Descendants
		Cover(total, part)
	}
	return w.gatherFiles(over, total)
}

// gatherFiles adds the payloads of messages. Few messages have any: they are
// looked up by the range of ids.
func (w *Writer) gatherFiles(over []ViewItem, total *store.Summary) error {
	first, last := store.MessageID(math.MaxInt64), store.MessageID(0)
	for _, it := range over {
		if !it.IsSummary() {
			first, last = min(first, it.Message), max(last, it.Message)
		}
	}
	files := map[store.MessageID][]store.PayloadID{}
	err := w.Query(foldFiles, func(s *sqlite3.Stmt) error {
		id := store.MessageID(s.ColumnInt64(0))
		files[id] = append(files[id], store.PayloadID(s.ColumnText(1)))
		return nil
	}, int64(first), int64(last))
	if err != nil || len(files) == 0 {
		return err
	}
	for _, it := range over {
		Cover(total, store.Summary{Files: files[it.Message]})
	}
	return nil
}

// Cover adds the messages, times and files of a part to a summary.
func Cover(total *store.Summary, part store.Summary) {
	total.Messages += part.Messages
	total.MessageTokens += part.MessageTokens
	if part.Messages > 0 && (total.Earliest.IsZero() || part.Earliest.Before(total.Earliest)) {
		total.Earliest = part.Earliest
	}
	if part.Latest.After(total.Latest) {
		total.Latest = part.Latest
	}
	for _, f := range part.Files {
		if !slices.Contains(total.Files, f) {
			total.Files = append(total.Files, f)
		}
	}
}

// summaryID derives an id from the key of the conversation, the sources and the
// text: the same fold gives the same id in every database.
func (w *Writer) summaryID(over []ViewItem, body string) (store.SummaryID, error) {
	id, err := freeID(w.Conn, "sum_", SummaryDigest(w.Conversation(), over, body), foldTaken)
	return store.SummaryID(id), err
}

func SummaryDigest(c store.Conversation, over []ViewItem, body string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %d\n", c.Key, c.Segment)
	var n [8]byte
	for _, it := range over {
		binary.BigEndian.PutUint64(n[:], uint64(it.Pos))
		h.Write(n[:])
		h.Write([]byte(it.Summary))
	}
	h.Write([]byte(body))
	return hex.EncodeToString(h.Sum(nil))
}

func (w *Writer) insertSummary(s store.Summary, pos int64) (int64, error) {
	files, err := FilesOf(s.Files)
	if err != nil {
		return 0, err
	}
	err = w.Exec(foldInsert, string(s.ID), int64(s.Conversation), string(s.Kind), s.Depth, pos, s.Body, s.Tokens, s.SourceTokens, s.Descendants, s.Messages,
		s.MessageTokens, s.Earliest.UnixMilli(), s.Latest.UnixMilli(), files, string(s.Level), s.Method, s.Model, s.TokensIn, s.TokensOut, s.CreatedAt)
	return w.LastID(), err
}

func reword(s *store.Summary, w store.Wording) {
	s.Body, s.Tokens, s.Level, s.Method, s.Model, s.TokensIn, s.TokensOut = w.Body, w.Tokens, w.Level, w.Method, w.Model, w.TokensIn, w.TokensOut
}

// Reword implements [store.Writer].
func (w *Writer) Reword(_ context.Context, id store.SummaryID, to store.Wording) (store.Summary, error) {
	if to.Body == "" {
		return store.Summary{}, errors.New("reword: the summary has no text")
	}
	num, s, err := SummaryByID(w.Conn, id)
	if err != nil {
		return s, err
	}
	if s.Conversation != w.ID {
		return s, fmt.Errorf("%s belongs to conversation %d, not %d", id, s.Conversation, w.ID)
	}
	err = w.Exec(`
		INSERT INTO revisions (summary, revision, body, tokens, level, method, model, tokens_in, tokens_out, replaced_at)
		SELECT num, revision, body, tokens, level, method, model, tokens_in, tokens_out, ? FROM summaries WHERE num = ?`, w.Now, num)
	if err != nil {
		return s, err
	}
	err = w.Exec(`
		UPDATE summaries SET body = ?, tokens = ?, level = ?, method = ?, model = ?, tokens_in = ?, tokens_out = ?, revision = revision + 1
		WHERE num = ?`, to.Body, to.Tokens, string(to.Level), to.Method, to.Model, to.TokensIn, to.TokensOut, num)
	if err != nil {
		return s, err
	}
	if err := DropIndexFrom(w.Conn, LaneSummaries, num); err != nil {
		return s, err
	}
	inView, err := w.Has(`SELECT 1 FROM view v JOIN summaries s ON s.num = v.summary WHERE s.num = ? AND v.conversation = ? AND v.pos = s.pos`, num, int64(w.ID))
	if err != nil {
		return s, err
	}
	if inView {
		w.dirty = true
		w.ViewTokens += to.Tokens - s.Tokens
		if err := w.Exec(`UPDATE view SET tokens = ? WHERE conversation = ? AND summary = ?`, to.Tokens, int64(w.ID), num); err != nil {
			return s, err
		}
	}
	reword(&s, to)
	s.Revision++
	return s, nil
}

const SummaryColumns = `
	s.num, s.id, s.conversation, s.kind, s.depth, s.body, s.tokens, s.source_tokens, s.descendants, s.messages, s.message_tokens,
	s.earliest, s.latest, s.files, s.level, s.method, s.model, s.tokens_in, s.tokens_out, s.created_at, s.revision, s.retired, s.pos
	FROM summaries s`

func ScanSummary(s *sqlite3.Stmt) (num int64, sum store.Summary, err error) {
	sum = store.Summary{
		ID:            store.SummaryID(s.ColumnText(1)),
		Conversation:  store.ConversationID(s.ColumnInt64(2)),
		Kind:          summary.Kind(s.ColumnText(3)),
		Depth:         s.ColumnInt(4),
		Body:          s.ColumnText(5),
		Tokens:        s.ColumnInt(6),
		SourceTokens:  s.ColumnInt(7),
		Descendants:   s.ColumnInt(8),
		Messages:      s.ColumnInt(9),
		MessageTokens: s.ColumnInt64(10),
		Earliest:      time.UnixMilli(s.ColumnInt64(11)).UTC(),
		Latest:        time.UnixMilli(s.ColumnInt64(12)).UTC(),
		Level:         summary.Level(s.ColumnText(14)),
		Method:        s.ColumnText(15),
		Model:         s.ColumnText(16),
		TokensIn:      s.ColumnInt(17),
		TokensOut:     s.ColumnInt(18),
		CreatedAt:     dbfile.Millis(s, 19),
		Revision:      s.ColumnInt(20),
		Retired:       s.ColumnBool(21),
		Pos:           s.ColumnInt64(22),
	}
	if files := s.ColumnRawText(13); len(files) > 0 {
		if err := json.Unmarshal(files, &sum.Files); err != nil {
			return 0, sum, fmt.Errorf("%s: files: %w", sum.ID, err)
		}
	}
	return s.ColumnInt64(0), sum, nil
}

func summaryWhere(c *dbfile.Conn, cond, name string, arg any) (num int64, sum store.Summary, err error) {
	found, err := c.One(`SELECT`+SummaryColumns+` WHERE `+cond, func(s *sqlite3.Stmt) (err error) {
		num, sum, err = ScanSummary(s)
		return err
	}, arg)
	if err == nil && !found {
		err = store.Missing(name)
	}
	return num, sum, err
}

func SummaryByID(c *dbfile.Conn, id store.SummaryID) (int64, store.Summary, error) {
	return summaryWhere(c, "s.id = ?", string(id), string(id))
}

func SummaryByNum(c *dbfile.Conn, num int64) (store.Summary, error) {
	_, s, err := summaryWhere(c, "s.num = ?", fmt.Sprintf("summary number %d", num), num)
	return s, err
}

// FilesOf encodes the files of a summary.
func FilesOf(files []store.PayloadID) (any, error) {
	if len(files) == 0 {
		return nil, nil
	}
	b, err := json.Marshal(files)
	return string(b), err
}
