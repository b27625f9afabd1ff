// Package seal proves rows that no hash chain covers: the list of conversations, what
// they are called, the texts of summaries, and the tombstones of erased messages.
//
// A seal of a summary, of an earlier text of it ([Text]) or of a conversation
// ([Conversation]) is a hash in the row itself. A seal of a set of rows is a row of the table seals: how many
// there are, and the sum of their hashes. The sum of the list of conversations is
// changed by differences, so that opening a conversation is one more statement, and
// a sum that was wrong once stays wrong.
//
// The hashes have no key. They show what a disk or an editor changed, not what somebody
// changed who also computed them again.
package seal

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
)

// The names of the sets of rows. Each erasure has one more, see [Erasure].
const (
	conversations = "conversations"
	Salt          = "salt"
)

const erasurePrefix = "erasure/"

// Erasure names the seal of the tombstones of an erasure.
func Erasure(id int64) string { return fmt.Sprint(erasurePrefix, id) }

// modulus keeps a sum of two digests within the integers of both backends.
const modulus = 1<<61 - 1

// sum is the value of a seal.
type sum struct{ entries, digest int64 }

func (s *sum) add(values ...any) {
	s.entries++
	h := hash(values...)
	s.digest = (s.digest + int64(binary.BigEndian.Uint64(h[:])%modulus)) % modulus
}

// hash hashes values so that no two lists of them are written alike.
func hash(values ...any) (out [sha256.Size]byte) {
	h := sha256.New()
	for _, v := range values {
		switch v := v.(type) {
		case []byte:
			fmt.Fprintf(h, "b%d:", len(v))
			h.Write(v)
		case string:
			fmt.Fprintf(h, "s%d:%s", len(v), v)
		default:
			fmt.Fprintf(h, "v%v;", v)
		}
	}
	h.Sum(out[:0])
	return out
}

// rows are the queries for the rows under a seal, and the argument of each.
func rows(name string) (queries []string, args []any) {
	switch {
	case name == conversations:
		return []string{`SELECT id FROM conversations`}, nil
	case name == Salt:
		return []string{`SELECT salt FROM tombstone_salt`}, nil
	}
	var id int64
	if _, err := fmt.Sscanf(strings.TrimPrefix(name, erasurePrefix), "%d", &id); err != nil {
		return nil, nil
	}
	return []string{`SELECT hash, n FROM tombstones WHERE erasure = ?`, `SELECT key, messages, through FROM forgotten WHERE erasure = ?`}, []any{id}
}

// measure sums the rows under a seal.
func measure(c sqldb.Conn, name string) (s sum, err error) {
	queries, args := rows(name)
	for _, sql := range queries {
		columns := 1 + strings.Count(sql, ",")
		err := c.Query(sql, func(r sqldb.Row) error {
			values := make([]any, columns)
			for i := range values {
				values[i] = r.ColumnValue(i)
			}
			s.add(values...)
			return nil
		}, args...)
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

// read returns the stored value of a seal.
func read(c sqldb.Conn, name string) (s sum, found bool, err error) {
	found, err = c.One(`SELECT entries, digest FROM seals WHERE name = ?`, sqldb.Into(&s.entries, &s.digest), name)
	return s, found, err
}

// Set writes the seal of the rows that there are.
func Set(c sqldb.Conn, name string) error {
	s, err := measure(c, name)
	if err != nil {
		return err
	}
	return c.Exec(`INSERT INTO seals (name, entries, digest) VALUES (?1, ?2, ?3) ON CONFLICT (name) DO UPDATE SET entries = ?2, digest = ?3`, name, s.entries, s.digest)
}

// Change runs a function that changes the rows under a seal, and seals them again. A seal
// that was broken before stays broken.
func Change(c sqldb.Conn, name string, change func() error) error {
	have, err := measure(c, name)
	if err != nil {
		return err
	}
	want, found, err := read(c, name)
	if err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	if found && have != want || !found && have.entries > 0 {
		return nil
	}
	return Set(c, name)
}

// Erased seals the tombstones of a new erasure.
func Erased(c sqldb.Conn, erasure int64) error { return Set(c, Erasure(erasure)) }

// Lifted removes the seal of an erasure that was lifted. Once nothing is erased any more,
// the salt is sealed again: no tombstone depends on it.
func Lifted(c sqldb.Conn, erasure int64) error {
	if err := c.Exec(`DELETE FROM seals WHERE name = ?`, Erasure(erasure)); err != nil {
		return err
	}
	if left, err := c.Has(EverErased); err != nil || left {
		return err
	}
	return Set(c, Salt)
}

// Opened seals a conversation that was added, and adds it to the list.
func Opened(c sqldb.Conn, id int64) error {
	if err := Named(c, id); err != nil {
		return err
	}
	return list(c, id, 1)
}

// Dropped removes a conversation from the list.
func Dropped(c sqldb.Conn, id int64) error { return list(c, id, -1) }

func list(c sqldb.Conn, id, sign int64) error {
	var s sum
	s.add(id)
	if sign < 0 {
		s.digest = modulus - s.digest
	}
	return c.Exec(`UPDATE seals SET entries = entries + ?, digest = (digest + ?) % ? WHERE name = ?`, sign, s.digest, int64(modulus), conversations)
}

// Conversation returns the seal of what a conversation is called and belongs to.
func Conversation(v store.Conversation) []byte {
	h := hash("conversation", int64(v.ID), v.Key, v.Segment, v.Agent, v.Title, v.Project.Origin, v.Project.Root)
	return h[:]
}

// Named seals what a conversation is called and belongs to.
func Named(c sqldb.Conn, id int64) error {
	v := store.Conversation{ID: store.ConversationID(id)}
	_, err := c.One(`SELECT c.key, c.segment, c.agent, c.title, p.origin, p.root FROM conversations c LEFT JOIN projects p ON p.id = c.project WHERE c.id = ?`,
		sqldb.Into(&v.Key, &v.Segment, &v.Agent, &v.Title, &v.Project.Origin, &v.Project.Root), id)
	if err != nil {
		return err
	}
	return c.Exec(`UPDATE conversations SET seal = ? WHERE id = ?`, Conversation(v), id)
}

// Text returns the seal of a text of a summary: the hash of the text before it, which is
// zeros where none is kept, and the hash of both.
func Text(before []byte, id store.SummaryID, created time.Time, revision int, w store.Wording) []byte {
	prev := make([]byte, sha256.Size)
	copy(prev, before)
	h := hash("summary", prev, string(id), created.UnixMilli(), revision, w.Body, w.Tokens, string(w.Level), w.Method, w.Model, w.TokensIn, w.TokensOut)
	return append(prev, h[:]...)
}

// Before returns the hash of the text before that a seal of [Text] holds.
func Before(seal []byte) []byte { return seal[:min(len(seal), sha256.Size)] }

// Hash returns the hash of a text that its seal holds.
func Hash(seal []byte) []byte { return seal[min(len(seal), sha256.Size):] }

// Follows reports whether a seal names a hash as that of the text before, and for nil that
// there is none.
func Follows(seal, before []byte) bool {
	want := make([]byte, sha256.Size)
	copy(want, before)
	return bytes.Equal(Before(seal), want)
}

// Fill seals everything as it is.
func Fill(c sqldb.Conn) error {
	if err := fillTexts(c); err != nil {
		return err
	}
	ids, err := sqldb.Column[int64](c, `SELECT id FROM conversations`)
	if err != nil {
		return err
	}
	erasures, err := sqldb.Column[int64](c, EverErased)
	if err != nil {
		return err
	}
	if err := sqldb.Each(ids, func(id int64) error { return Named(c, id) }); err != nil {
		return err
	}
	names := []string{conversations, Salt}
	for _, id := range erasures {
		names = append(names, Erasure(id))
	}
	return sqldb.Each(names, func(name string) error { return Set(c, name) })
}

// EverErased selects the erasures that anything is left of.
const EverErased = `SELECT id FROM erasures UNION SELECT erasure FROM forgotten UNION SELECT erasure FROM tombstones`

// fillTexts seals the texts of summaries, the earlier ones first.
func fillTexts(c sqldb.Conn) error {
	type text struct {
		num      int64
		id       store.SummaryID
		created  time.Time
		revision int
		store.Wording
		earlier bool
	}
	columns := func(t string) string {
		return t + `.revision, ` + t + `.body, ` + t + `.tokens, ` + t + `.level, ` + t + `.method, ` + t + `.model, ` + t + `.tokens_in, ` + t + `.tokens_out`
	}
	for after := int64(0); ; {
		var all []text
		err := c.Query(`
			SELECT s.num, s.id, s.created_at, `+columns("r")+`, 1 FROM summaries s JOIN revisions r ON r.summary = s.num WHERE s.num > ?1 AND s.num <= ?1 + 500
			UNION ALL SELECT s.num, s.id, s.created_at, `+columns("s")+`, 0 FROM summaries s WHERE s.num > ?1 AND s.num <= ?1 + 500 ORDER BY 1, 4`, func(s sqldb.Row) error {
			var t text
			sqldb.Scan(s, &t.num, &t.id, &t.created, &t.revision, &t.Body, &t.Tokens, &t.Level, &t.Method, &t.Model, &t.TokensIn, &t.TokensOut, &t.earlier)
			all = append(all, t)
			return nil
		}, after)
		if err != nil {
			return err
		}
		var last []byte
		for i, t := range all {
			if i == 0 || all[i-1].num != t.num {
				last = nil
			}
			seal := Text(last, t.id, t.created, t.revision, t.Wording)
			sql, args := `UPDATE summaries SET seal = ? WHERE num = ?`, []any{seal, t.num}
			if t.earlier {
				sql, args = `UPDATE revisions SET seal = ? WHERE summary = ? AND revision = ?`, append(args, t.revision)
			}
			if err := c.Exec(sql, args...); err != nil {
				return err
			}
			last = Hash(seal)
		}
		next, err := sqldb.Value[int64](c, `SELECT min(num) FROM summaries WHERE num > ?`, after+500)
		if err != nil || next == 0 {
			return err
		}
		after = next - 1
	}
}

// SaltHolds reports whether the salts are those that tombstones were made with.
func SaltHolds(c sqldb.Conn, salts [][]byte) (bool, error) {
	var have sum
	for _, salt := range salts {
		have.add(salt)
	}
	want, _, err := read(c, Salt)
	return have == want, err
}

// Faults checks the seals of sets of rows.
func Faults(c sqldb.Conn) (faults []store.Fault, err error) {
	stored, err := sqldb.Column[string](c, `SELECT name FROM seals`)
	if err != nil {
		return nil, err
	}
	erasures, err := sqldb.Column[int64](c, EverErased)
	if err != nil {
		return nil, err
	}
	names := append(stored, conversations, Salt)
	for _, id := range erasures {
		names = append(names, Erasure(id))
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		have, err := measure(c, name)
		if err != nil {
			return nil, err
		}
		want, _, err := read(c, name)
		if err != nil {
			return nil, err
		}
		if have != want {
			faults = append(faults, fault(name, have, want))
		}
	}
	return faults, nil
}

func fault(name string, have, want sum) store.Fault {
	id, isErasure := strings.CutPrefix(name, erasurePrefix)
	switch {
	case name == conversations && have.entries != want.entries:
		return store.Fault{Code: "conversation-list", Node: "the list of conversations",
			Detail: fmt.Sprintf("%d conversations were opened here, there are %d", want.entries, have.entries)}
	case name == conversations:
		return store.Fault{Code: "conversation-list", Node: "the list of conversations", Detail: "they are not those that were opened here"}
	case name == Salt:
		return store.Fault{Code: "tombstone-salt", Node: "the salt of the tombstones",
			Detail: "it is not the one that the tombstones were made with: messages that were erased would not be recognised"}
	case isErasure:
		return store.Fault{Code: "tombstones", Node: "tombstone " + id,
			Detail: fmt.Sprintf("it has %d hashes and sessions, %d were written, or they were changed: messages that were erased may come back", have.entries, want.entries)}
	}
	return store.Fault{Code: "tombstones", Node: "seal " + name, Detail: "it belongs to nothing"}
}
