package scale

import (
	"context"
	"errors"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"

	"github.com/lossless-context/lcm/bench/harness"
	"github.com/lossless-context/lcm/internal/record/store"
)

// peer is a database as others keep one: a table of messages and an FTS5 index
// of their words, filled by hand.
type peer struct {
	conn *sqlite3.Conn
	took time.Duration // by the inserts
}

func newPeer(path string) (*peer, error) {
	c, err := connect(path)
	if err != nil {
		return nil, err
	}
	p := &peer{conn: c}
	if err := fts5.Register(c); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	err = c.Exec(`
		CREATE TABLE messages (id INTEGER PRIMARY KEY, conversation INTEGER, role TEXT, created_at INTEGER, content TEXT);
		CREATE VIRTUAL TABLE messages_fts USING fts5(content, tokenize = 'porter unicode61')`)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return p, nil
}

// fill inserts the messages of the record, as many at a time as the engine
// stored. Reading them is not counted.
func (p *peer) fill(ctx context.Context, from store.Store) error {
	all, err := from.Conversations(ctx, store.ConversationQuery{})
	if err != nil {
		return err
	}
	for _, c := range all {
		var pending []store.Message
		for m, err := range from.Messages(ctx, store.MessageQuery{Conversation: c.ID}) {
			if err != nil {
				return err
			}
			if pending = append(pending, m); len(pending) == batch {
				if err := p.insert(pending); err != nil {
					return err
				}
				pending = pending[:0]
			}
		}
		if err := p.insert(pending); err != nil {
			return err
		}
	}
	return nil
}

func (p *peer) insert(ms []store.Message) (err error) {
	rows, words := make([][]any, len(ms)), make([][]any, len(ms))
	for i, m := range ms {
		text := m.Body.SearchText()
		rows[i] = []any{int64(m.ID), int64(m.Conversation), string(m.Body.Role), m.Body.Time.UnixMilli(), text}
		words[i] = []any{int64(m.ID), text}
	}
	at := time.Now()
	defer func() { p.took += time.Since(at) }()
	tx, err := p.conn.BeginImmediate()
	if err != nil {
		return err
	}
	defer tx.End(&err)
	return errors.Join(harness.Run(p.conn, "INSERT INTO messages VALUES (?, ?, ?, ?, ?)", rows...),
		harness.Run(p.conn, "INSERT INTO messages_fts (rowid, content) VALUES (?, ?)", words...))
}

// common runs the statement that peers use for a word, newest first: snippet
// and content of every match, then the sort.
func (p *peer) common(word string) (took time.Duration, err error) {
	s, _, err := p.conn.Prepare(`
		SELECT m.id, m.content, snippet(messages_fts, 0, '', '', '…', 32), rank
		FROM messages_fts JOIN messages m ON m.id = messages_fts.rowid
		WHERE messages_fts MATCH ? ORDER BY m.created_at DESC LIMIT 50`)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.BindText(1, word); err != nil {
		return 0, err
	}
	at := time.Now()
	for s.Step() {
		_ = s.ColumnRawText(1)
		_ = s.ColumnRawText(2)
	}
	return time.Since(at), s.Err()
}
