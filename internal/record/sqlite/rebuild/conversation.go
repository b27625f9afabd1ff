package rebuild

import (
	"crypto/sha256"

	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/proof/verify"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
)

// rebuild makes one conversation again inside a transaction: edges, numbers,
// view, branches and totals follow from its messages and from the texts of its
// summaries.
type rebuild struct {
	*dbfile.Conn
	rows.Row
	messages  map[store.MessageID]message // its own
	summaries []verify.SummaryNode        // its own, sources first
	sources   map[int64][]source          // of its summaries
	derived   map[int64]store.Summary     // numbers that follow from the sources
	origin    inheritance                 // of a fork

	placed  []placement
	claimed map[rows.Edge]bool // nodes that a placement leads to
}

// message is a message of the conversation.
type message struct {
	pos    int64
	hidden bool // it has no place in the view
	stored int64
}

// fixConversation rebuilds everything of a conversation that follows from its
// messages. Rows that were whole are sealed again; one that was damaged is whole again if
// the rebuilt columns are what they were.
func fixConversation(c *dbfile.Conn, id store.ConversationID) error {
	return seal.Conversations.Keep(c, "c.id = ?", func() error {
		return seal.Summaries.Keep(c, "s.conversation = ?", func() error { return rebuildConversation(c, id) }, int64(id))
	}, int64(id))
}

func rebuildConversation(c *dbfile.Conn, id store.ConversationID) error {
	row, err := rows.ReadConversation(c, id)
	if err != nil {
		return err
	}
	if row.Base, err = verify.BasePosition(c, row); err != nil {
		return err
	}
	if err := c.Exec(`UPDATE conversations SET base = ? WHERE id = ?`, row.Base, int64(id)); err != nil {
		return err
	}
	r := &rebuild{Conn: c, Row: row, messages: map[store.MessageID]message{}, sources: map[int64][]source{},
		derived: map[int64]store.Summary{}, claimed: map[rows.Edge]bool{}}
	return sqldb.Steps(r.load, r.findInherited, r.rebuildGraph, r.rebuildView, r.countTotals)
}

// load reads the messages and summaries of the conversation.
func (r *rebuild) load() error {
	err := r.Query(`SELECT id, seq, flags, stored FROM messages WHERE conversation = ?`, func(s sqldb.Row) error {
		r.messages[store.MessageID(s.ColumnInt64(0))] = message{
			pos: r.Base + s.ColumnInt64(1), hidden: store.Flag(s.ColumnInt64(2))&(store.FlagHidden|store.FlagErased) != 0, stored: s.ColumnInt64(3),
		}
		return nil
	}, int64(r.ID))
	if err == nil {
		r.summaries, err = verify.SummariesOf(r.Conn, r.ID)
	}
	return err
}

// countTotals counts the conversation again. The number of messages and the head
// of the chain stay where they disagree: they show a loss. The number is never below the
// last place, because the next message takes the place after it.
func (r *rebuild) countTotals() error {
	place, err := r.lastPlace()
	if err != nil {
		return err
	}
	var count, tokens, bytes int64
	var last [sha256.Size]byte
	_, err = r.One(`
		SELECT count(*), sum(tokens), sum(size), ifnull((SELECT chain FROM messages WHERE conversation = ?1 ORDER BY seq DESC LIMIT 1), ?2)
		FROM messages WHERE conversation = ?1`, sqldb.Into(&count, &tokens, &bytes, &last), int64(r.ID), store.Genesis[:])
	if err != nil {
		return err
	}
	if last == r.Head || count == r.Row.Messages {
		if !r.Damaged {
			last = r.Head
		}
		err := r.Exec(`UPDATE conversations SET messages = ?, tokens = ?, bytes = ?, head = ? WHERE id = ?`, place, tokens, bytes, last[:], int64(r.ID))
		if err != nil {
			return err
		}
	} else if err := r.Exec(`UPDATE conversations SET messages = ?1 WHERE id = ?2 AND messages < ?1`, place, int64(r.ID)); err != nil {
		return err
	}
	newest, err := verify.NewestTime(r.Conn, r.Row)
	if err != nil {
		return err
	}
	if err := r.Exec(`UPDATE conversations SET updated_at = ?1 WHERE id = ?2 AND ?1 <> 0`, newest, int64(r.ID)); err != nil {
		return err
	}
	return rows.Recount(r.Conn, r.ID)
}

// lastPlace returns the place of the newest message. The place of a row that is not as it was
// written may be wrong: it counts only where it directly follows. A conversation that was erased
// has the places of its messages no more, and takes no new ones.
func (r *rebuild) lastPlace() (int64, error) {
	if !r.ErasedAt.IsZero() {
		return int64(len(r.messages)), nil
	}
	broken, err := seal.Messages.Broken(r.Conn, "m.conversation = ?", int64(r.ID))
	if err != nil {
		return 0, err
	}
	wrong := map[store.MessageID]bool{}
	for _, key := range broken {
		wrong[store.MessageID(key[0].(int64))] = true
	}
	taken, place := map[int64]bool{}, int64(len(r.messages))
	for id, m := range r.messages {
		taken[m.pos-r.Base] = true
		if !wrong[id] {
			place = max(place, m.pos-r.Base)
		}
	}
	for taken[place+1] {
		place++
	}
	return place, nil
}
