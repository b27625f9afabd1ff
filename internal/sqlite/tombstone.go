package sqlite

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/store"
)

// undertaker makes the salted hashes by which erased messages are known. The
// first salt is the database's own; the others came with tombstones from
// archives.
type undertaker struct{ salts [][]byte }

func readHasher(c *dbfile.Conn) (undertaker, error) {
	var u undertaker
	err := c.Query(`SELECT salt FROM tombstone_salt ORDER BY rowid`, func(s *sqlite3.Stmt) error {
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

// neighbours joins the hashes of the records around a message.
func neighbours(before, after []byte) []byte {
	out := make([]byte, 2*sha256.Size)
	copy(out, before)
	copy(out[sha256.Size:], after)
	return out
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

// ReadRefusal looks up what a session has forgotten. A fork of a session that has
// forgotten something has not heard of it either, as far as it was said up to
// where the fork begins.
func ReadRefusal(c *dbfile.Conn, key string, now time.Time) (r refusal, err error) {
	err = c.Query(`
		WITH RECURSIVE origins (id, key, until) AS (
			SELECT id, key, NULL FROM conversations WHERE key = ?1 AND erased_at IS NULL
			UNION SELECT c.id, c.key, min(ifnull(o.until, m.said), m.said) FROM origins o JOIN conversations f ON f.id = o.id
				JOIN conversations c ON c.id = f.forked_from LEFT JOIN messages m ON m.id = f.forked_at
		)
		SELECT key, max(iif(`+clockAhead+`, NULL, through)), max(`+clockAhead+`) FROM forgotten f WHERE key = ?1 GROUP BY key
		UNION ALL SELECT f.key, max(min(iif(`+clockAhead+`, NULL, f.through), o.until)), max(`+clockAhead+`)
			FROM origins o JOIN forgotten f ON f.key = o.key AND f.key <> ?1 GROUP BY f.key`, func(s *sqlite3.Stmt) error {
		r.keys = append(r.keys, s.ColumnText(0))
		if through := dbfile.Millis(s, 1); through.After(r.through) {
			r.through = through
		}
		r.ahead = r.ahead || s.ColumnBool(2)
		return nil
	}, key, now)
	if err == nil {
		r.any, err = c.One(`SELECT 1 FROM tombstones LIMIT 1`, func(*sqlite3.Stmt) error { return nil })
	}
	if err != nil || r.keys == nil && !r.any {
		return r, err
	}
	r.undertaker, err = readHasher(c)
	return r, err
}

// refuses reports whether a message was erased. A weak name does not count
// here: who appends a message without id and time says it anew. times is how
// often it was.
func (r refusal) refuses(c *dbfile.Conn, n *named) (refused, weak bool, times int, err error) {
	if r.keys != nil && !n.Said.IsZero() && !n.Said.Truncate(time.Millisecond).After(r.through) {
		return true, false, 0, nil
	}
	count := func(sums [][]byte) (n int, err error) {
		for _, sum := range sums {
			var times int
			if _, err := c.One(`SELECT ifnull(sum(n), 0) FROM tombstones WHERE hash = ?`, dbfile.IntColumn(&times), sum); err != nil {
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
