package record

import (
	"fmt"
	"slices"

	"github.com/lossless-context/lcm/internal/record/sqldb"
)

// EachConversation finds the conversation ids that messages, summaries and
// views use, by the first index entry of each. Reading every row would take too
// long.
const EachConversation = `
	WITH RECURSIVE m (id) AS (
		SELECT min(conversation) FROM messages
		UNION ALL SELECT (SELECT min(conversation) FROM messages WHERE conversation > m.id) FROM m WHERE m.id IS NOT NULL
	), s (id) AS (
		SELECT min(conversation) FROM summaries
		UNION ALL SELECT (SELECT min(conversation) FROM summaries WHERE conversation > s.id) FROM s WHERE s.id IS NOT NULL
	), v (id) AS (
		SELECT min(conversation) FROM view
		UNION ALL SELECT (SELECT min(conversation) FROM view WHERE conversation > v.id) FROM v WHERE v.id IS NOT NULL
	), x (id) AS (SELECT id FROM m UNION SELECT id FROM s UNION SELECT id FROM v)
	SELECT x.id FROM x LEFT JOIN conversations c ON c.id = x.id WHERE x.id IS NOT NULL AND `

// RecoveredKey begins the session key of a conversation whose own key is lost.
const RecoveredKey = "recovered:"

// recoveredEnd is the first key after those that begin with RecoveredKey.
const recoveredEnd = "recovered;"

// Unclaimed says that the first message of a new conversation is also the first
// of one whose session key was lost: they are the same conversation.
type Unclaimed struct{ Conversation int64 }

func (r *Unclaimed) Error() string {
	return fmt.Sprintf("these are the messages of conversation %d, whose session key was lost", r.Conversation)
}

// unclaimed looks for a conversation without a key whose first message has the
// given link, which covers record, role, time and id.
func (w *Writer) unclaimed(link []byte) error {
	lost := w.Lost()
	if !lost.Known {
		found, err := sqldb.Column[int64](w.Conn, EachConversation+`c.id IS NULL`)
		if err != nil {
			return err
		}
		*lost = sqldb.Lost{Known: true, IDs: found}
	}
	recovered, err := sqldb.Column[int64](w.Conn,
		`SELECT id FROM conversations WHERE archived_at IS NULL AND key >= ? AND key < ? AND id <> ?`, RecoveredKey, recoveredEnd, int64(w.ID))
	if err != nil {
		return err
	}
	for _, id := range slices.Concat(lost.IDs, recovered) {
		same, err := w.Has(`SELECT 1 FROM messages WHERE conversation = ? AND seq = 1 AND chain = ?`, id, link)
		if err != nil {
			return err
		}
		if same {
			return &Unclaimed{Conversation: id}
		}
	}
	return nil
}
