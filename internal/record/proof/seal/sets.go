package seal

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
)

// The names of the sets of rows. Each erasure has one more, see [Erasure].
const (
	conversations = "conversations"
	erasures      = "erasures"
	Values        = "state"
	Salt          = "salt"
	Maps          = "maps"
)

const erasurePrefix = "erasure/"

// Erasure names the seal of an erasure and its tombstones.
func Erasure(id int64) string { return fmt.Sprint(erasurePrefix, id) }

// Recorded selects the values of the state t that are part of the record. The others are
// those of processes.
const Recorded = `t.space <> '` + store.LeaseSpace + `'`

// modulus keeps a sum of two digests within the integers of both backends.
const modulus = 1<<61 - 1

func short(hash []byte) int64 { return int64(binary.BigEndian.Uint64(hash) % modulus) }

func add(a, b int64) int64 { return (a + b) % modulus }

// sum is the value of a seal of a set.
type sum struct{ entries, digest int64 }

func (s *sum) add(digest int64) { s.entries, s.digest = s.entries+1, add(s.digest, digest) }

// digest is the digest of a row of a set.
func digest(values ...any) int64 {
	h := hash("", values)
	return short(h[:])
}

// rows are the queries for the rows under a seal, and the argument of each.
func rows(name string) (queries []string, args []any) {
	switch name {
	case conversations:
		return []string{`SELECT id FROM conversations`}, nil
	case erasures:
		return []string{`SELECT id FROM erasures`}, nil
	case Values:
		return []string{`SELECT t.space, t.key FROM state t WHERE ` + Recorded}, nil
	case Maps:
		return []string{`SELECT id FROM map_runs`}, nil
	case Salt:
		return []string{`SELECT salt FROM tombstone_salt`}, nil
	}
	var id int64
	if _, err := fmt.Sscanf(strings.TrimPrefix(name, erasurePrefix), "%d", &id); err != nil {
		return nil, nil
	}
	return []string{`SELECT cause, created_at, messages, bytes, finished FROM erasures WHERE id = ?`, `SELECT hash, n FROM tombstones WHERE erasure = ?`,
		`SELECT key, messages, through FROM forgotten WHERE erasure = ?`}, []any{id}
}

// measure sums the rows under a seal.
func measure(c sqldb.Conn, name string) (sum, error) {
	queries, args := rows(name)
	return sumUp(c, queries, args, digest)
}

func sumUp(c sqldb.Conn, queries []string, args []any, digest func(values ...any) int64) (s sum, err error) {
	for _, sql := range queries {
		columns := 1 + strings.Count(sql[:strings.Index(sql, " FROM")], ",")
		err := c.Query(sql, func(r sqldb.Row) error {
			values := make([]any, columns)
			for i := range values {
				values[i] = r.ColumnValue(i)
			}
			s.add(digest(values...))
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

// Broken reports whether rows are not those that were sealed.
func Broken(c sqldb.Conn, name string) (bool, error) {
	have, err := measure(c, name)
	if err != nil {
		return false, err
	}
	want, found, err := read(c, name)
	return have != want || !found, err
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

// Lifted removes the seal of an erasure that was lifted. Once nothing is erased any more,
// the salt is sealed again: no tombstone depends on it.
func Lifted(c sqldb.Conn, erasure int64) error {
	err := c.Exec(`DELETE FROM seals WHERE name = ?`, Erasure(erasure))
	if err == nil {
		err = list(c, erasures, -1, modulus-digest(erasure))
	}
	if err != nil {
		return err
	}
	if left, err := c.Has(EverErased); err != nil || left {
		return err
	}
	return Set(c, Salt)
}

// Opened adds a conversation to the list.
func Opened(c sqldb.Conn, id int64) error { return list(c, conversations, 1, digest(id)) }

// Erased seals an erasure, and adds it to the list.
func Erased(c sqldb.Conn, id int64) error {
	if err := Set(c, Erasure(id)); err != nil {
		return err
	}
	return list(c, erasures, 1, digest(id))
}

// Noted adds a value of the state to the list.
func Noted(c sqldb.Conn, space, key string) error {
	if space == store.LeaseSpace {
		return nil
	}
	return list(c, Values, 1, digest(space, key))
}

// Started adds an unfinished map to the list.
func Started(c sqldb.Conn, run int64) error { return list(c, Maps, 1, digest(run)) }

// Ended takes a map from the list.
func Ended(c sqldb.Conn, run int64) error { return list(c, Maps, -1, modulus-digest(run)) }

// Convert finishes the conversion of a database of the version before. Its records stay as
// they are, but for those that look as if they were compressed.
func Convert(c sqldb.Conn) error {
	type message struct {
		id     int64
		record []byte
	}
	alike, err := sqldb.List(c, `SELECT id, record FROM messages WHERE substr(record, 1, 4) = ?`, func(s sqldb.Row) message {
		return message{s.ColumnInt64(0), sqldb.Pack(s.ColumnBlob(1, nil))}
	}, []byte(sqldb.PackMark))
	if err != nil {
		return err
	}
	return sqldb.Steps(
		func() error {
			return sqldb.Each(alike, func(m message) error { return c.Exec(`UPDATE messages SET record = ? WHERE id = ?`, m.record, m.id) })
		},
		func() error {
			return c.Exec(`DELETE FROM projects WHERE ` + Unused)
		},
		func() error { return Segments.Again(c, "TRUE") },
		func() error { return Lanes.Again(c, "TRUE") })
}

// list changes a seal by the difference of a row, so that it costs one more statement, and a
// sum that was wrong once stays wrong.
func list(c sqldb.Conn, name string, entries, digest int64) error {
	return c.Exec(`UPDATE seals SET entries = entries + ?, digest = (digest + ?) % ? WHERE name = ?`, entries, digest, int64(modulus), name)
}

// EverErased selects the erasures that anything is left of.
const EverErased = `SELECT id FROM erasures UNION SELECT erasure FROM forgotten UNION SELECT erasure FROM tombstones`

// names lists the seals that there should be.
func names(c sqldb.Conn) ([]string, error) {
	all := []string{conversations, Values, Salt, Maps, erasures}
	ids, err := sqldb.Column[int64](c, EverErased)
	for _, id := range ids {
		all = append(all, Erasure(id))
	}
	return all, err
}

// Fill seals the sets of rows as they are.
func Fill(c sqldb.Conn) error {
	all, err := names(c)
	if err != nil {
		return err
	}
	return sqldb.Steps(func() error { return Lanes.Again(c, "TRUE") }, func() error { return sqldb.Each(all, func(name string) error { return Set(c, name) }) })
}

// SaltHolds reports whether the salts are those that tombstones were made with.
func SaltHolds(c sqldb.Conn, salts [][]byte) (bool, error) {
	var have sum
	for _, salt := range salts {
		have.add(digest(salt))
	}
	want, _, err := read(c, Salt)
	return have == want, err
}

// Faults checks the seals of sets of rows, and the rows that belong to no conversation.
func Faults(c sqldb.Conn) (faults []store.Fault, err error) {
	all, err := sqldb.Column[string](c, `SELECT name FROM seals`)
	if err != nil {
		return nil, err
	}
	due, err := names(c)
	if err != nil {
		return nil, err
	}
	all = append(all, due...)
	slices.Sort(all)
	for _, name := range slices.Compact(all) {
		have, err := measure(c, name)
		if err != nil {
			return nil, err
		}
		want, found, err := read(c, name)
		if err != nil {
			return nil, err
		}
		if have != want || !found || !slices.Contains(due, name) {
			faults = append(faults, fault(name, have, want))
		}
	}
	payloads, err := Payloads.Broken(c, "TRUE")
	if err != nil {
		return nil, err
	}
	for _, key := range payloads {
		id, err := sqldb.Value[string](c, `SELECT id FROM payloads WHERE num = ?`, key[0])
		if err != nil {
			return nil, err
		}
		faults = append(faults, store.Fault{Code: "payload-about", Node: id, Detail: "its name, type, description, size or time is not the one that it was stored with"})
	}
	values, err := State.Broken(c, "TRUE")
	for _, key := range values {
		code := "state"
		if key[0] == store.LeaseSpace {
			code = "lease"
		}
		faults = append(faults, store.Fault{Code: code, Node: fmt.Sprintf("%v/%v", key...), Detail: "it is not the value that was stored"})
	}
	if err != nil {
		return nil, err
	}
	for _, more := range []func(sqldb.Conn) ([]store.Fault, error){IndexFaults, unusedFaults, mapFaults} {
		found, err := more(c)
		if faults = append(faults, found...); err != nil {
			return faults, err
		}
	}
	return faults, nil
}

// IndexFaults checks the rows of the search index.
func IndexFaults(c sqldb.Conn) (faults []store.Fault, err error) {
	for _, t := range []Table{Segments, Lanes} {
		broken, err := t.Broken(c, "TRUE")
		for _, key := range broken {
			faults = append(faults, store.Fault{Code: "search-index", Node: fmt.Sprintf("row %d of table %s", key[0], t.name), Detail: "it is not the one that was written"})
		}
		if err != nil {
			return faults, err
		}
	}
	return faults, nil
}

// Unused selects the projects that no conversation belongs to.
const Unused = `id NOT IN (SELECT project FROM conversations)`

// unusedFaults finds rows that nothing which is proved depends on: the seal of a conversation
// covers its project, and the hash of a payload whether its chunks are compressed.
func unusedFaults(c sqldb.Conn) (faults []store.Fault, err error) {
	for _, look := range []struct{ code, node, detail, sql string }{
		{"project", "project", "no conversation belongs to it", `SELECT id FROM projects WHERE ` + Unused},
		{"payload-numbers", "payload number", "it is marked neither as compressed nor as not", `SELECT DISTINCT payload FROM chunks WHERE compressed NOT IN (TRUE, FALSE)`},
	} {
		ids, err := sqldb.Column[int64](c, look.sql)
		for _, id := range ids {
			faults = append(faults, store.Fault{Code: look.code, Node: fmt.Sprintf("%s %d", look.node, id), Detail: look.detail})
		}
		if err != nil {
			return faults, err
		}
	}
	return faults, nil
}

// mapFaults checks the rows of the unfinished maps, and that each map has all its items.
func mapFaults(c sqldb.Conn) (faults []store.Fault, err error) {
	fault := func(detail, format string, args ...any) {
		faults = append(faults, store.Fault{Code: "map", Node: fmt.Sprintf(format, args...), Detail: detail})
	}
	runs, err := MapRuns.Broken(c, "TRUE")
	for _, key := range runs {
		fault("its session, its key, its job or its number of items is not the one that was written", "map %d", key...)
	}
	if err != nil {
		return nil, err
	}
	items, err := MapItems.Broken(c, "TRUE")
	for _, key := range items {
		fault("its result, its state or its number is not the one that was written", "item %[2]d of map %[1]d", key...)
	}
	if err != nil {
		return nil, err
	}
	err = c.Query(IncompleteMaps, func(s sqldb.Row) error {
		fault(fmt.Sprintf("it has %d items, there are %d, or others", s.ColumnInt64(1), s.ColumnInt64(2)), "the items of map %d", s.ColumnInt64(0))
		return nil
	})
	return faults, err
}

// IncompleteMaps selects the maps that have not the items 0, 1, … that their rows name, with
// the number that they should have and the number that they have. It counts seals, which are
// in no index: a damaged table may have fewer rows than its indexes.
const IncompleteMaps = `
	SELECT r.id, r.items, count(i.seal) FROM map_runs r LEFT JOIN map_items i ON i.run = r.id
	GROUP BY r.id, r.items HAVING count(i.seal) <> r.items OR min(i.n) < 0 OR max(i.n) >= r.items ORDER BY r.id`

func fault(name string, have, want sum) store.Fault {
	id, isErasure := strings.CutPrefix(name, erasurePrefix)
	switch {
	case name == conversations && have.entries != want.entries:
		return store.Fault{Code: "conversation-list", Node: "the list of conversations",
			Detail: fmt.Sprintf("%d conversations were opened here, there are %d", want.entries, have.entries)}
	case name == conversations:
		return store.Fault{Code: "conversation-list", Node: "the list of conversations", Detail: "they are not those that were opened here"}
	case name == erasures:
		return store.Fault{Code: "tombstones", Node: "the list of erasures",
			Detail: fmt.Sprintf("there were %d erasures, there are %d, or they are others: messages that were erased may come back", want.entries, have.entries)}
	case name == Values:
		return store.Fault{Code: "state", Node: "the list of values", Detail: fmt.Sprintf("%d values were stored, there are %d, or they are others", want.entries, have.entries)}
	case name == Maps:
		return store.Fault{Code: "map", Node: "the list of maps", Detail: fmt.Sprintf("%d maps are unfinished, there are %d, or they are others", want.entries, have.entries)}
	case name == Salt:
		return store.Fault{Code: "tombstone-salt", Node: "the salt of the tombstones",
			Detail: "it is not the one that the tombstones were made with: messages that were erased would not be recognised"}
	case isErasure:
		return store.Fault{Code: "tombstones", Node: "tombstone " + id,
			Detail: fmt.Sprintf("it has %d rows, %d were written, or they were changed: messages that were erased may come back", have.entries, want.entries)}
	}
	return store.Fault{Code: "tombstones", Node: "seal " + name, Detail: "it belongs to nothing"}
}
