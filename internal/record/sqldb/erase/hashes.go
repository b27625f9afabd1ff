package erase

import (
	"time"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/sqldb/tombstone"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// writeTombstones writes the hashes of every message, under the key of its
// session and those of the forks that inherited it. For a conversation that is
// erased whole it also sets the time up to which the session refuses messages. A
// database with tokens is that of a team server: there an erasure holds only in the
// projects of its messages, so that nobody learns what was erased in another one.
func (e *erasing) writeTombstones() error {
	var err error
	e.out.Tombstone, err = e.Insert("id", `INSERT INTO erasures (cause, created_at, messages, bytes) VALUES (?, ?, 0, 0)`, e.order.Cause, e.now)
	if err != nil {
		return err
	}
	u, err := tombstone.ReadHasher(e.Conn)
	if err != nil {
		return err
	}
	team, err := e.Has(`SELECT 1 FROM state WHERE space = ?`, store.TokenSpace)
	if err != nil {
		return err
	}
	all, err := e.names()
	if err != nil {
		return err
	}
	const insert = `INSERT INTO tombstones (hash, erasure, n) VALUES (?, ?, 1) ON CONFLICT (hash, erasure) DO UPDATE SET n = tombstones.n + 1`
	for _, n := range all {
		area := tombstone.Everywhere
		if team {
			area = n.area
		}
		for _, sum := range u.AreaHashes(u.Salts[0], area, &n.Identity) {
			if err := e.Exec(insert, sum, e.out.Tombstone); err != nil {
				return err
			}
		}
	}
	counts := map[string]int64{}
	err = e.Query(lineage+`
		SELECT m.id, c.key FROM temp.erasing e JOIN messages m ON m.id = e.id
		JOIN lineage l ON l.origin = m.conversation JOIN conversations c ON c.id = l.id`, func(s sqldb.Row) error {
		n, key := all[s.ColumnInt64(0)], s.ColumnText(1)
		counts[key]++
		return e.Exec(insert, u.SessionHash(u.Salts[0], key, &n.Identity), e.out.Tombstone)
	})
	if err != nil {
		return err
	}
	for key, n := range counts {
		if err := e.Exec(`INSERT INTO forgotten (key, erasure, messages) VALUES (?, ?, ?)`, key, e.out.Tombstone, n); err != nil {
			return err
		}
	}
	for id := range e.whole {
		if err := e.closeSession(id); err != nil {
			return err
		}
	}
	return e.closeForks()
}

// name is the identity of a message, and the area of its project.
type name struct {
	tombstone.Identity
	area string
}

// names reads the identities of the messages to erase. Instructions of a
// conversation that is erased whole have no content hash: they are the same in
// every session of an agent.
func (e *erasing) names() (map[int64]*name, error) {
	all := map[int64]*name{}
	err := e.Query(`
		SELECT m.id, m.native, m.said, m.sha256, m.conversation, m.role, m.format, m.record, m.cuts,
			(SELECT p.sha256 FROM messages p WHERE p.conversation = m.conversation AND p.seq < m.seq ORDER BY p.seq DESC LIMIT 1),
			(SELECT p.sha256 FROM messages p WHERE p.conversation = m.conversation AND p.seq > m.seq ORDER BY p.seq LIMIT 1),
			o.origin, o.root
		FROM temp.erasing e JOIN messages m ON m.id = e.id JOIN conversations c ON c.id = m.conversation LEFT JOIN projects o ON o.id = c.project`, func(s sqldb.Row) error {
		n := &name{area: tombstone.Area(store.Project{Origin: s.ColumnText(11), Root: s.ColumnText(12)})}
		n.Fingerprint, n.Asked = store.Fingerprint{Native: s.ColumnText(1), Said: sqldb.Millis(s, 2), SHA256: sqldb.Hash(s, 3)}, true
		n.Neighbours = tombstone.Neighbours(s.ColumnBlob(9, nil), s.ColumnBlob(10, nil))
		all[s.ColumnInt64(0)] = n
		role := store.RoleOf(s.ColumnInt(5))
		if e.whole[s.ColumnInt64(4)] && role == llms.RoleSystem {
			return nil
		}
		data, err := rows.Join(e.Conn, sqldb.Unpack(s.ColumnBlob(7, nil)), s.ColumnText(8))
		if err != nil {
			return nil // a damaged record has no content hash
		}
		n.Digest, n.Long = store.ContentSum(llms.Format(s.ColumnText(6)), role, data)
		return nil
	})
	return all, err
}

// closeForks sets the refusal time of forks whose fork point is erased. The
// time of the fork point, which separates the messages of the origin from those
// of the fork, is erased with it.
func (e *erasing) closeForks() error {
	keys, err := sqldb.Column[string](e.Conn,
		`SELECT DISTINCT key FROM conversations WHERE erased_at IS NULL AND forked_at IN (SELECT id FROM temp.erasing) ORDER BY key`)
	if err != nil {
		return err
	}
	return sqldb.Each(keys, func(key string) error {
		r, err := tombstone.Read(e.Conn, key, store.Project{}, e.now) // for its time alone
		if err == nil && !r.Until.IsZero() {
			err = e.refuseUntil(key, r.Until)
		}
		return err
	})
}

// refuseUntil makes a session refuse messages up to a time.
func (e *erasing) refuseUntil(key string, through time.Time) error {
	return e.Exec(`
		INSERT INTO forgotten (key, erasure, messages, through) VALUES (?1, ?2, 0, ?3)
		ON CONFLICT (key, erasure) DO UPDATE SET through = `+e.Dialect().Greatest+`(coalesce(forgotten.through, ?3), ?3)`, key, e.out.Tombstone, through)
}

// closeSession sets the time up to which a session refuses messages. If the
// session continues in another conversation, it is the time of the last erased
// message, and otherwise now, so that messages that arrive late are refused
// too. It is never after now: a message with a future date must not close its
// session.
func (e *erasing) closeSession(id int64) error {
	r, err := rows.ReadConversation(e.Conn, store.ConversationID(id))
	if err != nil {
		return err
	}
	goesOn, err := e.Has(`SELECT 1 FROM conversations WHERE key = ? AND id <> ? AND erased_at IS NULL`, r.Key, id)
	if err != nil {
		return err
	}
	through, err := sqldb.Value[time.Time](e.Conn, `SELECT max(said) FROM messages WHERE conversation = ?`, id)
	if err != nil {
		return err
	}
	if !goesOn || through.After(e.now) {
		through = e.now
	}
	return e.refuseUntil(r.Key, through)
}
