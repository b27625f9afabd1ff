package rebuild

import (
	"fmt"
	"strings"

	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/proof/verify"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
)

// fixOrphans makes missing parent rows again: projects without a name, conversations from
// their messages, branches from their items. It removes derived rows whose messages are gone.
func fixOrphans(c *dbfile.Conn) error {
	const lost = ` FROM conversations WHERE project NOT IN (SELECT id FROM projects)`
	moved, err := sqldb.Column[int64](c, `SELECT id`+lost)
	if err == nil {
		err = c.Exec(`INSERT INTO projects (id, origin, root) SELECT DISTINCT project, '', ? || project`+lost, rows.RecoveredKey)
	}
	if err == nil {
		err = sqldb.Each(moved, func(id int64) error { return seal.Conversations.Again(c, "c.id = ?", id) })
	}
	if err != nil {
		return err
	}
	made, err := sqldb.Column[int64](c, `SELECT DISTINCT branch FROM branch_items WHERE branch NOT IN (SELECT id FROM branches)`)
	if err != nil {
		return err
	}
	err = c.ExecAll([]string{
		`DELETE FROM edges WHERE summary NOT IN (SELECT num FROM summaries)`,
		`DELETE FROM revisions WHERE summary NOT IN (SELECT num FROM summaries)`,
		`DELETE FROM message_payloads WHERE message NOT IN (SELECT id FROM messages)`,
		`DELETE FROM branch_items WHERE message NOT IN (SELECT id FROM messages) OR summary NOT IN (SELECT num FROM summaries)`,
		missingBranches,
		`DELETE FROM branch_items WHERE branch NOT IN (SELECT id FROM branches)`,
	})
	if err == nil {
		err = sqldb.Each(made, func(id int64) error { return seal.Branches.Again(c, "b.id = ?", id) })
	}
	if err == nil {
		err = keepWithout(c, seal.Branches, "branches", "after", "messages")
	}
	if err != nil {
		return err
	}
	ids, err := verify.OrphanIDs(c)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := restoreConversation(c, id); err != nil {
			return fmt.Errorf("conversation %d: %w", id, err)
		}
	}
	if err := c.Exec(`DELETE FROM branches WHERE conversation NOT IN (SELECT id FROM conversations)`); err != nil {
		return err
	}
	return keepWithout(c, seal.Conversations, "conversations", "parent", "conversations")
}

// keepWithout removes the numbers of rows that are gone from a column.
func keepWithout(c *dbfile.Conn, t seal.Table, table, column, of string) error {
	gone := column + ` NOT IN (SELECT id FROM ` + of + `)`
	return t.Keep(c, gone, func() error { return c.Exec(`UPDATE ` + table + ` SET ` + column + ` = NULL WHERE ` + gone) })
}

// missingBranches makes the rows of branches again of which only items are left.
const missingBranches = `
	INSERT INTO branches (id, conversation, after, cause, created_at)
	SELECT b.id, b.conversation, (
		SELECT m.id FROM messages m JOIN conversations c ON c.id = m.conversation
		WHERE m.conversation = b.conversation AND m.seq + c.base < b.first AND m.flags & (64 | 128) = 0 ORDER BY m.seq DESC LIMIT 1), 'unknown', unixepoch() * 1000
	FROM (SELECT i.branch AS id, min(i.pos) AS first, max(ifnull(m.conversation, s.conversation)) AS conversation FROM branch_items i
		LEFT JOIN messages m ON m.id = i.message LEFT JOIN summaries s ON s.num = i.summary
		WHERE i.branch NOT IN (SELECT id FROM branches) GROUP BY i.branch) b
	WHERE b.conversation IS NOT NULL`

// restoreConversation makes the row of a conversation again from its messages.
// It takes the session key from the cursor of a host, or else makes one up.
func restoreConversation(c *dbfile.Conn, id int64) error {
	key, root := fmt.Sprintf("%s%d", rows.RecoveredKey, id), ""
	// The cursor of a transcript; see package hosts.
	_, err := c.One(`
		SELECT s.key, ifnull(json_extract(s.data, '$.dir'), '') FROM state s
		WHERE s.space = ? AND json_valid(s.data) AND json_extract(s.data, '$.conversation') = ?
			AND NOT EXISTS (SELECT 1 FROM conversations c WHERE c.key = s.key AND c.archived_at IS NULL)`, sqldb.Into(&key, &root), store.CursorSpace, id)
	if err != nil {
		return err
	}
	agent, _, _ := strings.Cut(key, ":")
	if strings.HasPrefix(key, rows.RecoveredKey) {
		agent = ""
	}
	if err := c.Exec(`INSERT INTO projects (origin, root) VALUES ('', ?) ON CONFLICT DO NOTHING`, root); err != nil {
		return err
	}
	err = c.Exec(`
		INSERT INTO conversations (id, key, segment, agent, project, title, created_at, updated_at, messages, head)
		SELECT ?1, ?2, (SELECT ifnull(max(segment), 0) + 1 FROM conversations WHERE key = ?2), ?3, (SELECT id FROM projects WHERE origin = '' AND root = ?4), '',
			ifnull(min(ifnull(said, stored)), 0), ifnull(max(ifnull(said, stored)), 0), ifnull(max(seq), 0),
			ifnull((SELECT chain FROM messages WHERE conversation = ?1 ORDER BY seq DESC LIMIT 1), ?5)
		FROM messages WHERE conversation = ?1`, id, key, agent, root, store.Genesis[:])
	if err == nil {
		err = findForkPoint(c, id)
	}
	if err != nil {
		return err
	}
	return seal.Conversations.Again(c, "c.id = ?", id)
}

// findForkPoint finds the origin of a fork from its view: inherited items stand
// before its own messages.
func findForkPoint(c *dbfile.Conn, id int64) error {
	base := int64(1) << 62
	_, err := c.One(`SELECT v.pos - m.seq FROM view v JOIN messages m ON m.id = v.message WHERE v.conversation = ?1 AND m.conversation = ?1 LIMIT 1`,
		sqldb.Into(&base), id)
	if err != nil || base <= 0 {
		return err
	}
	items, err := rows.ViewItems(c, store.ConversationID(id), 0, base)
	if err != nil {
		return err
	}
	var from, at, last int64
	err = rows.WalkMessages(c, items, func(m rows.MessageRef) error {
		if int64(m.Conversation) != id && m.Pos > last {
			from, at, last = int64(m.Conversation), int64(m.ID), m.Pos
		}
		return nil
	})
	inherited, failed := rows.CoverageDigest(c, items)
	if from == 0 || err != nil || failed != nil {
		return nil // it was not forked, or what it began with cannot be read
	}
	return c.Exec(`UPDATE conversations SET base = ?, forked_from = ?, forked_at = ?, inherited = ? WHERE id = ?`, min(base, last), from, at, inherited, id)
}
