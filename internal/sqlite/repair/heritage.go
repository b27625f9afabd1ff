package repair

import (
	"bytes"
	"errors"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/sqlite/record"
	"github.com/lossless-context/lcm/internal/store"
)

// heritage is what a fork may lead to of the conversations that it came from.
type heritage struct {
	// messages are those that the fork started with, where the digest that was
	// taken then proves it; nil where nothing does.
	messages []record.Edge
	set      map[store.MessageID]bool
	// until has for each conversation that it came from the last place that it
	// shares with it.
	until map[store.ConversationID]int64
}

// findHeritage finds out what a fork has inherited. The conversation that it
// came from has been mended already.
func (m *mender) findHeritage() error {
	m.heirs = heritage{until: map[store.ConversationID]int64{}}
	if m.Inherited == nil {
		return nil
	}
	last := int64(1) << 62
	for r := m.Row; r.ForkedFrom != 0; {
		pos, err := record.MessagePosition(m.Conn, r.ForkedAt)
		if errors.Is(err, store.ErrNotFound) {
			break
		}
		if err != nil {
			return err
		}
		if _, again := m.heirs.until[r.ForkedFrom]; again {
			break
		}
		last = min(last, pos)
		m.heirs.until[r.ForkedFrom] = last
		if r, err = record.ReadConversation(m.Conn, r.ForkedFrom); errors.Is(err, store.ErrNotFound) {
			break
		} else if err != nil {
			return err
		}
	}
	return m.proveHeritage()
}

// proveHeritage reads the messages that the original leads to up to the place
// of the fork, and takes them for the inherited ones if their digest is the one
// that was taken when the fork was made.
func (m *mender) proveHeritage() error {
	pos, known := m.heirs.until[m.ForkedFrom]
	if !known {
		return nil
	}
	items, err := record.ViewItems(m.Conn, m.ForkedFrom, 0, pos)
	if err != nil {
		return nil // the original cannot be read: it is mended for itself
	}
	if items, err = record.UnfoldTo(m.Conn, items, m.ForkedAt, pos); err != nil {
		return nil // the original has left that branch
	}
	items, _ = record.Split(items, pos)
	var messages []record.Edge
	set := map[store.MessageID]bool{}
	for _, it := range items {
		err := m.descend(record.Edge{Node: it.Node, Num: it.Num}, nil, func(e record.Edge) error {
			if e.Num == 0 {
				messages, set[e.Message] = append(messages, e), true
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	digest, err := m.digestOf(messages)
	if err == nil && bytes.Equal(digest, m.Inherited) {
		m.heirs.messages, m.heirs.set = messages, set
	}
	return err
}

// digestOf computes the digest of inherited messages, in the order of their
// places.
func (m *mender) digestOf(messages []record.Edge) ([]byte, error) {
	var all []record.Inherited
	for _, e := range messages {
		_, err := m.One(`SELECT m.seq + c.base, m.sha256 FROM messages m JOIN conversations c ON c.id = m.conversation WHERE m.id = ?`, func(s *sqlite3.Stmt) error {
			all = append(all, record.Inherited{Pos: s.ColumnInt64(0), SHA256: s.ColumnBlob(1, nil)})
			return nil
		}, int64(e.Message))
		if err != nil {
			return nil, err
		}
	}
	return record.InheritedDigest(all), nil
}

// belongs reports whether the conversation may lead to a node: to what is its
// own, and if it is a fork to what it has inherited, but not to a summary that
// leads nowhere.
func (m *mender) belongs(e record.Edge) (bool, error) {
	if e.Num != 0 {
		var of store.ConversationID
		found, err := m.One(`SELECT conversation FROM summaries WHERE num = ?`, func(s *sqlite3.Stmt) error { of = store.ConversationID(s.ColumnInt64(0)); return nil }, e.Num)
		_, shared := m.heirs.until[of]
		return found && (of == m.ID || shared) && !m.hollow[e.Num], err
	}
	if _, own := m.own[e.Message]; own {
		return true, nil
	}
	if m.heirs.set != nil {
		return m.heirs.set[e.Message], nil
	}
	shared := false
	_, err := m.One(`SELECT m.conversation, m.seq + c.base, m.flags FROM messages m JOIN conversations c ON c.id = m.conversation WHERE m.id = ?`,
		func(s *sqlite3.Stmt) error {
			until, known := m.heirs.until[store.ConversationID(s.ColumnInt64(0))]
			shared = known && s.ColumnInt64(1) <= until && store.Flag(s.ColumnInt64(2))&(store.FlagHidden|store.FlagErased) == 0
			return nil
		}, int64(e.Message))
	return shared, err
}

// placeInherited puts back the messages that a fork started with.
func (m *mender) placeInherited() error {
	for _, e := range m.heirs.messages {
		if m.claimed[e] {
			continue
		}
		pos, err := record.MessagePosition(m.Conn, e.Message)
		if err != nil {
			return err
		}
		m.claimed[e], m.changed = true, true
		m.places = append(m.places, placement{Edge: e, pos: pos})
	}
	return nil
}
