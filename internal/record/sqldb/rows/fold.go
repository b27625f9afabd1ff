package rows

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/sqldb"
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
		return store.Summary{}, fmt.Errorf("fold %s to %s: %w", first.ID, last.ID, store.ErrStale)
	}
	edges := make([]Edge, len(over))
	tokens := 0 // a stub has fewer than its message
	var sources int64
	for i, it := range over {
		edges[i] = Edge{it.ID, it.Num}
		tokens += it.Tokens
		sources = seal.Source(sources, it.Pos, int64(it.Message), it.Num)
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
	num, err := w.insertSummary(s, sources)
	if err != nil {
		return store.Summary{}, err
	}
	err = w.Exec(`
		INSERT INTO edges (summary, ord, message, source)
		SELECT ?, pos, message, summary FROM view WHERE conversation = ? AND pos BETWEEN ? AND ?`, num, int64(w.ID), first.Pos, last.Pos)
	if err != nil {
		return store.Summary{}, err
	}
	by := store.Item{Pos: s.Pos, ID: store.ID{Summary: s.ID}, Tokens: s.Tokens, Depth: s.Depth}
	return s, w.replace(over, ViewItem{Num: num, Item: by})
}

func sameItems(have []ViewItem, want []store.Item) bool {
	return slices.EqualFunc(have, want, func(a ViewItem, b store.Item) bool { return a.Pos == b.Pos && a.ID == b.ID && a.Tokens == b.Tokens })
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

func (w *Writer) insertSummary(s store.Summary, sources int64) (num int64, err error) {
	files, err := filesOf(s.Files)
	if err != nil {
		return 0, err
	}
	num, err = w.Insert("num", seal.Summaries.Insert(), seal.Summaries.Row(
		string(s.ID), int64(s.Conversation), string(s.Kind), s.Depth, s.Body, s.Tokens, s.SourceTokens, s.Descendants, s.Messages, s.MessageTokens,
		s.Earliest.UnixMilli(), s.Latest.UnixMilli(), files, string(s.Level), s.Method, s.Model, s.TokensIn, s.TokensOut, s.CreatedAt, s.Revision, s.Retired,
		s.Pos, sources, 0)...)
	w.wrote.LastSummary, w.wrote.SummaryBytes = num, w.wrote.SummaryBytes+int64(len(s.Body))
	return num, err
}

func reword(s *store.Summary, w store.Wording) {
	s.Body, s.Tokens, s.Level, s.Method, s.Model, s.TokensIn, s.TokensOut = w.Body, w.Tokens, w.Level, w.Method, w.Model, w.TokensIn, w.TokensOut
}

// Reword implements [store.Writer].
func (w *Writer) Reword(_ context.Context, id store.SummaryID, to store.Wording) (store.Summary, error) {
	if to.Body == "" {
		return store.Summary{}, errors.New("reword: the summary has no text")
	}
	num, s, err := summaryByID(w.Conn, id)
	if err != nil {
		return s, err
	}
	if s.Conversation != w.ID {
		return s, fmt.Errorf("%s belongs to conversation %d, not %d", id, s.Conversation, w.ID)
	}
	if s.Damaged { // so may be this number, which nothing else checks
		known, err := Derive(w.Conn, num, nil)
		if err == nil {
			s.SourceTokens = known.SourceTokens
		} else if !errors.Is(err, store.ErrNotFound) {
			return s, err
		}
	}
	err = w.Exec(seal.Revisions.Insert(), // a damaged text is kept as it is
		seal.Revisions.Row(num, s.Revision, s.Body, s.Tokens, string(s.Level), s.Method, s.Model, s.TokensIn, s.TokensOut, w.Now)...)
	if err != nil {
		return s, err
	}
	err = w.Exec(`
		UPDATE summaries SET body = ?, tokens = ?, source_tokens = ?, level = ?, method = ?, model = ?, tokens_in = ?, tokens_out = ?, revision = revision + 1, earlier = earlier + 1
		WHERE num = ?`, to.Body, to.Tokens, s.SourceTokens, string(to.Level), to.Method, to.Model, to.TokensIn, to.TokensOut, num)
	if err == nil {
		err = SealSummary(w.Conn, num)
	}
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

// SealSummary seals a summary whose text was written from the sources that it has now.
func SealSummary(c sqldb.Conn, num int64) error {
	sources, err := seal.Sources(c, num)
	if err == nil {
		err = c.Exec(`UPDATE summaries SET sources = ? WHERE num = ?`, sources, num)
	}
	if err != nil {
		return err
	}
	return seal.Summaries.Again(c, "s.num = ?", num)
}

// SummaryColumns selects summaries s for [ScanSummary].
var SummaryColumns = " s.num, " + seal.Summaries.Columns() + " FROM summaries s"

// SummaryRow is a row of summaries.
type SummaryRow struct {
	Num int64
	store.Summary
	SourceSum int64 // of the sources that it was written from; see [seal.Sources]
	Earlier   int   // how many earlier texts are kept
}

// ScanSummary reads a summary, and tells whether it is the one that was written.
func ScanSummary(s sqldb.Row) (sum SummaryRow, err error) {
	var files []byte
	sqldb.Scan(s, &sum.Num, &sum.ID, &sum.Conversation, &sum.Kind, &sum.Depth, &sum.Body, &sum.Tokens, &sum.SourceTokens, &sum.Descendants, &sum.Messages,
		&sum.MessageTokens, &sum.Earliest, &sum.Latest, &files, &sum.Level, &sum.Method, &sum.Model, &sum.TokensIn, &sum.TokensOut, &sum.CreatedAt,
		&sum.Revision, &sum.Retired, &sum.Pos, &sum.SourceSum, &sum.Earlier)
	sum.Damaged = !seal.Summaries.Holds(s, 1)
	if len(files) > 0 {
		if err = json.Unmarshal(files, &sum.Summary.Files); err != nil {
			err = fmt.Errorf("%s: files: %w", sum.ID, err)
		}
	}
	return sum, err
}

// CheckSources tells whether the sources of a summary are those that it was written from.
func (sum *SummaryRow) CheckSources(c sqldb.Conn) error {
	have, err := seal.Sources(c, sum.Num)
	sum.Damaged = sum.Damaged || err == nil && have != sum.SourceSum
	return err
}

func summaryWhere(c sqldb.Conn, cond, name string, arg any) (sum SummaryRow, err error) {
	found, err := c.One(`SELECT`+SummaryColumns+` WHERE `+cond, func(s sqldb.Row) (err error) {
		sum, err = ScanSummary(s)
		return err
	}, arg)
	if err == nil && !found {
		err = store.Missing(name)
	}
	return sum, err
}

// summaryByID reads a summary and its number.
func summaryByID(c sqldb.Conn, id store.SummaryID) (int64, store.Summary, error) {
	sum, err := summaryWhere(c, "s.id = ?", string(id), string(id))
	return sum.Num, sum.Summary, err
}

// SummaryByNum reads the summary with a number.
func SummaryByNum(c sqldb.Conn, num int64) (store.Summary, error) {
	sum, err := summaryWhere(c, "s.num = ?", fmt.Sprintf("summary number %d", num), num)
	return sum.Summary, err
}

// filesOf encodes the files of a summary.
func filesOf(files []store.PayloadID) (any, error) {
	if len(files) == 0 {
		return nil, nil
	}
	b, err := json.Marshal(files)
	return string(b), err
}
