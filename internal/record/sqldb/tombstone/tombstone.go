// Package tombstone recognises messages that were erased.
//
// An erasure leaves salted hashes of the identities of its messages: native ids,
// times, records, contents. They reveal nothing of the text. [Read] looks up the
// erasures that concern a session, and [Refusal.Refuses] reports whether a
// message is one that was erased. Package erase writes the hashes.
package tombstone

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Hasher makes the salted hashes of erased messages. The first salt is that of
// the database; the others came with tombstones from archives.
type Hasher struct{ Salts [][]byte }

// ReadHasher reads the salts of the database.
func ReadHasher(c sqldb.Conn) (Hasher, error) {
	salts, err := sqldb.Column[[]byte](c, `SELECT salt FROM tombstone_salt ORDER BY rowid`)
	if err == nil && salts == nil {
		err = store.Missing("the salt of the tombstones")
	}
	return Hasher{salts}, err
}

// The kinds of hashes. All include the key of the session, but the last two, which
// include the area. For a short text they do not include the text.
const (
	byNative     = 'n' // native id
	byRecord     = 's' // time and record
	byTime       = 't' // time; for a short text
	byRecordOnly = 'r' // record; a weak name
	byNeighbours = 'p' // the records before and after; a weak name of a short text
	anyNative    = 'g' // native id and time
	anyContent   = 'c' // content
)

// hash is the hash of a name.
func (u Hasher) hash(salt []byte, key string, kind byte, facts ...[]byte) []byte {
	h := hmac.New(sha256.New, salt)
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(key))))
	h.Write([]byte(key))
	h.Write([]byte{kind})
	for _, f := range facts {
		h.Write(f)
	}
	return h.Sum(nil)[:16]
}

// Identity is everything by which a message can be recognised.
type Identity struct {
	store.Fingerprint
	Neighbours []byte
	Digest     [sha256.Size]byte
	Long       bool // content is set
	Asked      bool // Content was called
}

func (n *Identity) ask() {
	if n.Content != nil && !n.Asked {
		n.Digest, n.Long = n.Content()
	}
	n.Asked = true
}

func (n *Identity) said() []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(n.Said.UnixMilli()))
}

// SessionHash returns the hash that an erasure stores for a message in its
// session.
func (u Hasher) SessionHash(salt []byte, key string, n *Identity) []byte {
	switch n.ask(); {
	case n.Native != "":
		return u.hash(salt, key, byNative, []byte(n.Native))
	case !n.Said.IsZero() && n.Long:
		return u.hash(salt, key, byRecord, n.said(), n.SHA256[:])
	case !n.Said.IsZero():
		return u.hash(salt, key, byTime, n.said())
	case n.Long:
		return u.hash(salt, key, byRecordOnly, n.SHA256[:])
	}
	return u.hash(salt, key, byNeighbours, n.Neighbours)
}

// sessionHashes returns the hashes under which a message may be stored in a
// session. Databases of older versions have short texts by their records too.
func (u Hasher) sessionHashes(salt []byte, key string, n *Identity) (sums [][]byte, weak bool) {
	switch {
	case n.Native != "":
		return [][]byte{u.hash(salt, key, byNative, []byte(n.Native))}, false
	case !n.Said.IsZero():
		sums = [][]byte{u.hash(salt, key, byRecord, n.said(), n.SHA256[:])}
		if n.ask(); !n.Long {
			sums = append(sums, u.hash(salt, key, byTime, n.said()))
		}
		return sums, false
	}
	sums = [][]byte{u.hash(salt, key, byRecordOnly, n.SHA256[:])}
	if n.Neighbours != nil {
		sums = append(sums, u.hash(salt, key, byNeighbours, n.Neighbours))
	}
	return sums, true
}

// Everywhere is the area of erasures that hold in every session of a database.
const Everywhere = ""

// Area is the area of erasures that hold in the sessions of one project: its origin in any
// case, or its directory.
func Area(p store.Project) string {
	if p.Origin != "" {
		return "origin:" + strings.ToLower(p.Origin)
	}
	return "root:" + p.Root
}

// AreaHashes returns the hashes of a message that hold in every session of an area.
func (u Hasher) AreaHashes(salt []byte, area string, n *Identity) (sums [][]byte) {
	if n.Native != "" && !n.Said.IsZero() {
		sums = append(sums, u.hash(salt, area, anyNative, n.said(), []byte(n.Native)))
	}
	if n.ask(); n.Long {
		sums = append(sums, u.hash(salt, area, anyContent, n.Digest[:]))
	}
	return sums
}

// EnsureSalt adds a salt if the database has none.
func EnsureSalt(c sqldb.Conn) error {
	salt := make([]byte, 32)
	_, _ = rand.Read(salt) // it never fails
	return c.Exec(`INSERT INTO tombstone_salt (salt) SELECT ? WHERE NOT EXISTS (SELECT 1 FROM tombstone_salt)`, salt)
}

// RenewSalt seals the salt again, and makes one if there is none, where nothing was ever
// erased: no tombstone depends on it.
func RenewSalt(c sqldb.Conn) error {
	if erased, err := c.Has(seal.EverErased); err != nil || erased {
		return err
	}
	if err := EnsureSalt(c); err != nil {
		return err
	}
	return seal.Set(c, seal.Salt)
}

// Neighbours joins the hashes of the records before and after a message.
func Neighbours(before, after []byte) []byte {
	out := make([]byte, 2*sha256.Size)
	copy(out, before)
	copy(out[sha256.Size:], after)
	return out
}

// Exist is an expression: whether anything was ever erased.
const Exist = `(EXISTS (SELECT 1 FROM forgotten) OR EXISTS (SELECT 1 FROM tombstones))`

// Refusal holds the erasures that concern a session.
type Refusal struct {
	Hasher
	Keys       []string // of the session, and of those it was forked from
	Until      time.Time
	ClockAhead bool // a time was left out, because it is in the future
	Any        bool // something was erased, from whatever session
	project    store.Project
}

// futureUntil selects rows of forgotten f whose time is after ?2: the clock was
// ahead at the erasure, and the time would refuse new messages. Every erased
// message also has a tombstone; where one has not, an older version erased it,
// and the time stays.
const futureUntil = `(f.through > ?2 AND (SELECT coalesce(sum(n), 0) FROM tombstones t WHERE t.erasure = f.erasure) >= f.messages)`

// DropFuture removes the times of a session that are in the future, see [futureUntil].
func DropFuture(c sqldb.Conn, key string, now time.Time) error {
	erasures, err := sqldb.Column[int64](c, `SELECT f.erasure FROM forgotten f WHERE f.key = ?1 AND `+futureUntil, key, now)
	if err != nil {
		return err
	}
	return sqldb.Each(erasures, func(id int64) error {
		return seal.Change(c, seal.Erasure(id), func() error {
			return c.Exec(`UPDATE forgotten SET through = NULL WHERE key = ? AND erasure = ?`, key, id)
		})
	})
}

// Read looks up the erasures that concern a session of a project. A fork also refuses
// messages erased from its origin before the fork point.
func Read(c sqldb.Conn, key string, in store.Project, now time.Time) (r Refusal, err error) {
	r.project = in
	err = c.Query(`
		WITH RECURSIVE origins (id, key, until) AS (
			SELECT id, key, CAST(NULL AS BIGINT) FROM conversations WHERE key = ?1 AND erased_at IS NULL
			UNION SELECT c.id, c.key, CASE WHEN o.until < m.said THEN o.until ELSE m.said END FROM origins o JOIN conversations f ON f.id = o.id
				JOIN conversations c ON c.id = f.forked_from LEFT JOIN messages m ON m.id = f.forked_at
		)
		SELECT key, max(CASE WHEN `+futureUntil+` THEN NULL ELSE through END), max(CASE WHEN `+futureUntil+` THEN 1 ELSE 0 END) FROM forgotten f WHERE key = ?1 GROUP BY key
		UNION ALL SELECT f.key,
				max(CASE WHEN `+futureUntil+` THEN NULL WHEN f.through <= o.until THEN f.through WHEN f.through > o.until THEN o.until END),
				max(CASE WHEN `+futureUntil+` THEN 1 ELSE 0 END)
			FROM origins o JOIN forgotten f ON f.key = o.key AND f.key <> ?1 GROUP BY f.key`, func(s sqldb.Row) error {
		r.Keys = append(r.Keys, s.ColumnText(0))
		if through := sqldb.Millis(s, 1); through.After(r.Until) {
			r.Until = through
		}
		r.ClockAhead = r.ClockAhead || s.ColumnBool(2)
		return nil
	}, key, now)
	if err == nil {
		r.Any, err = c.Has(`SELECT 1 FROM tombstones LIMIT 1`)
	}
	if err != nil || r.Keys == nil && !r.Any {
		return r, err
	}
	if r.Hasher, err = ReadHasher(c); err != nil {
		return r, err
	}
	if holds, err := seal.SaltHolds(c, r.Salts); err != nil {
		return r, err
	} else if !holds {
		return r, &hint.Error{Err: fmt.Errorf("the salt of the tombstones is %w: messages that were erased would not be recognised", store.ErrDamaged),
			Hint: "restore a backup; or lift every erasure of `lcm forget --list` and forget the messages again"}
	}
	return r, nil
}

// Refuses reports whether a message was erased. A weak hash does not count: a
// new message without id and time may repeat an erased one. times is how often
// the hash was stored.
func (r Refusal) Refuses(c sqldb.Conn, n *Identity) (refused, weak bool, times int, err error) {
	if r.Keys != nil && !n.Said.IsZero() && !n.Said.Truncate(time.Millisecond).After(r.Until) {
		return true, false, 0, nil
	}
	count := func(sums [][]byte) (n int, err error) {
		for _, sum := range sums {
			times, err := sqldb.Value[int](c, `SELECT sum(n) FROM tombstones WHERE hash = ?`, sum)
			if err != nil {
				return 0, err
			}
			n += times
		}
		return n, nil
	}
	for _, salt := range r.Salts {
		if n, err := count(append(r.AreaHashes(salt, Everywhere, n), r.AreaHashes(salt, Area(r.project), n)...)); err != nil || n > 0 {
			return n > 0, false, n, err
		}
	}
	for _, key := range r.Keys {
		all := 0
		for _, salt := range r.Salts {
			var sums [][]byte
			sums, weak = r.sessionHashes(salt, key, n)
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
