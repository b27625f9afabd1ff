package record

import (
	"context"
	"crypto/sha256"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
)

// expected is what a [Writer] has looked up about the messages to come, so that their
// rows are sent together: a server answers each INSERT that returns a number only after
// a round trip.
type expected struct {
	ids     []store.MessageID
	natives map[string]store.Appended // those that are stored have Existed
}

// Expect implements [store.Writer]. The transaction holds the lock of the conversation,
// so that no other stores one of the native ids meanwhile.
func (w *Writer) Expect(_ context.Context, natives []string) error {
	next := w.Dialect().NextMessages
	if next == "" || len(natives) < 2 {
		return nil
	}
	e := expected{natives: map[string]store.Appended{}}
	var named []string
	for _, native := range natives {
		if _, twice := e.natives[native]; native != "" && !twice {
			e.natives[native] = store.Appended{}
			named = append(named, native)
		}
	}
	fresh := len(natives)
	if len(named) > 0 {
		err := w.Query(`SELECT native, id, seq, sha256 FROM messages WHERE conversation = ? AND native = ANY(?)`, func(s sqldb.Row) error {
			a := store.Appended{Existed: true}
			var native string
			sqldb.Scan(s, &native, &a.ID, &a.Seq, &a.SHA256)
			e.natives[native] = a
			fresh--
			return nil
		}, int64(w.ID), named)
		if err != nil {
			return err
		}
	}
	var err error
	if fresh > 1 {
		e.ids, err = sqldb.Column[store.MessageID](w.Conn, next, fresh)
	}
	w.expected = e
	return err
}

// take returns the number of the next message, or 0 if its row has to be inserted to
// find out. The numbers of a conversation rise, so that those that are left are not used
// after that.
func (e *expected) take(native string, seq int64, sum [sha256.Size]byte) store.MessageID {
	if native != "" {
		if _, looked := e.natives[native]; !looked {
			e.ids = nil
		}
	}
	if len(e.ids) == 0 {
		return 0
	}
	id := e.ids[0]
	e.ids = e.ids[1:]
	if native != "" {
		e.natives[native] = store.Appended{ID: id, Seq: seq, Existed: true, SHA256: sum}
	}
	return id
}
