package rebuild

import (
	"bytes"
	"errors"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/store"
)

// inheritance is the part of other conversations that a fork may lead to.
type inheritance struct {
	// messages are those that the fork started with, with their positions. It is nil
	// where the digest taken at the fork does not prove them.
	messages map[store.MessageID]int64
	// until has the last position that the fork shares with each conversation
	// that it came from.
	until map[store.ConversationID]int64
}

// findInherited finds the conversations and messages that a fork inherited. The
// conversation that it was forked from has been rebuilt already.
func (r *rebuild) findInherited() error {
	r.origin = inheritance{until: map[store.ConversationID]int64{}}
	if r.Inherited == nil || r.ForkedFrom >= r.ID {
		return nil
	}
	last := int64(1) << 62
	for at := r.Row; at.ForkedFrom != 0; {
		if _, again := r.origin.until[at.ForkedFrom]; again {
			break
		}
		pos, err := rows.MessagePosition(r.Conn, at.ForkedAt)
		if err == nil {
			last = min(last, pos)
			r.origin.until[at.ForkedFrom] = last
			at, err = rows.ReadConversation(r.Conn, at.ForkedFrom)
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
	items, err := rows.ViewItems(r.Conn, r.ForkedFrom, 0, last)
	if err != nil {
		return nil // the origin cannot be read
	}
	if items, err = rows.UnfoldTo(r.Conn, items, r.ForkedAt, last); err != nil {
		return nil // the origin has left that branch
	}
	items, _ = rows.Split(items, last)
	var found []rows.MessageRef
	err = rows.WalkMessages(r.Conn, items, func(m rows.MessageRef) error { found = append(found, m); return nil })
	if err == nil && bytes.Equal(rows.InheritedDigest(found), r.Inherited) { // else some are missing
		r.origin.messages = map[store.MessageID]int64{}
		for _, m := range found {
			r.origin.messages[m.ID] = m.Pos
		}
	}
	return nil
}

// belongs reports whether the conversation may lead to a node: one of its own,
// or, in a fork, an inherited one. A message that is missing is [store.ErrNotFound].
func (r *rebuild) belongs(e rows.Edge) (bool, error) {
	if e.Num != 0 {
		of, err := sqldb.Value[store.ConversationID](r.Conn, `SELECT conversation FROM summaries WHERE num = ?`, e.Num)
		_, shared := r.origin.until[of]
		return of == r.ID || shared, err
	}
	if _, own := r.messages[e.Message]; own {
		return true, nil
	}
	m, err := rows.FindMessage(r.Conn, e.Message)
	if r.origin.messages != nil {
		_, inherited := r.origin.messages[e.Message]
		return inherited, err
	}
	until, shared := r.origin.until[m.Conversation]
	return shared && m.Pos <= until && m.Flags&(store.FlagHidden|store.FlagErased) == 0, err
}
