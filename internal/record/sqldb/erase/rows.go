package erase

import (
	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/store"
)

// dropPayloads unlinks the payloads of erased messages, and removes those that
// no other message has.
func (e *erasing) dropPayloads() error {
	held, err := sqldb.Column[int64](e.Conn,
		`SELECT DISTINCT payload FROM message_payloads WHERE message IN (SELECT id FROM temp.erasing) ORDER BY payload`)
	if err != nil {
		return err
	}
	if err := e.Exec(`DELETE FROM message_payloads WHERE message IN (SELECT id FROM temp.erasing)`); err != nil {
		return err
	}
	for _, num := range held {
		size, gone, err := rows.DropUnusedPayload(e.Conn, num)
		if err != nil {
			return err
		}
		if gone {
			e.out.Payloads++
			e.out.PayloadBytes += size
		}
	}
	return nil
}

// wipe leaves only id, position and link of each message.
func (e *erasing) wipe() error {
	err := e.Exec(`
		UPDATE messages SET role = 0, flags = ?1, said = NULL, tokens = 0, native = NULL, format = '', size = 0, sha256 = ?2,
		       record = ?2, cuts = NULL, body = NULL
		WHERE id IN (SELECT id FROM temp.erasing)`, int64(store.FlagErased), []byte{})
	if err != nil {
		return err
	}
	return seal.Messages.Again(e.Conn, `m.id IN (SELECT id FROM temp.erasing)`)
}

// recount updates the totals of the affected conversations.
func (e *erasing) recount() error {
	return sqldb.Each(e.out.Affected, func(id store.ConversationID) error {
		err := e.Exec(`
			UPDATE conversations SET (tokens, bytes) = (SELECT coalesce(sum(tokens), 0), coalesce(sum(size), 0) FROM messages WHERE conversation = ?1)
			WHERE id = ?1`, int64(id))
		if err == nil {
			err = rows.Recount(e.Conn, id)
		}
		if err != nil || !e.inherits[id] {
			return err
		}
		digest, err := inheritedDigest(e.Conn, id)
		if err != nil {
			return err
		}
		return e.Exec(`UPDATE conversations SET inherited = ? WHERE id = ?`, digest, int64(id))
	})
}

// endWhole marks the conversations that were erased whole. Their rows stay, so
// that their ids are not used again. The rows of their messages stay where a
// fork may refer to them, as does the newest message of all, so that its id is
// not used again.
func (e *erasing) endWhole() error {
	if len(e.whole) == 0 {
		return nil
	}
	if err := e.Exec(`INSERT INTO projects (origin, root) VALUES ('', '') ON CONFLICT DO NOTHING`); err != nil {
		return err
	}
	for id := range e.whole {
		err := e.Exec(`
			DELETE FROM messages WHERE conversation = ?1 AND id < (SELECT max(id) FROM messages)
			AND NOT EXISTS (SELECT 1 FROM conversations WHERE forked_from = ?1)`, id)
		if err != nil {
			return err
		}
		err = e.Exec(`
			UPDATE conversations SET title = '', archived_at = coalesce(archived_at, ?2), archive_cause = coalesce(archive_cause, ?3), erased_at = ?2,
			       project = (SELECT id FROM projects WHERE origin = '' AND root = ''),
			       messages = (SELECT count(*) FROM messages WHERE conversation = ?1), erased = (SELECT count(*) FROM messages WHERE conversation = ?1)
			WHERE id = ?1`, id, e.now, "erased")
		if err != nil {
			return err
		}
	}
	return e.dropProjects()
}

// dropProjects removes the projects that have no conversation any more. It locks them
// first: a conversation that another transaction opens in one of them is seen, or opened
// after the project was removed.
func (e *erasing) dropProjects() error {
	const unused = ` NOT EXISTS (SELECT 1 FROM conversations WHERE project = c.id)`
	ids, err := sqldb.Column[int64](e.Conn, `SELECT c.id FROM projects c WHERE`+unused+e.Dialect().ForUpdate)
	if err != nil || len(ids) == 0 {
		return err
	}
	return e.Exec(`DELETE FROM projects AS c WHERE c.id IN (SELECT j.value FROM json_each(?) j) AND`+unused, ids)
}

// inheritedDigest digests the messages of other conversations that a fork
// leads to, as Verify does.
func inheritedDigest(c sqldb.Conn, id store.ConversationID) ([]byte, error) {
	items, err := rows.AllItems(c, id)
	if err != nil {
		return nil, err
	}
	kept, err := rows.Kept(c, id, 0)
	if err != nil {
		return nil, err
	}
	for _, e := range kept {
		items = append(items, rows.ViewItem{Num: e.Num, Item: store.Item{ID: e.ID}})
	}
	var all []rows.MessageRef
	err = rows.WalkMessages(c, items, func(m rows.MessageRef) error {
		if m.Conversation != id {
			all = append(all, m)
		}
		return nil
	})
	return rows.InheritedDigest(all), err
}
