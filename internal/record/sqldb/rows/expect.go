package rows

import (
	"context"
	"crypto/sha256"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
)

// expected is what a [Writer] has looked up about the messages to come, so that their
// rows are sent together: a server answers each statement whose result is needed only
// after a round trip.
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
	e := expected{ids: w.expected.ids, natives: map[string]store.Appended{}}
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
	if more := fresh - len(e.ids); more > 0 {
		var ids []store.MessageID
		ids, err = sqldb.Column[store.MessageID](w.Conn, next, more)
		e.ids = append(e.ids, ids...)
	}
	w.expected = e
	return err
}

// number returns the number of the next message, and whether its native id is known to be
// new. It is 0 if the conversation is known to have the native id.
func (w *Writer) number(native string, seq int64, sum [sha256.Size]byte) (id store.MessageID, known bool, err error) {
	e := &w.expected
	_, looked := e.natives[native]
	known = looked || native == ""
	switch d := w.Dialect(); {
	case len(e.ids) > 0:
		id, e.ids = e.ids[0], e.ids[1:]
	case d.NextMessages == "" && w.wrote.Last != 0: // there is one writer at a time
		id = w.wrote.Last + 1
	case d.NextMessages == "" || known:
		id, err = sqldb.Value[store.MessageID](w.Conn, `SELECT `+d.NextMessage)
	default: // both in one round trip
		var there int64
		_, err = w.One(`SELECT `+d.NextMessage+`, m.id FROM (SELECT 1) AS one LEFT JOIN messages m ON m.conversation = ? AND m.native = ?`, sqldb.Into(&id, &there), int64(w.ID), native)
		if known = true; there != 0 {
			id = 0
		}
	}
	if looked {
		e.natives[native] = store.Appended{ID: id, Seq: seq, Existed: true, SHA256: sum}
	}
	return id, known, err
}
