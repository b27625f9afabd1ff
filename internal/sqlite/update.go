package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// writer is the [store.Writer] of one transaction. The conversation's row is
// read once when the transaction begins and written once when it ends,
// however many messages come between.
type writer struct {
	*conn
	row
	now   time.Time
	dirty bool
	last  store.MessageID // the newest message that was appended
	// refusal is what the session has forgotten, once that was asked for.
	refusal *refusal
}

var _ store.Writer = (*writer)(nil)

// Update implements [store.Store].
func (db *DB) Update(ctx context.Context, id store.ConversationID, fn func(store.Writer) error) error {
	var w *writer
	var before int64
	err := db.transact(ctx, func(c *conn) error {
		r, err := c.conversation(id)
		if err != nil {
			return err
		}
		before = r.Bytes
		w = &writer{conn: c, row: r, now: db.opts.Clock().UTC()}
		if err := fn(w); err != nil {
			return err
		}
		return w.flush()
	})
	var lost *reclaimed
	if errors.As(err, &lost) {
		if err := db.transact(ctx, func(c *conn) error { return c.reclaim(id, lost.from) }); err != nil {
			return err
		}
		db.mu.Lock()
		db.sealed = 0
		db.mu.Unlock()
		return db.Update(ctx, id, fn)
	}
	if err == nil && w.last != 0 {
		db.indexed(ctx, int64(w.last), w.Bytes-before)
	}
	return err
}

// flush writes the conversation's row back: all of it if messages were added,
// else what a change of the view touches, which leaves the index by time alone.
func (w *writer) flush() error {
	switch {
	case !w.dirty:
		return nil
	case w.last == 0:
		return w.exec(foldFlush, w.Summaries, w.ViewItems, w.ViewTokens, w.lastUser, int64(w.ID))
	}
	return w.exec(`
		UPDATE conversations
		SET created_at = ?, updated_at = ?, messages = ?, summaries = ?, tokens = ?, bytes = ?, head = ?,
		    view_items = ?, view_tokens = ?, last_user = ?
		WHERE id = ?`,
		w.CreatedAt, w.UpdatedAt, w.Messages, w.Summaries, w.Tokens, w.Bytes, w.Head[:], w.ViewItems, w.ViewTokens, w.lastUser, int64(w.ID))
}

// Conversation implements [store.Writer].
func (w *writer) Conversation() store.Conversation { return w.row.Conversation }

// Append implements [store.Writer].
func (w *writer) Append(_ context.Context, ms ...store.NewMessage) ([]store.Appended, error) {
	if !w.Conversation().Active() {
		return nil, fmt.Errorf("conversation %d (%s): %w", w.ID, w.Key, store.ErrArchived)
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

func (w *writer) append(m *store.NewMessage) (store.Appended, error) {
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
	said := w.now
	if !m.Said.IsZero() {
		said = m.Said
	}
	var body []byte
	if m.Body != nil {
		var err error
		if body, err = encodeBody(*m.Body); err != nil {
			return store.Appended{}, err
		}
	}
	seq := w.Messages + 1
	chain := store.Link(w.Head, *m, body)
	if seq == 1 && w.base == 0 {
		if err := w.unclaimed(chain[:]); err != nil {
			return store.Appended{}, err
		}
	}
	id, err := w.insertMessage(m, seq, body, chain[:])
	if err != nil {
		return store.Appended{}, err
	}
	if id == 0 {
		return w.existing(m.Native)
	}
	if err := w.attach(id, m); err != nil {
		return store.Appended{}, err
	}
	w.active(said)
	w.dirty, w.last = true, id
	w.Messages, w.Head = seq, chain
	w.Tokens += int64(m.Tokens)
	w.Bytes += m.Size
	if m.Flags&store.FlagHidden != 0 {
		return store.Appended{ID: id, Seq: seq, SHA256: m.SHA256}, nil
	}
	it := viewItem{Item: store.Item{
		Pos: w.base + seq, Node: store.Node{Message: id}, Tokens: m.Tokens, Role: m.Role,
		Calls: m.Calls, Results: m.Results,
	}}
	if err := w.insertItem(w.ID, it); err != nil {
		return store.Appended{}, err
	}
	w.ViewItems++
	w.ViewTokens += m.Tokens
	if isSaidByUser(m) {
		w.lastUser = it.Pos
	}
	return store.Appended{ID: id, Seq: seq, SHA256: m.SHA256}, nil
}

// active moves the conversation's times by a message that was said. They are
// those of what was said in it: an old transcript that is imported today is
// not today's conversation.
func (w *writer) active(said time.Time) {
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
// conflict clause names that one index: any other conflict is an error, never
// a message quietly left out.
func (w *writer) insertMessage(m *store.NewMessage, seq int64, body, chain []byte) (_ store.MessageID, err error) {
	s, err := w.stmt(`
		INSERT INTO messages (conversation, seq, role, flags, stored, said, tokens, native, format, size, sha256, chain, record, cuts, body)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (conversation, native) WHERE native IS NOT NULL DO NOTHING`)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Reset(), s.ClearBindings()) }()
	var cuts, stored any
	if len(m.Cuts) > 0 {
		b, err := json.Marshal(m.Cuts)
		if err != nil {
			return 0, err
		}
		cuts = string(b)
	}
	if body != nil {
		stored = body
	}
	err = bind(s, int64(w.ID), seq, int(store.RoleCode(m.Role)), int64(m.Flags), w.now, m.Said, m.Tokens,
		null(m.Native), string(m.Format), m.Size, m.SHA256[:], chain, m.Record, cuts, stored)
	if err != nil {
		return 0, err
	}
	before := w.TotalChanges()
	if s.Step(); s.Err() != nil {
		return 0, s.Err()
	}
	if w.TotalChanges() == before {
		return 0, nil
	}
	return store.MessageID(w.LastInsertRowID()), nil
}

// encodeBody encodes a body without what the row says already.
func encodeBody(m llms.Message) ([]byte, error) {
	m.ID, m.Time, m.Raw = "", time.Time{}, llms.Raw{}
	return wire.Encode(llms.FormatLCM, m)
}

func (w *writer) existing(native string) (store.Appended, error) {
	a := store.Appended{Existed: true}
	found, err := w.one(`SELECT id, seq, sha256 FROM messages WHERE conversation = ? AND native = ?`, func(s *sqlite3.Stmt) error {
		a.ID, a.Seq = store.MessageID(s.ColumnInt64(0)), s.ColumnInt64(1)
		copy(a.SHA256[:], s.ColumnRawBlob(2))
		return nil
	}, int64(w.ID), native)
	if err == nil && !found {
		err = fmt.Errorf("native id %q conflicts with nothing", native)
	}
	return a, err
}

// attach links a message to its payloads.
func (w *writer) attach(id store.MessageID, m *store.NewMessage) error {
	for _, p := range m.Payloads {
		err := w.exec(`
			INSERT INTO message_payloads (message, payload) SELECT ?, num FROM payloads WHERE id = ? ON CONFLICT DO NOTHING`,
			int64(id), string(p))
		if err != nil {
			return err
		}
	}
	return nil
}

// Stub implements [store.Writer].
func (w *writer) Stub(_ context.Context, id store.MessageID, tokens int) error {
	var pos int64
	var old int
	found, err := w.one(`SELECT pos, tokens FROM view WHERE conversation = ? AND message = ? AND pos = ?`,
		func(s *sqlite3.Stmt) error { pos, old = s.ColumnInt64(0), s.ColumnInt(1); return nil },
		int64(w.ID), int64(id), w.positionOr0(id))
	switch {
	case err != nil:
		return err
	case !found:
		return fmt.Errorf("%s: %w", id, store.ErrStale)
	}
	w.dirty = true
	w.ViewTokens += tokens - old
	return w.exec(`UPDATE view SET stub = 1, tokens = ? WHERE conversation = ? AND pos = ?`, tokens, int64(w.ID), pos)
}

func (w *writer) positionOr0(id store.MessageID) int64 {
	pos, err := w.position(id)
	if err != nil {
		return 0
	}
	return pos
}
