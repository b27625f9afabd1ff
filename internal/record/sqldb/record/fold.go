package record

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/seal"
	"github.com/lossless-context/lcm/internal/record/store"
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
	first, last := n.Over[0], n.Over[len(n.Over)-1]
	over, err := ViewItems(w.Conn, w.ID, first.Pos, last.Pos)
	if err != nil {
		return store.Summary{}, err
	}
	if !sameItems(over, n.Over) {
		return store.Summary{}, fmt.Errorf("fold %s to %s: %w", first.Node, last.Node, store.ErrStale)
	}
	edges := make([]Edge, len(over))
	tokens := 0 // a stub has fewer than its message
	for i, it := range over {
		edges[i] = Edge{it.Node, it.Num}
		tokens += it.Tokens
	}
	s, err := derive(w.Conn, edges, nil)
	if err != nil && !errors.Is(err, store.ErrNotFound) { // Verify reports a missing message
		return store.Summary{}, err
	}
	// The same fold gives the same id in every database.
	id, err := freeID(w.Conn, "sum_", SummaryDigest(w.Conversation(), over, n.Body), `SELECT 1 FROM summaries WHERE id = ?`)
	if err != nil {
		return store.Summary{}, err
	}
	s.ID, s.Conversation, s.Pos, s.SourceTokens, s.CreatedAt = store.SummaryID(id), w.ID, first.Pos, tokens, w.Now
	reword(&s, n.Wording)
	num, err := w.insertSummary(s)
	if err != nil {
		return store.Summary{}, err
	}
	err = w.Exec(`
		INSERT INTO edges (summary, ord, message, source)
		SELECT ?, pos, message, summary FROM view WHERE conversation = ? AND pos BETWEEN ? AND ?`, num, int64(w.ID), first.Pos, last.Pos)
	if err != nil {
		return store.Summary{}, err
	}
	by := store.Item{Pos: s.Pos, Node: store.Node{Summary: s.ID}, Tokens: s.Tokens, Depth: s.Depth}
	return s, w.replace(over, ViewItem{Num: num, Item: by})
}

func sameItems(have []ViewItem, want []store.Item) bool {
	return slices.EqualFunc(have, want, func(a ViewItem, b store.Item) bool { return a.Pos == b.Pos && a.Node == b.Node && a.Tokens == b.Tokens })
}

// replace swaps a run of view items for one.
func (w *Writer) replace(over []ViewItem, by ViewItem) error {
	first, last := over[0].Pos, over[len(over)-1].Pos
	if err := w.Exec(`DELETE FROM view WHERE conversation = ? AND pos BETWEEN ? AND ?`, int64(w.ID), first, last); err != nil {
		return err
	}
	for _, it := range over {
		w.ViewTokens -= it.Tokens
	}
	w.dirty = true
	w.ViewItems += 1 - len(over)
	w.ViewTokens += by.Tokens
	w.Summaries++
	if w.LastUser >= first && w.LastUser <= last {
		if err := w.findLastUser(); err != nil {
			return err
		}
	}
	return InsertItem(w.Conn, w.ID, by)
}

// cover adds the messages, times and files of a part to a summary.
func cover(total *store.Summary, part store.Summary) {
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

// SummaryDigest digests the key of the conversation, the sources and the text of
// a summary. The summary's id is the beginning of this digest.
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

func (w *Writer) insertSummary(s store.Summary) (num int64, err error) {
	files, err := filesOf(s.Files)
	if err != nil {
		return 0, err
	}
	num, err = w.Insert("num", `
		INSERT INTO summaries (id, conversation, kind, depth, pos, body, tokens, source_tokens, descendants, messages, message_tokens,
		                       earliest, latest, files, level, method, model, tokens_in, tokens_out, created_at, seal)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		string(s.ID), int64(s.Conversation), string(s.Kind), s.Depth, s.Pos, s.Body, s.Tokens, s.SourceTokens, s.Descendants, s.Messages,
		s.MessageTokens, s.Earliest.UnixMilli(), s.Latest.UnixMilli(), files, string(s.Level), s.Method, s.Model, s.TokensIn, s.TokensOut, s.CreatedAt,
		seal.Text(nil, s.ID, s.CreatedAt, 0, wording(s)))
	w.wrote.LastSummary, w.wrote.SummaryBytes = num, w.wrote.SummaryBytes+int64(len(s.Body))
	return num, err
}

func reword(s *store.Summary, w store.Wording) {
	s.Body, s.Tokens, s.Level, s.Method, s.Model, s.TokensIn, s.TokensOut = w.Body, w.Tokens, w.Level, w.Method, w.Model, w.TokensIn, w.TokensOut
}

// wording is the part of a summary that a summariser wrote.
func wording(s store.Summary) store.Wording {
	return store.Wording{Body: s.Body, Tokens: s.Tokens, Level: s.Level, Method: s.Method, Model: s.Model, TokensIn: s.TokensIn, TokensOut: s.TokensOut}
}

// Reword implements [store.Writer].
func (w *Writer) Reword(_ context.Context, id store.SummaryID, to store.Wording) (store.Summary, error) {
	if to.Body == "" {
		return store.Summary{}, errors.New("reword: the summary has no text")
	}
	var num int64
	var s store.Summary
	var old []byte // its seal
	found, err := w.One(`SELECT`+SummaryColumns+` WHERE s.id = ?`, func(r sqldb.Row) (err error) {
		num, s, err = ScanSummary(r)
		old = r.ColumnBlob(SealColumn, nil)
		return err
	}, string(id))
	if err == nil && !found {
		err = store.Missing(string(id))
	}
	if err != nil {
		return s, err
	}
	if s.Conversation != w.ID {
		return s, fmt.Errorf("%s belongs to conversation %d, not %d", id, s.Conversation, w.ID)
	}
	if s.Damaged { // it is kept as it is
		old = seal.Text(seal.Before(old), s.ID, s.CreatedAt, s.Revision, wording(s))
	}
	err = w.Exec(`
		INSERT INTO revisions (summary, revision, body, tokens, level, method, model, tokens_in, tokens_out, replaced_at, seal)
		SELECT num, revision, body, tokens, level, method, model, tokens_in, tokens_out, ?, ? FROM summaries WHERE num = ?`, w.Now, old, num)
	if err != nil {
		return s, err
	}
	err = w.Exec(`
		UPDATE summaries SET body = ?, tokens = ?, level = ?, method = ?, model = ?, tokens_in = ?, tokens_out = ?, revision = revision + 1, seal = ?
		WHERE num = ?`, to.Body, to.Tokens, string(to.Level), to.Method, to.Model, to.TokensIn, to.TokensOut,
		seal.Text(seal.Hash(old), s.ID, s.CreatedAt, s.Revision+1, to), num)
	if err != nil {
		return s, err
	}
	if err := DropIndexFrom(w.Conn, LaneSummaries, num); err != nil {
		return s, err
	}
	shown, err := w.Update(`UPDATE view SET tokens = ? WHERE conversation = ? AND pos = ? AND summary = ?`, to.Tokens, int64(w.ID), s.Pos, num)
	if err != nil {
		return s, err
	}
	if shown > 0 {
		w.dirty = true
		w.ViewTokens += to.Tokens - s.Tokens
	}
	reword(&s, to)
	s.Revision++
	s.Damaged = false
	return s, nil
}

// SummaryColumns selects summaries s for [ScanSummary].
const SummaryColumns = `
	s.num, s.id, s.conversation, s.kind, s.depth, s.body, s.tokens, s.source_tokens, s.descendants, s.messages, s.message_tokens,
	s.earliest, s.latest, s.files, s.level, s.method, s.model, s.tokens_in, s.tokens_out, s.created_at, s.revision, s.retired, s.pos, s.seal
	FROM summaries s`

// SealColumn is the index of the seal in SummaryColumns.
const SealColumn = 23

// ScanSummary reads a summary and its number, and tells whether its text is the one that was
// written. A summary of a version before seals has none.
func ScanSummary(s sqldb.Row) (num int64, sum store.Summary, err error) {
	var files []byte
	sqldb.Scan(s, &num, &sum.ID, &sum.Conversation, &sum.Kind, &sum.Depth, &sum.Body, &sum.Tokens, &sum.SourceTokens, &sum.Descendants, &sum.Messages,
		&sum.MessageTokens, &sum.Earliest, &sum.Latest, &files, &sum.Level, &sum.Method, &sum.Model, &sum.TokensIn, &sum.TokensOut, &sum.CreatedAt,
		&sum.Revision, &sum.Retired, &sum.Pos)
	if have := s.ColumnRawBlob(SealColumn); len(have) > 0 {
		sum.Damaged = !bytes.Equal(have, seal.Text(seal.Before(have), sum.ID, sum.CreatedAt, sum.Revision, wording(sum)))
	}
	if len(files) > 0 {
		if err = json.Unmarshal(files, &sum.Files); err != nil {
			err = fmt.Errorf("%s: files: %w", sum.ID, err)
		}
	}
	return num, sum, err
}

func summaryWhere(c sqldb.Conn, cond, name string, arg any) (num int64, sum store.Summary, err error) {
	found, err := c.One(`SELECT`+SummaryColumns+` WHERE `+cond, func(s sqldb.Row) (err error) {
		num, sum, err = ScanSummary(s)
		return err
	}, arg)
	if err == nil && !found {
		err = store.Missing(name)
	}
	return num, sum, err
}

// summaryByID reads a summary and its number.
func summaryByID(c sqldb.Conn, id store.SummaryID) (int64, store.Summary, error) {
	return summaryWhere(c, "s.id = ?", string(id), string(id))
}

// SummaryByNum reads the summary with a number.
func SummaryByNum(c sqldb.Conn, num int64) (store.Summary, error) {
	_, s, err := summaryWhere(c, "s.num = ?", fmt.Sprintf("summary number %d", num), num)
	return s, err
}

// filesOf encodes the files of a summary.
func filesOf(files []store.PayloadID) (any, error) {
	if len(files) == 0 {
		return nil, nil
	}
	b, err := json.Marshal(files)
	return string(b), err
}
