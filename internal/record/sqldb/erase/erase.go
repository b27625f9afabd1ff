// Package erase removes messages for good: from the tables, from summaries that
// were made from them, from titles and state that quote them, and at last from
// the free space of the database.
//
// [Eraser.Erase] does it in one transaction and leaves tombstones, so that the
// messages are not imported again (package tombstone). [Eraser.Scrub] overwrites
// their remains in the database. [Eraser.Mask] hides parts of messages and keeps
// their records.
package erase

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/mapitems"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/store"
)

// errWeighed rolls back the erasure of Weigh.
var errWeighed = errors.New("this was only weighed")

// Eraser is the [store.Eraser] of a database.
type Eraser struct{ DB sqldb.DB }

// Weigh implements [store.Eraser]. It erases and rolls back, so that its counts
// are those of the erasure.
func (e Eraser) Weigh(ctx context.Context, order store.Erasure) (store.Erased, error) {
	w := &erasing{order: order, now: e.DB.Now().UTC()}
	err := e.DB.Erase(ctx, func(c sqldb.Conn) error {
		*w = erasing{Conn: c, order: order, now: w.now}
		if err := w.run(); err != nil {
			return err
		}
		return errWeighed
	})
	if errors.Is(err, errWeighed) {
		err = nil
	}
	w.out.Tombstone = 0
	return w.out, err
}

// Erase implements [store.Eraser].
func (e Eraser) Erase(ctx context.Context, order store.Erasure) (store.Erased, error) {
	w := &erasing{order: order, now: e.DB.Now().UTC()}
	err := e.DB.Erase(ctx, func(c sqldb.Conn) error {
		*w = erasing{Conn: c, order: order, now: w.now}
		return w.run()
	})
	return w.out, err
}

// erasing is one erasure inside its transaction. The rows to erase are listed
// in temporary tables, so that any number fits.
type erasing struct {
	sqldb.Conn
	order store.Erasure
	now   time.Time
	out   store.Erased

	whole    map[int64]bool                // conversations that are erased whole
	inherits map[store.ConversationID]bool // affected forks whose inherited digest was right before
	sealed   []int64                       // affected conversations whose seal was right before
}

// run erases. The order of its steps matters: tombstones and summaries are
// derived from the messages while they are there.
func (e *erasing) run() error {
	if err := e.lock(); err != nil {
		return err
	}
	for _, step := range []func() error{
		e.collect, e.findAffected, e.findSummaries, e.writeTombstones, e.dropTraces, e.endMaps, e.moveBranches,
		e.detach, e.dropPayloads, e.wipe, e.recount, e.endWhole, e.unindexed, e.account, e.reseal, e.dropScratch,
	} {
		if err := step(); err != nil {
			return err
		}
		if e.out.Messages == 0 && e.out.Conversations == 0 {
			return nil // there is nothing to erase
		}
	}
	return nil
}

// endMaps ends the unfinished maps of the affected conversations and of those above them: their
// results may quote what is erased.
func (e *erasing) endMaps() error {
	return mapitems.End(e.Conn, `conversation IN (WITH RECURSIVE up (id) AS (
		SELECT id FROM temp.touched UNION SELECT c.parent FROM conversations c JOIN up ON c.id = up.id WHERE c.parent IS NOT NULL) SELECT id FROM up)`)
}

// lock keeps others from writing to the conversations that lose messages and to their
// forks, which refer to the same messages, until the transaction ends. Every statement
// after it sees what they have written before.
//
// Writers of other conversations go on, with these exceptions: one that stores a payload
// that is being removed waits, and so does one that stores vectors of an erased message.
// Once the erasure has dropped segments of a lane of the search index (its row of lanes),
// everything that seals the lane waits, and for summaries every Reword.
//
// A fork that another transaction adds meanwhile is found in the next round, because that
// transaction holds the lock of its origin.
func (e *erasing) lock() error {
	if e.Dialect().ForUpdate == "" {
		return nil
	}
	held := -1
	for {
		ids, err := sqldb.Column[int64](e.Conn, lineage+`
			SELECT DISTINCT l.id FROM lineage l
			WHERE l.origin IN (SELECT m.conversation FROM json_each(?) j JOIN messages m ON m.id = j.value) OR l.origin IN (SELECT j.value FROM json_each(?) j)`,
			sqldb.IDs(e.order.Messages), sqldb.IDs(e.order.Conversations))
		if err != nil || len(ids) == held {
			return err
		}
		held = len(ids)
		err = e.Exec(`SELECT c.id FROM conversations c WHERE c.id IN (SELECT j.value FROM json_each(?) j) ORDER BY c.id`+e.Dialect().ForUpdate, ids)
		if err != nil {
			return err
		}
	}
}

// scratch are the temporary tables: the messages to erase, the summaries that
// lose their text, those that are removed, and the affected conversations.
var scratch = map[string]string{"erasing": "id", "unwording": "num", "vanishing": "num", "touched": "id"}

// collect fills the table of messages to erase.
func (e *erasing) collect() error {
	for table, column := range scratch {
		if err := e.Script(`CREATE TEMP TABLE IF NOT EXISTS ` + table + ` (` + column + ` INTEGER PRIMARY KEY); DELETE FROM temp.` + table); err != nil {
			return err
		}
	}
	e.whole = map[int64]bool{}
	for _, id := range e.order.Conversations {
		r, err := rows.ReadConversation(e.Conn, id)
		if err != nil {
			return err
		}
		if e.whole[int64(id)] || !r.ErasedAt.IsZero() {
			continue
		}
		e.whole[int64(id)] = true
		err = e.Exec(`INSERT INTO temp.erasing SELECT id FROM messages WHERE conversation = ? AND `+rows.NotErased, int64(id))
		if err != nil {
			return err
		}
	}
	for _, id := range e.order.Messages {
		if found, err := e.Has(`SELECT 1 FROM messages WHERE id = ?`, int64(id)); err != nil {
			return err
		} else if !found {
			return store.Missing(id.String())
		}
		err := e.Exec(`INSERT INTO temp.erasing SELECT id FROM messages WHERE id = ? AND `+rows.NotErased+` ON CONFLICT DO NOTHING`, int64(id))
		if err != nil {
			return err
		}
	}
	e.out.Conversations = len(e.whole)
	_, err := e.One(`SELECT count(*), sum(m.size) FROM temp.erasing e JOIN messages m ON m.id = e.id`,
		sqldb.Into(&e.out.Messages, &e.out.Bytes))
	return err
}

// lineage pairs every conversation with itself and its origins.
const lineage = `
	WITH RECURSIVE lineage (id, origin) AS (
		SELECT id, id FROM conversations
		UNION SELECT l.id, c.forked_from FROM lineage l JOIN conversations c ON c.id = l.origin WHERE c.forked_from IS NOT NULL
	)`

// findAffected lists the conversations that lose messages, and remembers which
// forks had a right inherited digest.
func (e *erasing) findAffected() (err error) {
	const loses = `l.origin IN (SELECT m.conversation FROM temp.erasing e JOIN messages m ON m.id = e.id)`
	if err := e.Exec(lineage + ` INSERT INTO temp.touched SELECT l.id FROM lineage l WHERE ` + loses + ` ON CONFLICT DO NOTHING`); err != nil {
		return err
	}
	for id := range e.whole {
		if err := e.Exec(`INSERT INTO temp.touched VALUES (?) ON CONFLICT DO NOTHING`, id); err != nil {
			return err
		}
	}
	if e.out.Affected, err = sqldb.Column[store.ConversationID](e.Conn, `SELECT id FROM temp.touched ORDER BY id`); err != nil {
		return err
	}
	for _, id := range e.out.Affected {
		r, err := rows.ReadConversation(e.Conn, id)
		if err != nil {
			return err
		}
		if r.Sealed() {
			e.sealed = append(e.sealed, int64(id))
		}
	}
	forks, err := sqldb.Column[store.ConversationID](e.Conn, lineage+` SELECT DISTINCT l.id FROM lineage l WHERE l.id <> l.origin AND `+loses)
	if err != nil {
		return err
	}
	e.inherits = map[store.ConversationID]bool{}
	return sqldb.Each(forks, func(id store.ConversationID) error {
		r, err := rows.ReadConversation(e.Conn, id)
		if err != nil {
			return err
		}
		digest, err := inheritedDigest(e.Conn, id)
		e.inherits[id] = bytes.Equal(digest, r.Inherited)
		return err
	})
}

// unindexed drops the segments of the search index with erased documents, and
// the embedding vectors of erased messages.
func (e *erasing) unindexed() error {
	err := e.ExecAll([]string{
		`DELETE FROM vectors WHERE message IN (SELECT id FROM temp.erasing)`,
		`DELETE FROM vector_blocks WHERE block IN (SELECT id / ` + strconv.Itoa(rows.VectorBlockSize) + ` FROM temp.erasing)`,
	})
	if err != nil {
		return err
	}
	for lane, first := range map[int]string{
		rows.LaneMessages:  `SELECT min(id) FROM temp.erasing`,
		rows.LaneSummaries: `SELECT min(num) FROM temp.unwording`,
	} {
		from, err := sqldb.Value[int64](e.Conn, first)
		if err == nil && from != 0 {
			err = rows.DropIndexFrom(e.Conn, lane, from)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// account completes the row of the erasure and seals it.
func (e *erasing) account() error {
	err := e.Exec(`UPDATE erasures SET messages = ?, bytes = ? WHERE id = ?`, e.out.Messages, e.out.Bytes, e.out.Tombstone)
	if err != nil {
		return err
	}
	return seal.Erased(e.Conn, e.out.Tombstone)
}

// reseal seals the affected conversations again.
func (e *erasing) reseal() error {
	return sqldb.Each(e.sealed, func(id int64) error { return seal.Conversations.Again(e.Conn, "c.id = ?", id) })
}

// dropScratch empties the temporary tables.
func (e *erasing) dropScratch() error {
	for table := range scratch {
		if err := e.Script(`DELETE FROM temp.` + table); err != nil {
			return err
		}
	}
	return nil
}
