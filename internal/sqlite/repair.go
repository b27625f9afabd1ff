package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/search/segment"
	"github.com/lossless-context/lcm/internal/store"
)

// Repair derives anew what follows from the messages and is not as it should
// be: missing indexes and columns, edges, the numbers of summaries, views and
// branches, totals, what rows say of payloads, leases that nobody holds, the
// search index. It never changes a message, and it does not make a loss look
// sound: where messages are missing, the chain and the counts that tell so
// stay as they are.
//
// What it mended, and what it left, [DB.Check] tells. A part that cannot be
// repaired keeps it from none of the others; the error says which.
func (db *DB) Repair(ctx context.Context) error {
	steps := []struct {
		name string
		mend func(*conn) error
	}{
		{"the schema", (*conn).mendSchema},
		{"the indexes of the tables", (*conn).mendIndexes},
		{"what belongs to nothing", (*conn).mendOrphans},
		{"the payloads", (*conn).mendPayloads},
		{"the leases", func(c *conn) error { return c.mendLeases(db) }},
		{"what is left of erased conversations", (*conn).mendErased},
	}
	var errs []error
	for _, step := range steps {
		if err := db.transact(ctx, step.mend); err != nil {
			errs = append(errs, fmt.Errorf("mend %s: %w", step.name, err))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	var ids []store.ConversationID
	err := db.withReader(ctx, func(c *conn) (err error) { ids, err = c.conversationIDs(); return err })
	errs = append(errs, err)
	for _, id := range ids { // a fork after what it was forked from
		err := db.transact(ctx, func(tx *conn) error { return tx.mendConversation(id) })
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("mend conversation %d: %w", id, err))
		}
	}
	for _, l := range []*lane{db.messages, db.summaries} {
		errs = append(errs, l.mend(ctx))
	}
	return errors.Join(append(errs, db.Reindex(ctx))...)
}

// mendIndexes builds the indexes of damaged tables anew.
func (c *conn) mendIndexes() error {
	broken := false
	err := c.query("PRAGMA integrity_check(100)", func(s *sqlite3.Stmt) error {
		broken = broken || indexTrouble().MatchString(s.ColumnText(0))
		return nil
	})
	if err != nil || !broken {
		return err
	}
	return c.Exec("REINDEX")
}

// mendErased takes the mark off conversations that were not erased, because an
// erasure takes every message with it, and counts anew what is left of the
// others: places, and nothing else. Erasures that only tombstones tell of are
// noted again.
func (c *conn) mendErased() error {
	if err := c.exec(noteErasures); err != nil {
		return err
	}
	err := c.exec(`
		UPDATE conversations SET erased_at = NULL
		WHERE erased_at IS NOT NULL AND EXISTS (SELECT 1 FROM messages WHERE conversation = conversations.id AND flags & ?1 = 0)`, int64(store.FlagErased))
	if err != nil {
		return err
	}
	return c.exec(`
		UPDATE conversations SET (messages, erased, tokens, bytes) = (
				SELECT count(*), ifnull(sum(flags & ?1 <> 0), 0), ifnull(sum(tokens), 0), ifnull(sum(size), 0) FROM messages WHERE conversation = conversations.id),
			(view_items, view_tokens) = (SELECT count(*), ifnull(sum(tokens), 0) FROM view WHERE conversation = conversations.id),
			summaries = (SELECT count(*) FROM summaries WHERE conversation = conversations.id)
		WHERE erased_at IS NOT NULL`, int64(store.FlagErased))
}

// mendLeases gives back the leases that nobody can hold any more.
func (c *conn) mendLeases(db *DB) error {
	now := db.opts.Clock()
	return c.exec(`UPDATE state SET expires = 0, data = x'' WHERE space = ? AND length(data) > 0 AND (expires IS NULL OR expires <= ? OR expires > ?)`,
		leaseSpace, now, now.Add(maxLease))
}

// mend drops the part of a lane that is not sound, to be built anew.
func (l *lane) mend(ctx context.Context) error {
	mended := false
	err := l.db.transact(ctx, func(c *conn) error {
		at, _, err := l.unsound(ctx, c)
		if err != nil || at == 0 {
			return err
		}
		mended = true
		if err := c.exec(`INSERT INTO lanes VALUES (?, 0) ON CONFLICT DO NOTHING`, l.kind); err != nil {
			return err
		}
		return c.unindex(l.kind, at)
	})
	if err != nil || !mended {
		return err
	}
	l.mu.Lock()
	l.segments = map[int64]*segment.Segment{}
	l.mu.Unlock()
	l.db.mu.Lock()
	defer l.db.mu.Unlock()
	if l.kind == laneMessages {
		l.db.sealed = 0
	}
	return nil
}

// mendPayloads corrects what rows say of payloads whose content is whole, and
// links payloads to the messages that refer to them.
func (c *conn) mendPayloads() error {
	rows, err := c.payloadRows()
	if err != nil {
		return err
	}
	for _, p := range rows {
		found, err := c.contentOf(p)
		if err != nil {
			continue // the content is not whole
		}
		if err := c.mendPayload(p, found); err != nil {
			return err
		}
	}
	return c.mendReferences()
}

func (c *conn) mendPayload(p payloadRow, found foundContent) error {
	right := payloadRow{num: p.num, id: p.id, sum: found.sum, size: found.size}
	if found.sum != p.sum && !right.named() {
		return nil // neither hash nor name vouch for it
	}
	if !right.named() {
		right.id = fmt.Sprintf("file_%x", found.sum[:8])
	}
	if right != p {
		err := c.exec(`UPDATE payloads SET id = ?, sha256 = ?, size = ? WHERE num = ?`, right.id, right.sum[:], right.size, right.num)
		if err != nil {
			return err
		}
	}
	if !found.mislabelled {
		return nil
	}
	return c.exec(`UPDATE chunks SET compressed = (substr(data, 1, 4) = ?) WHERE payload = ?`, zstdMagic, p.num)
}

// Vacuum gives the space that is not used any more back to the file system. It
// needs as much free space again as the database has, and keeps others from
// writing while it runs.
func (db *DB) Vacuum(ctx context.Context) error {
	return db.withWriter(ctx, func(c *conn) error {
		for _, sql := range []string{"PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"} {
			if err := c.Exec(sql); err != nil {
				return fmt.Errorf("%s: %w", strings.ToLower(sql), err)
			}
		}
		return nil
	})
}
