package erase

import (
	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/sqlite/record"
	"github.com/lossless-context/lcm/internal/store"
)

// dropPayloads unlinks the payloads of erased messages, and removes those that
// no other message has.
func (e *erasing) dropPayloads() error {
	held, err := dbfile.Column[int64](e.Conn, `SELECT DISTINCT payload FROM message_payloads WHERE message IN (SELECT id FROM temp.erasing) ORDER BY payload`)
	if err != nil {
		return err
	}
	if err := e.Exec(`DELETE FROM message_payloads WHERE message IN (SELECT id FROM temp.erasing)`); err != nil {
		return err
	}
	for _, num := range held {
		size, gone, err := record.DropUnusedPayload(e.Conn, num)
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
	return e.Exec(`
		UPDATE messages SET role = 0, flags = ?, said = NULL, tokens = 0, native = NULL, format = '', size = 0, sha256 = x'',
		       record = x'', cuts = NULL, body = NULL
		WHERE id IN (SELECT id FROM temp.erasing)`, int64(store.FlagErased))
}

// recount updates the totals of the affected conversations.
func (e *erasing) recount() error {
	for _, id := range e.out.Affected {
		err := e.Exec(`
			UPDATE conversations SET
				(tokens, bytes, erased) = (
					SELECT ifnull(sum(tokens), 0), ifnull(sum(size), 0), ifnull(sum(flags & ?2 <> 0), 0) FROM messages WHERE conversation = ?1),
				(view_items, view_tokens) = (SELECT count(*), ifnull(sum(tokens), 0) FROM view WHERE conversation = ?1),
				summaries = (SELECT count(*) FROM summaries WHERE conversation = ?1)
			WHERE id = ?1`, int64(id), int64(store.FlagErased))
		if err != nil {
			return err
		}
		newest, err := record.NewestUser(e.Conn, id)
		if err != nil {
			return err
		}
		if err := e.Exec(`UPDATE conversations SET last_user = ? WHERE id = ?`, newest, int64(id)); err != nil {
			return err
		}
		if !e.forks[int64(id)] || !e.inherits[int64(id)] {
			continue
		}
		digest, err := inheritedDigest(e.Conn, id)
		if err != nil {
			return err
		}
		if err := e.Exec(`UPDATE conversations SET inherited = ? WHERE id = ?`, digest, int64(id)); err != nil {
			return err
		}
	}
	return nil
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
			UPDATE conversations SET title = '', archived_at = ifnull(archived_at, ?2), archive_cause = ifnull(archive_cause, ?3), erased_at = ?2,
			       project = (SELECT id FROM projects WHERE origin = '' AND root = ''),
			       messages = (SELECT count(*) FROM messages WHERE conversation = ?1), erased = (SELECT count(*) FROM messages WHERE conversation = ?1)
			WHERE id = ?1`, id, e.now, "erased")
		if err != nil {
			return err
		}
	}
	return e.Exec(`DELETE FROM projects WHERE NOT EXISTS (SELECT 1 FROM conversations WHERE project = projects.id)`)
}
