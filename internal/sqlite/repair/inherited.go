package repair

import (
	"bytes"
	"errors"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/sqlite/record"
	"github.com/lossless-context/lcm/internal/store"
)

// inheritance is the part of other conversations that a fork may lead to.
type inheritance struct {
	// messages are those that the fork started with, in order, with their
	// positions. It is nil where the digest taken at the fork does not prove them.
	messages []store.MessageID
	pos      map[store.MessageID]int64
	// until has the last position that the fork shares with each conversation
	// that it came from.
	until map[store.ConversationID]int64
}

// findInherited finds the conversations and messages that a fork inherited. The
// conversation that it was forked from has been rebuilt already.
func (r *rebuild) findInherited() error {
	r.origin = inheritance{until: map[store.ConversationID]int64{}}
	if r.Inherited == nil {
		return nil
	}
	last := int64(1) << 62
	for at := r.Row; at.ForkedFrom != 0; {
		if _, again := r.origin.until[at.ForkedFrom]; again {
			break
		}
		pos, err := record.MessagePosition(r.Conn, at.ForkedAt)
		if err == nil {
			last = min(last, pos)
			r.origin.until[at.ForkedFrom] = last
			at, err = record.ReadConversation(r.Conn, at.ForkedFrom)
		}
		if errors.Is(err, store.ErrNotFound) {
			break
		}
		if err != nil {
			return err
		}
	}
	return r.proveInherited()
}

// proveInherited takes the messages that the origin leads to up to the fork point
// for the inherited ones, if they have the digest that was taken at the fork.
func (r *rebuild) proveInherited() error {
	last, known := r.origin.until[r.ForkedFrom]
	if !known {
		return nil
	}
	items, err := record.ViewItems(r.Conn, r.ForkedFrom, 0, last)
	if err != nil {
		return nil // the origin cannot be read
	}
	if items, err = record.UnfoldTo(r.Conn, items, r.ForkedAt, last); err != nil {
		return nil // the origin has left that branch
	}
	items, _ = record.Split(items, last)
	var messages []store.MessageID
	var sums []record.Inherited
	pos := map[store.MessageID]int64{}
	for _, it := range items {
		err := r.descend(record.Edge{Node: it.Node, Num: it.Num}, nil, func(e record.Edge) error {
			if e.Num != 0 {
				return nil
			}
			_, err := r.One(`SELECT m.seq + c.base, m.sha256 FROM messages m JOIN conversations c ON c.id = m.conversation WHERE m.id = ?`, func(s *sqlite3.Stmt) error {
				messages, pos[e.Message] = append(messages, e.Message), s.ColumnInt64(0)
				sums = append(sums, record.Inherited{Pos: s.ColumnInt64(0), SHA256: s.ColumnBlob(1, nil)})
				return nil
			}, int64(e.Message))
			return err
		})
		if err != nil {
			return err
		}
	}
	if bytes.Equal(record.InheritedDigest(sums), r.Inherited) {
		r.origin.messages, r.origin.pos = messages, pos
	}
	return nil
}

// belongs reports whether the conversation may lead to a node: one of its own,
// or, in a fork, an inherited one.
func (r *rebuild) belongs(e record.Edge) (bool, error) {
	if e.Num != 0 {
		var of int64
		found, err := r.One(`SELECT conversation FROM summaries WHERE num = ?`, dbfile.Int64Column(&of), e.Num)
		_, shared := r.origin.until[store.ConversationID(of)]
		return found && (store.ConversationID(of) == r.ID || shared), err
	}
	if _, own := r.messages[e.Message]; own {
		return true, nil
	}
	if r.origin.pos != nil {
		_, inherited := r.origin.pos[e.Message]
		return inherited, nil
	}
	shared := false
	_, err := r.One(`SELECT m.conversation, m.seq + c.base, m.flags FROM messages m JOIN conversations c ON c.id = m.conversation WHERE m.id = ?`,
		func(s *sqlite3.Stmt) error {
			until, known := r.origin.until[store.ConversationID(s.ColumnInt64(0))]
			shared = known && s.ColumnInt64(1) <= until && store.Flag(s.ColumnInt64(2))&(store.FlagHidden|store.FlagErased) == 0
			return nil
		}, int64(e.Message))
	return shared, err
}

// placeInherited places the messages that a fork started with and that nothing
// leads to.
func (r *rebuild) placeInherited() error {
	for _, id := range r.origin.messages {
		e := record.Edge{Node: store.Node{Message: id}}
		if r.claimed[e] {
			continue
		}
		r.claimed[e] = true
		r.placed = append(r.placed, placement{Edge: e, pos: r.origin.pos[id]})
	}
	return nil
}
