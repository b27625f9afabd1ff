// Package rebuild derives again what follows from the messages: conversations that lost
// their row, the graph of summaries, views, branches, links and descriptions of payloads,
// counts. Items of unfinished maps that do not prove are asked about again. It works on the new database of package move, which has the rows that could be
// read, and takes the derived ones among them for hints.
//
// It never changes a message, and it does not hide a loss: where messages are missing, the
// chain and the counts that show it stay as they are.
package rebuild

import (
	"context"
	"errors"
	"fmt"

	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/proof/verify"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/mapitems"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/sqldb/tombstone"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Run derives everything again. A part that fails does not keep it from the others; the
// error names it.
func Run(ctx context.Context, f *dbfile.File) error {
	var errs []error
	try := func(what string, fix func(*dbfile.Conn) error) {
		if err := f.Transact(ctx, fix); err != nil {
			errs = append(errs, fmt.Errorf("rebuild %s: %w", what, err))
		}
	}
	try("erasures", fixErased)
	try("rows without parents", fixOrphans)
	try("the payloads", fixPayloads)
	try("the unfinished maps", func(c *dbfile.Conn) error { return mapitems.Repair(c) })
	ids, err := sqldb.Read(ctx, f.DB(), rows.ConversationIDs)
	errs = append(errs, err)
	for _, id := range ids { // origins come before their forks
		if ctx.Err() != nil {
			return ctx.Err()
		}
		try(fmt.Sprintf("conversation %d", id), func(c *dbfile.Conn) error { return fixConversation(c, id) })
	}
	try("projects and leases", func(c *dbfile.Conn) error {
		return c.ExecAll([]string{`DELETE FROM projects WHERE ` + seal.Unused, `DELETE FROM state WHERE space = '` + store.LeaseSpace + `'`})
	})
	return errors.Join(errs...)
}

// fixErased notes erasures of which only tombstones are left, as finished: a new file has
// nothing in free pages. Their seals stay broken: cause and time are lost. A salt without any
// tombstones is made again. Sessions that are known to have erased messages refuse them
// again, if none is noted. It removes the erased mark from conversations that still have
// messages.
func fixErased(c *dbfile.Conn) error {
	if err := c.Exec(noteErasures); err != nil {
		return err
	}
	if err := tombstone.RenewSalt(c); err != nil {
		return err
	}
	if noted, err := c.Has(`SELECT 1 FROM forgotten`); err != nil {
		return err
	} else if !noted {
		if err := c.ExecAll([]string{forgottenOfWhole, forgottenOfParts}); err != nil {
			return err
		}
	}
	return c.Exec(`
		UPDATE conversations SET erased_at = NULL
		WHERE erased_at IS NOT NULL AND EXISTS (SELECT 1 FROM messages WHERE conversation = conversations.id AND flags & ? = 0)`, int64(store.FlagErased))
}

const noteErasures = `
	INSERT INTO erasures (id, cause, created_at, messages, bytes, finished)
	SELECT e.id, 'unknown', unixepoch() * 1000, (SELECT ifnull(sum(messages), 0) FROM forgotten WHERE erasure = e.id), 0, TRUE
	FROM ` + verify.UnrecordedErasures + ` e WHERE typeof(e.id) = 'integer'`

// forgottenOfWhole makes sessions whose conversations were all erased refuse messages up to
// that time.
const forgottenOfWhole = `
	INSERT INTO forgotten (key, erasure, messages, through)
	SELECT c.key, (SELECT id FROM erasures e ORDER BY abs(e.created_at - c.erased_at) LIMIT 1) AS erasure, sum(c.erased), max(c.erased_at)
	FROM conversations c
	WHERE c.erased_at IS NOT NULL AND EXISTS (SELECT 1 FROM erasures)
		AND NOT EXISTS (SELECT 1 FROM conversations o WHERE o.key = c.key AND o.erased_at IS NULL)
	GROUP BY c.key, erasure`

// forgottenOfParts makes sessions from which single messages were erased, and their forks,
// look up the tombstones. The erasure is unknown; the hashes decide.
const forgottenOfParts = `
	INSERT INTO forgotten (key, erasure, messages)
	WITH RECURSIVE line (id, key) AS (
		SELECT id, key FROM conversations WHERE erased > 0
		UNION SELECT f.id, f.key FROM line l JOIN conversations f ON f.forked_from = l.id
	)
	SELECT DISTINCT l.key, e.id, 0 FROM line l JOIN erasures e WHERE true ON CONFLICT DO NOTHING`
