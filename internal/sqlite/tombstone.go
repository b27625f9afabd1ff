package sqlite

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/llms"
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

// The kinds of names, each under the key of its session but for the last two,
// which hold in any session. A name of a short text says nothing of the text.
const (
	byNative     = 'n' // native id
	byRecord     = 's' // time and record
	byTime       = 't' // time; for a short text
	byRecordOnly = 'r' // record; a weak name
	byNeighbours = 'p' // the records before and after; a weak name of a short text
	anyNative    = 'g' // native id and time
	anyContent   = 'c' // content
)

// sum is the hash of a name.
func (u undertaker) sum(salt []byte, key string, kind byte, facts ...[]byte) []byte {
	h := hmac.New(sha256.New, salt)
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(key))))
	h.Write([]byte(key))
	h.Write([]byte{kind})
	for _, f := range facts {
		h.Write(f)
	}
	return h.Sum(nil)[:16]
}

// named is a message with all that it may be known by.
type named struct {
	store.Fingerprint
	neighbours []byte
	content    [sha256.Size]byte
	long       bool // content is set
	asked      bool // Content was called
}

func (n *named) ask() {
	if n.Content != nil && !n.asked {
		n.content, n.long = n.Content()
	}
	n.asked = true
}

func (n *named) said() []byte { return binary.BigEndian.AppendUint64(nil, uint64(n.Said.UnixMilli())) }

// name is the hash under which a message that goes is remembered in its
// session.
func (u undertaker) name(salt []byte, key string, n *named) []byte {
	switch n.ask(); {
	case n.Native != "":
		return u.sum(salt, key, byNative, []byte(n.Native))
	case !n.Said.IsZero() && n.long:
		return u.sum(salt, key, byRecord, n.said(), n.SHA256[:])
	case !n.Said.IsZero():
		return u.sum(salt, key, byTime, n.said())
	case n.long:
		return u.sum(salt, key, byRecordOnly, n.SHA256[:])
	}
	return u.sum(salt, key, byNeighbours, n.neighbours)
}

// names are the hashes under which a message may be remembered in a session.
// Databases of older versions know short texts by their records too.
func (u undertaker) names(salt []byte, key string, n *named) (sums [][]byte, weak bool) {
	switch {
	case n.Native != "":
		return [][]byte{u.sum(salt, key, byNative, []byte(n.Native))}, false
	case !n.Said.IsZero():
		sums = [][]byte{u.sum(salt, key, byRecord, n.said(), n.SHA256[:])}
		if n.ask(); !n.long {
			sums = append(sums, u.sum(salt, key, byTime, n.said()))
		}
		return sums, false
	}
	sums = [][]byte{u.sum(salt, key, byRecordOnly, n.SHA256[:])}
	if n.neighbours != nil {
		sums = append(sums, u.sum(salt, key, byNeighbours, n.neighbours))
	}
	return sums, true
}

// anywhere are the hashes under which a message is remembered in all sessions.
func (u undertaker) anywhere(salt []byte, n *named) (sums [][]byte) {
	if n.Native != "" && !n.Said.IsZero() {
		sums = append(sums, u.sum(salt, "", anyNative, n.said(), []byte(n.Native)))
	}
	if n.ask(); n.long {
		sums = append(sums, u.sum(salt, "", anyContent, n.content[:]))
	}
	return sums
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
	all, err := e.names()
	if err != nil {
		return err
	}
	const bury = `INSERT INTO tombstones (hash, erasure, n) VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET n = n + 1`
	for _, n := range all {
		for _, sum := range u.anywhere(u.salts[0], n) {
			if err := e.exec(bury, sum, e.out.Tombstone); err != nil {
				return err
			}
		}
	}
	counts := map[string]int64{}
	err = e.query(lineage+`
		SELECT m.id, c.key FROM temp.erasing e JOIN messages m ON m.id = e.id
		JOIN lineage l ON l.origin = m.conversation JOIN conversations c ON c.id = l.id`, func(s *sqlite3.Stmt) error {
		n, key := all[s.ColumnInt64(0)], s.ColumnText(1)
		counts[key]++
		return e.exec(bury, u.name(u.salts[0], key, n), e.out.Tombstone)
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

// names reads what the messages that go are known by. Of a conversation that
// goes whole, its instructions are not known by their content: they are the
// same in every session of an agent.
func (e *erasing) names() (map[int64]*named, error) {
	all := map[int64]*named{}
	err := e.query(`
		SELECT m.id, m.native, m.said, m.sha256, m.conversation, m.role, m.format, m.record, m.cuts,
			(SELECT p.sha256 FROM messages p WHERE p.conversation = m.conversation AND p.seq < m.seq ORDER BY p.seq DESC LIMIT 1),
			(SELECT p.sha256 FROM messages p WHERE p.conversation = m.conversation AND p.seq > m.seq ORDER BY p.seq LIMIT 1)
		FROM temp.erasing e JOIN messages m ON m.id = e.id`, func(s *sqlite3.Stmt) error {
		n := &named{Fingerprint: store.Fingerprint{Native: s.ColumnText(1), Said: millis(s, 2)}, asked: true}
		copy(n.SHA256[:], s.ColumnRawBlob(3))
		n.neighbours = neighbours(s.ColumnBlob(9, nil), s.ColumnBlob(10, nil))
		all[s.ColumnInt64(0)] = n
		role := store.RoleOf(s.ColumnInt(5))
		if e.whole[s.ColumnInt64(4)] && role == llms.RoleSystem {
			return nil
		}
		record, err := e.join(s.ColumnBlob(7, nil), s.ColumnText(8))
		if err != nil {
			return nil // damaged: it is known by the rest
		}
		n.content, n.long = store.ContentSum(formatOf(s.ColumnRawText(6)), role, record)
		return nil
	})
	return all, err
}

// neighbours joins the hashes of the records around a message.
func neighbours(before, after []byte) []byte {
	out := make([]byte, 2*sha256.Size)
	copy(out, before)
	copy(out[sha256.Size:], after)
	return out
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
	any     bool // something was erased, from whatever session
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
	if err == nil {
		r.any, err = c.one(`SELECT 1 FROM tombstones LIMIT 1`, func(*sqlite3.Stmt) error { return nil })
	}
	if err != nil || r.keys == nil && !r.any {
		return r, err
	}
	r.undertaker, err = c.undertaker()
	return r, err
}

// refuses reports whether a message was erased. A weak name does not count
// here: who appends a message without id and time says it anew. times is how
// often it was.
func (r refusal) refuses(c *conn, n *named) (refused, weak bool, times int, err error) {
	if r.keys != nil && !n.Said.IsZero() && !n.Said.Truncate(time.Millisecond).After(r.through) {
		return true, false, 0, nil
	}
	count := func(sums [][]byte) (n int, err error) {
		for _, sum := range sums {
			var times int
			if _, err := c.one(`SELECT ifnull(sum(n), 0) FROM tombstones WHERE hash = ?`, integer(&times), sum); err != nil {
				return 0, err
			}
			n += times
		}
		return n, nil
	}
	for _, salt := range r.salts {
		if n, err := count(r.anywhere(salt, n)); err != nil || n > 0 {
			return n > 0, false, n, err
		}
	}
	for _, key := range r.keys {
		all := 0
		for _, salt := range r.salts {
			var sums [][]byte
			sums, weak = r.names(salt, key, n)
			n, err := count(sums)
			if err != nil {
				return false, weak, 0, err
			}
			all += n
		}
		times = max(times, all)
	}
	return times > 0 && !weak, weak, times, nil
}

// Forgotten implements [store.Writer].
func (w *writer) Forgotten(_ context.Context, f store.Fingerprint) (bool, error) { return w.forgot(f) }

func (w *writer) forgot(f store.Fingerprint) (bool, error) {
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
	refused, _, _, err := w.refusal.refuses(w.conn, &named{Fingerprint: f})
	return refused, err
}

// dropRefused removes the payloads that a caller stored for a message before it
// was refused.
func (w *writer) dropRefused(m *store.NewMessage) error {
	for _, p := range m.Payloads {
		var num int64
		found, err := w.one(`SELECT num FROM payloads WHERE id = ?`, func(s *sqlite3.Stmt) error { num = s.ColumnInt64(0); return nil }, string(p))
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		if _, _, err := w.dropUnused(num); err != nil {
			return err
		}
	}
	return nil
}

// Forgotten implements [store.Eraser].
func (db *DB) Forgotten(ctx context.Context, key string, ms iter.Seq[store.Fingerprint]) ([]bool, error) {
	var out []bool
	err := db.withReader(ctx, func(c *conn) error {
		return c.read(func() error {
			r, err := c.refusal(key, db.opts.Clock())
			if err != nil || r.keys == nil && !r.any {
				return err
			}
			history := slices.Collect(ms)
			seen := map[[sha256.Size]byte]int{}
			for i, f := range history {
				n := &named{Fingerprint: f}
				var before, after []byte
				if i > 0 {
					before = history[i-1].SHA256[:]
				}
				if i+1 < len(history) {
					after = history[i+1].SHA256[:]
				}
				n.neighbours = neighbours(before, after)
				refused, weak, times, err := r.refuses(c, n)
				if err != nil {
					return err
				}
				if weak {
					seen[f.SHA256]++
					refused = seen[f.SHA256] <= times
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
// to their end are read again, all of them, since it refused in any session, and a conversation that went whole gives its
// place in its session back, so that it can come in as what it was.
var lifted = []string{
	`DELETE FROM tombstones WHERE erasure = ?1`,
	`UPDATE state SET expires = 0, data = x'' WHERE space = '` + cursorSpace + `' AND ?1`,
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
