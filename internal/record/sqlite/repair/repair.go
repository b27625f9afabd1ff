// Package repair rebuilds the data that follows from the messages: the graph of
// summaries, views, counts, tables and columns that hold nothing else, the
// search index.
//
// It never changes a message, and it does not hide a loss: where messages are
// missing, the chain and the counts that show it stay as they are.
package repair

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/record"
	"github.com/lossless-context/lcm/internal/record/sqldb/search"
	"github.com/lossless-context/lcm/internal/record/sqldb/tombstone"
	"github.com/lossless-context/lcm/internal/record/sqlite/check"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Run repairs a database: schema, table indexes, rows without parents,
// payloads, leases, conversations, search index. A part that fails does not
// keep it from the others; the error names it. [check.Run] reports the
// remaining faults.
func Run(ctx context.Context, f *dbfile.File, ix *search.Index) error {
	steps := []struct {
		name string
		fix  func(*dbfile.Conn) error
	}{
		{"the schema", fixSchema},
		{"the indexes of the tables", fixIndexes},
		{"rows without parents", fixOrphans},
		{"the payloads", fixPayloads},
		{"the leases", func(c *dbfile.Conn) error { return fixLeases(c, f.Now()) }},
		{"erased conversations", fixErased},
	}
	var errs []error
	for _, step := range steps {
		if err := f.Transact(ctx, step.fix); err != nil {
			errs = append(errs, fmt.Errorf("repair %s: %w", step.name, err))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	ids, err := sqldb.Read(ctx, f.DB(), record.ConversationIDs)
	errs = append(errs, err)
	for _, id := range ids { // origins come before their forks
		err := f.Transact(ctx, func(tx *dbfile.Conn) error { return fixConversation(tx, id) })
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("repair conversation %d: %w", id, err))
		}
	}
	return errors.Join(append(errs, ix.Repair(ctx), ix.Reindex(ctx))...)
}

// fixIndexes builds the indexes of damaged tables again.
func fixIndexes(c *dbfile.Conn) error {
	broken := false
	err := c.Query("PRAGMA integrity_check(100)", func(s sqldb.Row) error {
		broken = broken || check.IndexTrouble().MatchString(s.ColumnText(0))
		return nil
	})
	if err != nil || !broken {
		return err
	}
	return c.Script("REINDEX")
}

// fixErased removes the erased mark from conversations that still have
// messages, recounts the erased ones, and records erasures of which only
// tombstones are left. A salt without any tombstones is made again.
func fixErased(c *dbfile.Conn) error {
	if err := c.Exec(noteErasures); err != nil {
		return err
	}
	if err := tombstone.RenewSalt(c); err != nil {
		return err
	}
	err := c.Exec(`
		UPDATE conversations SET erased_at = NULL
		WHERE erased_at IS NOT NULL AND EXISTS (SELECT 1 FROM messages WHERE conversation = conversations.id AND flags & ?1 = 0)`, int64(store.FlagErased))
	if err != nil {
		return err
	}
	return c.Exec(`
		UPDATE conversations SET (messages, erased, tokens, bytes) = (
				SELECT count(*), ifnull(sum(flags & ?1 <> 0), 0), ifnull(sum(tokens), 0), ifnull(sum(size), 0) FROM messages WHERE conversation = conversations.id),
			(view_items, view_tokens) = (SELECT count(*), ifnull(sum(tokens), 0) FROM view WHERE conversation = conversations.id),
			summaries = (SELECT count(*) FROM summaries WHERE conversation = conversations.id)
		WHERE erased_at IS NOT NULL`, int64(store.FlagErased))
}

// fixLeases releases leases that have expired or end too late.
func fixLeases(c *dbfile.Conn, now time.Time) error {
	return c.Exec(`UPDATE state SET expires = 0, data = x'' WHERE space = ? AND length(data) > 0 AND (expires IS NULL OR expires <= ? OR expires > ?)`,
		store.LeaseSpace, now, now.Add(check.MaxLease))
}

// fixPayloads corrects the rows of payloads with sound content, and links
// payloads to the messages that refer to them.
func fixPayloads(c *dbfile.Conn) error {
	rows, err := record.PayloadRows(c, "TRUE")
	if err != nil {
		return err
	}
	for _, p := range rows {
		found, err := record.ReadContent(c, p)
		if err != nil {
			continue // the content is not whole
		}
		if err := fixPayload(c, p, found); err != nil {
			return err
		}
	}
	return fixReferences(c)
}

func fixPayload(c *dbfile.Conn, p record.PayloadRow, found record.FoundContent) error {
	right := record.PayloadRow{Num: p.Num, ID: p.ID, Sum: found.Sum, Size: found.Size}
	if found.Sum != p.Sum && !right.Named() {
		return nil // neither hash nor id matches it
	}
	if !right.Named() {
		right.ID = fmt.Sprintf("file_%x", found.Sum[:8])
	}
	if right != p {
		err := c.Exec(`UPDATE payloads SET id = ?, sha256 = ?, size = ? WHERE num = ?`, right.ID, right.Sum[:], right.Size, right.Num)
		if err != nil {
			return err
		}
	}
	if !found.Mislabelled {
		return nil
	}
	return c.Exec(`UPDATE chunks SET compressed = (substr(data, 1, 4) = ?) WHERE payload = ?`, record.ZstdMagic, p.Num)
}
