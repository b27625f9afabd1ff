package sqlite

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/store"
)

// undertaker makes the salted hashes by which erased messages are known. The
// first salt is the database's own; the others came with tombstones from
// archives.
type undertaker struct{ salts [][]byte }

func (c *conn) undertaker() (undertaker, error) {
	var u undertaker
	err := c.query(`SELECT salt FROM tombstone_salt ORDER BY rowid`, func(s *sqlite3.Stmt) error {
		u.salts = append(u.salts, s.ColumnBlob(0, nil))
		return nil
	})
	if err == nil && u.salts == nil {
		err = fmt.Errorf("the salt of the tombstones: %w", store.ErrNotFound)
	}
	return u, err
}

// hash names a message of a session: by its native id, else by its record and
// when it was said, else (weak) by its record alone.
func (u undertaker) hash(salt []byte, key string, f store.Fingerprint) (sum []byte, weak bool) {
	h := hmac.New(sha256.New, salt)
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(key)))
	h.Write(n[:])
	h.Write([]byte(key))
	switch {
	case f.Native != "":
		h.Write([]byte{'n'})
		h.Write([]byte(f.Native))
	case !f.Said.IsZero():
		h.Write([]byte{'s'})
		binary.BigEndian.PutUint64(n[:], uint64(f.Said.UnixMilli()))
		h.Write(n[:])
		h.Write(f.SHA256[:])
	default:
		h.Write([]byte{'r'})
		h.Write(f.SHA256[:])
		weak = true
	}
	return h.Sum(nil)[:16], weak
}

// saltAtLeast gives a database that has none a salt.
const saltAtLeast = `INSERT INTO tombstone_salt SELECT randomblob(32) WHERE NOT EXISTS (SELECT 1 FROM tombstone_salt)`

// bury writes the tombstones: for every message under the key of its session
// and under those of the forks that had inherited it. Of a conversation that
// goes whole, the time until which it was said also refuses messages that have
// not arrived yet.
func (e *erasing) bury() error {
	if err := e.exec(`INSERT INTO erasures (cause, created_at, messages, bytes) VALUES (?, ?, 0, 0)`, e.order.Cause, e.now); err != nil {
		return err
	}
	e.out.Tombstone = e.LastInsertRowID()
	if err := e.exec(saltAtLeast); err != nil {
		return err
	}
	u, err := e.undertaker()
	if err != nil {
		return err
	}
	counts := map[string]int64{}
	err = e.query(lineage+`
		SELECT m.native, m.said, m.sha256, c.key FROM temp.erasing e JOIN messages m ON m.id = e.id
		JOIN lineage l ON l.origin = m.conversation JOIN conversations c ON c.id = l.id`, func(s *sqlite3.Stmt) error {
		f := store.Fingerprint{Native: s.ColumnText(0), Said: millis(s, 1)}
		copy(f.SHA256[:], s.ColumnRawBlob(2))
		key := s.ColumnText(3)
		counts[key]++
		sum, _ := u.hash(u.salts[0], key, f)
		return e.exec(`INSERT INTO tombstones (hash, erasure, n) VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET n = n + 1`, sum, e.out.Tombstone)
	})
	if err != nil {
		return err
	}
	for key, n := range counts {
		if err := e.exec(`INSERT INTO forgotten (key, erasure, messages) VALUES (?, ?, ?)`, key, e.out.Tombstone, n); err != nil {
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

// closeForks notes what forks do not take from their origins for those whose
// place of origin goes: with the message goes when it was said, which is what
// tells an origin's messages from the fork's own.
func (e *erasing) closeForks() error {
	var keys []string
	err := e.query(`SELECT DISTINCT key FROM conversations WHERE erased_at IS NULL AND forked_at IN (SELECT id FROM temp.erasing) ORDER BY key`,
		func(s *sqlite3.Stmt) error { keys = append(keys, s.ColumnText(0)); return nil })
	if err != nil {
		return err
	}
	for _, key := range keys {
		r, err := e.refusal(key, e.now)
		if err == nil && !r.through.IsZero() {
			err = e.refuseThrough(key, r.through)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// refuseThrough notes that nothing of a session is taken that was said until
// then.
func (e *erasing) refuseThrough(key string, through time.Time) error {
	return e.exec(`
		INSERT INTO forgotten (key, erasure, messages, through) VALUES (?1, ?2, 0, ?3)
		ON CONFLICT DO UPDATE SET through = max(ifnull(through, ?3), ?3)`, key, e.out.Tombstone, through)
}

// closeSession notes until when nothing of a session is taken any more. Where
// the session goes on in another conversation, that is the last that was said
// in the one that goes, else now: what has not arrived yet is of it too. It is
// never after now: a message with a date in the future must not close its
// session until then.
func (e *erasing) closeSession(id int64) error {
	r, err := e.conversation(store.ConversationID(id))
	if err != nil {
		return err
	}
	goesOn, err := e.one(`SELECT 1 FROM conversations WHERE key = ? AND id <> ? AND erased_at IS NULL`, func(*sqlite3.Stmt) error { return nil }, r.Key, id)
	if err != nil {
		return err
	}
	var through time.Time
	if _, err := e.one(`SELECT max(said) FROM messages WHERE conversation = ?`, func(s *sqlite3.Stmt) error { through = millis(s, 0); return nil }, id); err != nil {
		return err
	}
	if !goesOn || through.After(e.now) {
		through = e.now
	}
	return e.refuseThrough(r.Key, through)
}

// refusal is what a writer knows of what its session has forgotten.
type refusal struct {
	undertaker
	keys    []string // of the session, and of those it was forked from
	through time.Time
	ahead   bool // a time was left out, because it is in the future
}

// clockAhead selects rows of forgotten f whose time is after ?2: the clock was
// ahead when the session was forgotten, and the time would refuse what is said
// from now on. Every message that was erased has its tombstone all the same;
// where one does not, an older version erased it, and the time is kept.
const clockAhead = `(f.through > ?2 AND (SELECT ifnull(sum(n), 0) FROM tombstones t WHERE t.erasure = f.erasure) >= f.messages)`

// refusal looks up what a session has forgotten. A fork of a session that has
// forgotten something has not heard of it either, as far as it was said up to
// where the fork begins.
func (c *conn) refusal(key string, now time.Time) (r refusal, err error) {
	err = c.query(`
		WITH RECURSIVE origins (id, key, until) AS (
			SELECT id, key, NULL FROM conversations WHERE key = ?1 AND erased_at IS NULL
			UNION SELECT c.id, c.key, min(ifnull(o.until, m.said), m.said) FROM origins o JOIN conversations f ON f.id = o.id
				JOIN conversations c ON c.id = f.forked_from LEFT JOIN messages m ON m.id = f.forked_at
		)
		SELECT key, max(iif(`+clockAhead+`, NULL, through)), max(`+clockAhead+`) FROM forgotten f WHERE key = ?1 GROUP BY key
		UNION ALL SELECT f.key, max(min(iif(`+clockAhead+`, NULL, f.through), o.until)), max(`+clockAhead+`)
			FROM origins o JOIN forgotten f ON f.key = o.key AND f.key <> ?1 GROUP BY f.key`, func(s *sqlite3.Stmt) error {
		r.keys = append(r.keys, s.ColumnText(0))
		if through := millis(s, 1); through.After(r.through) {
			r.through = through
		}
		r.ahead = r.ahead || s.ColumnBool(2)
		return nil
	}, key, now)
	if err != nil || r.keys == nil {
		return r, err
	}
	r.undertaker, err = c.undertaker()
	return r, err
}

// refuses reports whether a message was erased. A weak name does not count
// here: who appends a message without id and time says it anew. n is how often
// it was.
func (r refusal) refuses(c *conn, f store.Fingerprint) (refused, weak bool, n int, err error) {
	if r.keys != nil && !f.Said.IsZero() && !f.Said.Truncate(time.Millisecond).After(r.through) {
		return true, false, 0, nil
	}
	for _, key := range r.keys {
		all := 0
		for _, salt := range r.salts {
			var times int
			var sum []byte
			sum, weak = r.hash(salt, key, f)
			if _, err := c.one(`SELECT ifnull(sum(n), 0) FROM tombstones WHERE hash = ?`, integer(&times), sum); err != nil {
				return false, weak, 0, err
			}
			all += times
		}
		n = max(n, all)
	}
	return n > 0 && !weak, weak, n, nil
}

// forgot reports whether the writer's session has forgotten a message, and
// removes the payloads that were stored for it.
func (w *writer) forgot(m *store.NewMessage) (bool, error) {
	if w.refusal == nil {
		r, err := w.conn.refusal(w.Key, w.now)
		if err != nil {
			return false, err
		}
		if r.ahead { // for good: the time comes, and messages from before it may still arrive then
			for _, key := range r.keys {
				if err := w.exec(`UPDATE forgotten AS f SET through = NULL WHERE f.key = ?1 AND `+clockAhead, key, w.now); err != nil {
					return false, err
				}
			}
		}
		w.refusal = &r
	}
	refused, _, _, err := w.refusal.refuses(w.conn, store.Fingerprint{Native: m.Native, Said: m.Said, SHA256: m.SHA256})
	if err != nil || !refused {
		return false, err
	}
	for _, p := range m.Payloads {
		var num int64
		found, err := w.one(`SELECT num FROM payloads WHERE id = ?`, func(s *sqlite3.Stmt) error { num = s.ColumnInt64(0); return nil }, string(p))
		if err != nil {
			return false, err
		}
		if !found {
			continue
		}
		if _, _, err := w.dropUnused(num); err != nil {
			return false, err
		}
	}
	return true, nil
}

// Forgotten implements [store.Eraser].
func (db *DB) Forgotten(ctx context.Context, key string, ms iter.Seq[store.Fingerprint]) ([]bool, error) {
	var out []bool
	err := db.withReader(ctx, func(c *conn) error {
		return c.read(func() error {
			r, err := c.refusal(key, db.opts.Clock())
			if err != nil || r.keys == nil {
				return err
			}
			seen := map[store.Fingerprint]int{}
			for f := range ms {
				refused, weak, n, err := r.refuses(c, f)
				if err != nil {
					return err
				}
				if weak {
					seen[f]++
					refused = seen[f] <= n
				}
				out = append(out, refused)
			}
			return nil
		})
	})
	return out, err
}

// Tombstones implements [store.Eraser].
func (db *DB) Tombstones(ctx context.Context) ([]store.Tombstone, error) {
	var all []store.Tombstone
	err := db.withReader(ctx, func(c *conn) error {
		return c.read(func() error {
			at := map[int64]int{}
			err := c.query(`SELECT id, cause, created_at, messages, bytes, finished FROM erasures ORDER BY id DESC`, func(s *sqlite3.Stmt) error {
				at[s.ColumnInt64(0)] = len(all)
				all = append(all, store.Tombstone{
					ID: s.ColumnInt64(0), Cause: s.ColumnText(1), Time: millis(s, 2), Messages: s.ColumnInt64(3), Bytes: s.ColumnInt64(4), Finished: s.ColumnBool(5),
				})
				return nil
			})
			if err != nil {
				return err
			}
			return c.query(`SELECT erasure, key, messages, through FROM forgotten ORDER BY erasure, key`, func(s *sqlite3.Stmt) error {
				i, ok := at[s.ColumnInt64(0)]
				if !ok {
					return nil // damage, which doctor names and mends
				}
				t := &all[i]
				t.Sessions = append(t.Sessions, store.ForgottenSession{Key: s.ColumnText(1), Messages: s.ColumnInt64(2), Through: millis(s, 3)})
				return nil
			})
		})
	})
	return all, err
}

// cursorSpace is the space of [store.State] in which package hosts keeps how
// far it has read the transcript of a session.
const cursorSpace = "hosts"

// lifted are the steps that take a tombstone away: transcripts that were read
// to their end are read again, and a conversation that went whole gives its
// place in its session back, so that it can come in as what it was.
var lifted = []string{
	`DELETE FROM tombstones WHERE erasure = ?1`,
	`UPDATE state SET expires = 0, data = x'' WHERE space = '` + cursorSpace + `' AND key IN (SELECT key FROM forgotten WHERE erasure = ?1)`,
	`UPDATE conversations SET key = 'lifted:' || id WHERE erased_at IS NOT NULL AND key IN (SELECT key FROM forgotten WHERE erasure = ?1)
		AND key NOT IN (SELECT key FROM forgotten WHERE erasure <> ?1)`,
	`DELETE FROM forgotten WHERE erasure = ?1`,
}

// Lift implements [store.Eraser].
func (db *DB) Lift(ctx context.Context, id int64) error {
	return db.transact(ctx, func(c *conn) error {
		finished := false
		found, err := c.one(`SELECT finished FROM erasures WHERE id = ?`, func(s *sqlite3.Stmt) error { finished = s.ColumnBool(0); return nil }, id)
		switch {
		case err != nil:
			return err
		case !found:
			return &store.Problem{Err: store.Missing(fmt.Sprintf("tombstone %d", id)), Hint: "`lcm forget --list` shows those that there are"}
		case !finished:
			return &store.Problem{Err: fmt.Errorf("erasure %d is not finished", id), Hint: "run `lcm forget --finish`, then lift it"}
		}
		for _, sql := range lifted {
			if err := c.exec(sql, id); err != nil {
				return err
			}
		}
		return c.exec(`DELETE FROM erasures WHERE id = ?`, id)
	})
}
