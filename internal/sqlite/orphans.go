package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/store"
)

// Orphans implements [store.Checker]. Proving every conversation reaches the
// rows that belong to one; this finds the others.
func (db *DB) Orphans(ctx context.Context) ([]store.Fault, error) {
	var faults []store.Fault
	err := db.withReader(ctx, func(c *conn) error {
		return c.read(func() (err error) {
			faults, err = c.orphans()
			return err
		})
	})
	return faults, err
}

func (c *conn) orphans() ([]store.Fault, error) {
	ids, err := c.orphanIDs()
	if err != nil {
		return nil, err
	}
	var faults []store.Fault
	for _, id := range ids {
		var messages, summaries int64
		_, err := c.one(`SELECT (SELECT count(*) FROM messages WHERE conversation = ?1), (SELECT count(*) FROM summaries WHERE conversation = ?1)`,
			func(s *sqlite3.Stmt) error {
				messages, summaries = s.ColumnInt64(0), s.ColumnInt64(1)
				return nil
			}, id)
		if err != nil {
			return nil, err
		}
		faults = append(faults, store.Fault{Code: "conversation-missing", Node: fmt.Sprintf("conversation %d", id),
			Detail: fmt.Sprintf("%d messages and %d summaries belong to it, but it is not there", messages, summaries)})
	}
	dangling, err := c.dangling()
	return append(faults, dangling...), err
}

// eachConversation steps through the conversations that messages, summaries and
// views belong to, by the first entry of each in an index. Reading every row would
// take as long as the record is large.
const eachConversation = `
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

// orphanIDs lists the conversations that rows belong to and that are not there.
func (c *conn) orphanIDs() ([]int64, error) {
	var ids []int64
	err := c.query(eachConversation+`c.id IS NULL ORDER BY x.id`, func(s *sqlite3.Stmt) error {
		ids = append(ids, s.ColumnInt64(0))
		return nil
	})
	return ids, err
}

// dangling counts, by table, the rows that refer to rows that are not there,
// but for those that are reported by other codes.
func (c *conn) dangling() ([]store.Fault, error) {
	counts := map[[2]string]int{}
	err := c.query(`PRAGMA foreign_key_check`, func(s *sqlite3.Stmt) error {
		table, parent := s.ColumnText(0), s.ColumnText(2)
		reported := parent == "erasures" || parent == "conversations" && (table == "messages" || table == "summaries" || table == "view")
		if !reported {
			counts[[2]string{table, parent}]++
		}
		return nil
	})
	var faults []store.Fault
	for pair, n := range counts {
		faults = append(faults, store.Fault{Code: "dangling", Node: "table " + pair[0], Detail: fmt.Sprintf("%d of its references lead to rows of %s that are not there", n, pair[1])})
	}
	slices.SortFunc(faults, func(a, b store.Fault) int { return strings.Compare(a.Node+a.Detail, b.Node+b.Detail) })
	return faults, err
}

// recoveredKey begins the session key of a conversation whose own key is lost.
const recoveredKey = "recovered:"

// mendOrphans gives rows that belong to nothing back what they belonged to:
// a conversation that is made from its messages, a payload that is named by its
// content, a project without a name. Rows that are derived, and whose messages
// are gone, are removed.
func (c *conn) mendOrphans() error {
	err := c.exec(`INSERT INTO projects (id, origin, root) SELECT DISTINCT project, '', ? || project FROM conversations WHERE project NOT IN (SELECT id FROM projects)`, recoveredKey)
	if err != nil {
		return err
	}
	ids, err := c.orphanIDs()
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := c.adopt(id); err != nil {
			return fmt.Errorf("conversation %d: %w", id, err)
		}
	}
	if err := c.adoptChunks(); err != nil {
		return err
	}
	for _, sql := range []string{
		`DELETE FROM sections WHERE segment NOT IN (SELECT id FROM segments)`,
		`DELETE FROM view WHERE conversation NOT IN (SELECT id FROM conversations)`,
		`DELETE FROM branch_items WHERE branch NOT IN (SELECT id FROM branches)`,
		`DELETE FROM branch_items WHERE branch IN (SELECT id FROM branches WHERE conversation NOT IN (SELECT id FROM conversations))`,
		`DELETE FROM branches WHERE conversation NOT IN (SELECT id FROM conversations)`,
		`DELETE FROM revisions WHERE summary NOT IN (SELECT num FROM summaries)`,
		`DELETE FROM message_payloads WHERE payload NOT IN (SELECT num FROM payloads) OR message NOT IN (SELECT id FROM messages)`,
		`UPDATE branches SET after = NULL WHERE after NOT IN (SELECT id FROM messages)`,
		`UPDATE conversations SET parent = NULL WHERE parent NOT IN (SELECT id FROM conversations)`,
	} {
		if err := c.exec(sql); err != nil {
			return err
		}
	}
	return nil
}

// adopt makes the conversation anew that messages say they belong to. Its
// session key is the one that a host's cursor remembers; where none does it is
// a made-up one, until the session is read again (see reclaim).
func (c *conn) adopt(id int64) error {
	key, root := fmt.Sprintf("%s%d", recoveredKey, id), ""
	// The cursor of a transcript; see package hosts.
	_, err := c.one(`
		SELECT s.key, ifnull(json_extract(s.data, '$.dir'), '') FROM state s
		WHERE s.space = 'hosts' AND json_valid(s.data) AND json_extract(s.data, '$.conversation') = ?
			AND NOT EXISTS (SELECT 1 FROM conversations c WHERE c.key = s.key AND c.archived_at IS NULL)`, func(s *sqlite3.Stmt) error {
		key, root = s.ColumnText(0), s.ColumnText(1)
		return nil
	}, id)
	if err != nil {
		return err
	}
	agent, _, _ := strings.Cut(key, ":")
	if strings.HasPrefix(key, recoveredKey) {
		agent = ""
	}
	if err := c.exec(`INSERT INTO projects (origin, root) VALUES ('', ?) ON CONFLICT DO NOTHING`, root); err != nil {
		return err
	}
	err = c.exec(`
		INSERT INTO conversations (id, key, segment, agent, project, title, created_at, updated_at, head)
		SELECT ?1, ?2, (SELECT ifnull(max(segment), 0) + 1 FROM conversations WHERE key = ?2), ?3, (SELECT id FROM projects WHERE origin = '' AND root = ?4), '',
			ifnull(min(ifnull(said, stored)), 0), ifnull(max(ifnull(said, stored)), 0), ?5
		FROM messages WHERE conversation = ?1`, id, key, agent, root, store.Genesis[:])
	if err != nil {
		return err
	}
	return c.settle(id)
}

// settle makes the row of a conversation that was given messages follow from
// them.
func (c *conn) settle(id int64) error {
	err := c.exec(`
		UPDATE conversations SET messages = m.seq, head = m.chain
		FROM (SELECT seq, chain FROM messages WHERE conversation = ?1 ORDER BY seq DESC LIMIT 1) m WHERE id = ?1`, id)
	if err != nil {
		return err
	}
	if err := c.refork(id); err != nil {
		return err
	}
	return c.mendConversation(store.ConversationID(id))
}

// refork finds out from a view what a fork was forked from: its own messages
// stand behind those that it inherited.
func (c *conn) refork(id int64) error {
	base := int64(1) << 62
	_, err := c.one(`SELECT v.pos - m.seq FROM view v JOIN messages m ON m.id = v.message WHERE v.conversation = ?1 AND m.conversation = ?1 LIMIT 1`,
		func(s *sqlite3.Stmt) error { base = s.ColumnInt64(0); return nil }, id)
	if err != nil || base <= 0 {
		return err
	}
	items, err := c.items(store.ConversationID(id), 0, base)
	if err != nil {
		return err
	}
	var from, at, last int64
	err = c.walk(items, func(m messageRef) error {
		if int64(m.conversation) == id {
			return nil
		}
		pos, err := c.position(m.id)
		if pos > last {
			from, at, last = int64(m.conversation), int64(m.id), pos
		}
		return err
	})
	if err != nil || from == 0 {
		return err
	}
	base = min(base, last)
	inherited, err := c.coverage(items)
	if err != nil {
		return err
	}
	return c.exec(`UPDATE conversations SET base = ?, forked_from = ?, forked_at = ?, inherited = ? WHERE id = ?`, base, from, at, inherited, id)
}

// adoptChunks gives content without a payload the name that its hash gives it.
func (c *conn) adoptChunks() error {
	var nums []int64
	err := c.query(`SELECT DISTINCT payload FROM chunks WHERE payload NOT IN (SELECT num FROM payloads)`, func(s *sqlite3.Stmt) error {
		nums = append(nums, s.ColumnInt64(0))
		return nil
	})
	if err != nil {
		return err
	}
	for _, num := range nums {
		found, err := c.hashChunks(num, false)
		if err != nil {
			if errors.As(err, new(*sqlite3.Error)) {
				return err
			}
			continue // it cannot be read, and stays named
		}
		err = c.exec(`
			INSERT INTO payloads (num, id, sha256, size, mime, name, path, kind, summary, tokens, created_at)
			SELECT ?, ?, ?, ?, '', '', '', '', '', 0, 0 WHERE NOT EXISTS (SELECT 1 FROM payloads WHERE sha256 = ?3)`,
			num, fmt.Sprintf("file_%x", found.sum[:8]), found.sum[:], found.size)
		if err != nil {
			return err
		}
	}
	return nil
}

// reclaimed says that the first message of a new conversation is also the first
// of one whose session key is lost: they are one conversation.
type reclaimed struct{ from int64 }

func (r *reclaimed) Error() string {
	return fmt.Sprintf("these are the messages of conversation %d, whose session key was lost", r.from)
}

// unclaimed looks for a conversation whose key is lost and whose first message
// has the given link of the chain. The link covers record, role, time and id.
func (w *writer) unclaimed(link []byte) error {
	var lost []int64
	err := w.query(eachConversation+`(c.id IS NULL OR substr(c.key, 1, 10) = ?) AND x.id <> ?`, func(s *sqlite3.Stmt) error {
		lost = append(lost, s.ColumnInt64(0))
		return nil
	}, recoveredKey, int64(w.ID))
	if err != nil {
		return err
	}
	for _, id := range lost {
		same, err := w.one(`SELECT 1 FROM messages WHERE conversation = ? AND seq = 1 AND chain = ?`, func(*sqlite3.Stmt) error { return nil }, id, link)
		if err != nil {
			return err
		}
		if same {
			return &reclaimed{from: id}
		}
	}
	return nil
}

// reclaim gives a new, empty conversation everything of one whose session key
// was lost.
func (c *conn) reclaim(id store.ConversationID, from int64) error {
	for _, sql := range []string{
		`UPDATE messages SET conversation = ?1 WHERE conversation = ?2`,
		`UPDATE summaries SET conversation = ?1 WHERE conversation = ?2`,
		`UPDATE view SET conversation = ?1 WHERE conversation = ?2`,
		`UPDATE branches SET conversation = ?1 WHERE conversation = ?2`,
		`UPDATE conversations SET parent = ?1 WHERE parent = ?2`,
		`UPDATE conversations SET forked_from = ?1 WHERE forked_from = ?2`,
		`DELETE FROM conversations WHERE id = ?2 AND id <> ?1`,
	} {
		if err := c.exec(sql, int64(id), from); err != nil {
			return err
		}
	}
	// The index holds the conversation of each document.
	for _, lane := range []int{laneMessages, laneSummaries} {
		if err := c.unindex(lane, 0); err != nil {
			return err
		}
	}
	return c.settle(int64(id))
}
