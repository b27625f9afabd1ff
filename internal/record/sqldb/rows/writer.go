// Package rows stores and reads conversations: messages, summaries and the
// edges between them, the view, kept branches and payloads.
//
// The methods of [Records] implement the store's contract; each runs in a
// transaction of its own. Functions that take a [sqldb.Conn] run in the transaction
// of their caller; the packages that erase, check and repair are built on them.
// [Records.Update] is the only way to add messages: its [Writer] is the
// [store.Writer] of one transaction.
package rows

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lossless-context/lcm/internal/kit/tracing"
	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/tombstone"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// Writer is the [store.Writer] of one transaction. The conversation's row is
// read once when the transaction begins and written once when it ends,
// however many messages come between.
type Writer struct {
	sqldb.Conn
	Row
	Now   time.Time
	dirty bool
	wrote Written // Bytes and Head are set at the end
	// refusal holds the erasures that concern the session, once they were read.
	refusal *tombstone.Refusal
	// expected are numbers and known native ids of the messages to come.
	expected expected
	sealed   bool // the row was as it was written when the transaction began
}

var _ store.Writer = (*Writer)(nil)

// Written describes what a transaction added.
type Written struct {
	Last  store.MessageID   // the last message, 0 if it added none
	Bytes int64             // of the records of messages
	Head  [sha256.Size]byte // the link of the last message
	// LastSummary is the number of the last summary, 0 if it added none, and
	// SummaryBytes the size of their texts.
	LastSummary, SummaryBytes int64
}

// Update runs fn in a write transaction on a conversation. If
// the commit failed, the result describes the messages that may have been stored.
func (r *Records) Update(ctx context.Context, id store.ConversationID, fn func(store.Writer) error) (done Written, err error) {
	ctx, span := tracing.Start(ctx, "store.update")
	added := 0
	defer func() {
		span.Int("messages", added)
		span.Int("bytes", int(done.Bytes))
		span.End(err)
	}()
	err = r.DB.TransactOn(ctx, lockOf(id), func(c sqldb.Conn) error {
		row, erasures, err := lockConversation(c, id)
		if err != nil {
			return err
		}
		w := &Writer{Conn: c, Row: row, Now: r.DB.Now().UTC(), sealed: row.Sealed()}
		if !erasures {
			w.refusal = &tombstone.Refusal{}
		}
		if err := fn(w); err != nil {
			return err
		}
		done = w.wrote
		done.Bytes, done.Head = w.Bytes-row.Bytes, w.Head
		added = int(w.Messages - row.Messages)
		return w.flush()
	})
	return done, err
}

// flush writes the row of the conversation. One that was damaged before keeps its seal.
func (w *Writer) flush() error {
	if !w.dirty {
		return nil
	}
	if w.sealed {
		w.Seal = w.Row.seal()
	}
	return w.Exec(`
		UPDATE conversations
		SET created_at = ?, updated_at = ?, messages = ?, summaries = ?, tokens = ?, bytes = ?, head = ?,
		    view_items = ?, view_tokens = ?, last_user = ?, seal = ?
		WHERE id = ?`,
		w.CreatedAt, w.UpdatedAt, w.Messages, w.Summaries, w.Tokens, w.Bytes, w.Head[:], w.ViewItems, w.ViewTokens, w.LastUser, w.Seal, int64(w.ID))
}

// Conversation implements [store.Writer].
func (w *Writer) Conversation() store.Conversation { return w.Row.Conversation }

// Append implements [store.Writer].
func (w *Writer) Append(ctx context.Context, ms ...store.NewMessage) ([]store.Appended, error) {
	if !w.Conversation().Active() {
		return nil, fmt.Errorf("conversation %d (%s): %w", w.ID, w.Key, store.ErrArchived)
	}
	if len(ms) > 1 && len(w.expected.ids) == 0 {
		natives := make([]string, len(ms))
		for i := range ms {
			natives[i] = ms[i].Native
		}
		if err := w.Expect(ctx, natives); err != nil {
			return nil, err
		}
	}
	done := make([]store.Appended, 0, len(ms))
	for i := range ms {
		a, err := w.append(&ms[i])
		if err != nil {
			return nil, fmt.Errorf("append message %d of %d: %w", i+1, len(ms), err)
		}
		done = append(done, a)
	}
	return done, nil
}

func (w *Writer) append(m *store.NewMessage) (store.Appended, error) {
	if store.RoleCode(m.Role) == 0 {
		return store.Appended{}, fmt.Errorf("role %q is not user, assistant, system or tool", m.Role)
	}
	forgot, err := w.forgot(store.Fingerprint{Native: m.Native, Said: m.Said, SHA256: m.SHA256})
	if err == nil && forgot {
		err = w.dropRefused(m)
	}
	if err != nil || forgot {
		return store.Appended{Existed: true, Forgotten: true, SHA256: m.SHA256}, err
	}
	said := w.Now
	if !m.Said.IsZero() {
		said = m.Said
	}
	body, err := EncodeBody(m.Body)
	if err != nil {
		return store.Appended{}, err
	}
	seq := w.Messages + 1
	chain := store.Link(w.Head, *m, body)
	if a, ok := w.expected.natives[m.Native]; ok && a.Existed {
		return a, nil
	}
	id, err := w.insertMessage(m, seq, body, chain[:])
	if err != nil {
		return store.Appended{}, err
	}
	if id == 0 {
		return w.existing(m.Native)
	}
	if err := w.Attach(id, m); err != nil {
		return store.Appended{}, err
	}
	w.active(said)
	w.dirty, w.wrote.Last = true, id
	w.Messages, w.Head = seq, chain
	w.Tokens += int64(m.Tokens)
	w.Bytes += m.Size
	if m.Flags&store.FlagHidden != 0 {
		return store.Appended{ID: id, Seq: seq, SHA256: m.SHA256}, nil
	}
	it := ViewItem{Item: store.Item{
		Pos: w.Base + seq, ID: store.ID{Message: id}, Tokens: m.Tokens, Role: m.Role,
		Calls: m.Calls, Results: m.Results,
	}}
	if err := InsertItem(w.Conn, w.ID, it); err != nil {
		return store.Appended{}, err
	}
	w.ViewItems++
	w.ViewTokens += m.Tokens
	if isSaidByUser(m) {
		w.LastUser = it.Pos
	}
	return store.Appended{ID: id, Seq: seq, SHA256: m.SHA256}, nil
}

// active updates the times of the conversation. They are the times of its
// messages: an old transcript that is imported today is not a new conversation.
func (w *Writer) active(said time.Time) {
	if w.Messages == 0 {
		w.UpdatedAt = said
	}
	if said.Before(w.CreatedAt) {
		w.CreatedAt = said
	}
	if said.After(w.UpdatedAt) {
		w.UpdatedAt = said
	}
}

// insertMessage returns 0 if the conversation has the native id already. The
// conflict clause names that index: any other conflict is an error.
func (w *Writer) insertMessage(m *store.NewMessage, seq int64, body, chain []byte) (store.MessageID, error) {
	cuts, err := CutsOf(m.Cuts)
	if err != nil {
		return 0, err
	}
	id, known, err := w.number(m.Native, seq, m.SHA256)
	if err != nil || id == 0 {
		return 0, err
	}
	var record any = m.Record
	if cuts == nil {
		record = seal.Sum(m.SHA256) // it is not hashed again
	}
	values := []any{int64(id), int64(w.ID), seq, int(store.RoleCode(m.Role)), int64(m.Flags), w.Now, m.Said, m.Tokens,
		sqldb.Null(m.Native), string(m.Format), m.Size, m.SHA256[:], chain, record, cuts, BodyColumn(body)}
	values = seal.Messages.Row(values...)
	values[13] = sqldb.Pack(m.Record)
	if known {
		return id, w.Exec(insertMessage, values...)
	}
	stored, err := w.Conn.Update(insertMessage+` ON CONFLICT (conversation, native) WHERE native IS NOT NULL DO NOTHING`, values...)
	if stored == 0 {
		id = 0
	}
	return id, err
}

var insertMessage = seal.Messages.Insert()

// CutsOf encodes the cuts of a record.
func CutsOf(cuts []store.Cut) (any, error) {
	if len(cuts) == 0 {
		return nil, nil
	}
	b, err := json.Marshal(cuts)
	return string(b), err
}

// BodyColumn returns a stored body as a parameter; nil is NULL.
func BodyColumn(body []byte) any {
	if body == nil {
		return nil
	}
	return body
}

// EncodeBody encodes a body without the fields that have columns of their own.
// It returns nil for nil.
func EncodeBody(body *llms.Message) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	m := *body
	m.ID, m.Time, m.Raw = "", time.Time{}, llms.Raw{}
	return wire.Encode(llms.FormatLCM, m)
}

func (w *Writer) existing(native string) (store.Appended, error) {
	a := store.Appended{Existed: true}
	found, err := w.One(`SELECT id, seq, sha256 FROM messages WHERE conversation = ? AND native = ?`,
		sqldb.Into(&a.ID, &a.Seq, &a.SHA256), int64(w.ID), native)
	if err == nil && !found {
		err = fmt.Errorf("native id %q conflicts with nothing", native)
	}
	return a, err
}

// Attach links a message to its payloads.
func (w *Writer) Attach(id store.MessageID, m *store.NewMessage) error {
	return sqldb.Each(m.Payloads, func(p store.PayloadID) error { return LinkPayload(w.Conn, int64(id), string(p)) })
}

// LinkPayload links a message to a payload, if there is one with the id.
func LinkPayload(c sqldb.Conn, message int64, payload string) error {
	return c.Exec(`INSERT INTO message_payloads (message, payload) SELECT ?, num FROM payloads WHERE id = ? ON CONFLICT DO NOTHING`, message, payload)
}

// Stub implements [store.Writer].
func (w *Writer) Stub(_ context.Context, id store.MessageID, tokens int) error {
	pos, err := MessagePosition(w.Conn, id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	var old, whole int
	found, err := w.One(`SELECT v.tokens, m.tokens FROM view v JOIN messages m ON m.id = v.message WHERE v.conversation = ? AND v.message = ? AND v.pos = ?`,
		sqldb.Into(&old, &whole), int64(w.ID), int64(id), pos)
	switch {
	case err != nil:
		return err
	case !found:
		return fmt.Errorf("%s: %w", id, store.ErrStale)
	case tokens >= whole:
		return fmt.Errorf("%s has %d tokens: a reference of %d is not smaller", id, whole, tokens)
	}
	w.dirty = true
	w.ViewTokens += tokens - old
	return w.Exec(`UPDATE view SET stub = TRUE, tokens = ? WHERE conversation = ? AND pos = ?`, tokens, int64(w.ID), pos)
}

// Forgotten implements [store.Writer].
func (w *Writer) Forgotten(_ context.Context, f store.Fingerprint) (bool, error) { return w.forgot(f) }

func (w *Writer) forgot(f store.Fingerprint) (bool, error) {
	if w.refusal == nil {
		r, err := tombstone.Read(w.Conn, w.Key, w.Project, w.Now)
		if err != nil {
			return false, err
		}
		if r.ClockAhead { // for good: messages from before that time may still arrive after it
			if err := sqldb.Each(r.Keys, func(key string) error { return tombstone.DropFuture(w.Conn, key, w.Now) }); err != nil {
				return false, err
			}
		}
		w.refusal = &r
	}
	refused, _, _, err := w.refusal.Refuses(w.Conn, &tombstone.Identity{Fingerprint: f})
	return refused, err
}

// dropRefused removes the payloads that were stored for a refused message.
func (w *Writer) dropRefused(m *store.NewMessage) error {
	return sqldb.Each(m.Payloads, func(p store.PayloadID) error {
		num, err := sqldb.Value[int64](w.Conn, `SELECT num FROM payloads WHERE id = ?`, string(p))
		if err == nil {
			_, _, err = DropUnusedPayload(w.Conn, num)
		}
		return err
	})
}
