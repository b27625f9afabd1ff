// Package seal proves the rows of the record.
//
// Every row of a [Table] has a seal: a hash of all its other columns. A row that is shown
// is checked against it, and a missing seal is damage like a wrong one. Rows that may not
// disappear are counted and summed up in the table seals: the conversations, the keys of
// the state, the salt, the erasures, what each erasure left, and the unfinished maps. Everything else is proved otherwise:
// messages also by the hash chain, content by its SHA-256, and the rest by computing it
// from the messages.
//
// A change of a row that was damaged before does not make it whole: see [Table.Keep].
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
)

// Table is a table whose rows have a seal.
type Table struct {
	name string
	from string // what its rows are read from
	keys []string
	// columns are those that the seal covers, in the order of the hash.
	columns []string
}

func table(name, from, keys, columns string) Table {
	return Table{name, from, strings.Fields(keys), strings.Fields(columns)}
}

// The tables. The numbers of summaries, payloads and branches are not part of their seals:
// the database gives them, and the rows that refer to them prove them.
var (
	Messages = table("messages", "messages m", "m.id",
		"m.id m.conversation m.seq m.role m.flags m.stored m.said m.tokens m.native m.format m.size m.sha256 m.chain m.record m.cuts m.body")
	// A conversation is sealed with the project that it belongs to.
	Conversations = table("conversations", "conversations c LEFT JOIN projects p ON p.id = c.project", "c.id",
		`c.id c.key c.segment c.agent p.origin p.root c.title c.parent c.forked_from c.forked_at c.created_at c.updated_at c.archived_at c.archive_cause
		c.messages c.summaries c.tokens c.bytes c.view_items c.view_tokens c.head c.base c.last_user c.inherited c.erased_at c.erased`)
	// A summary is sealed with the sum of its sources and the count of its earlier texts.
	Summaries = table("summaries", "summaries s", "s.num",
		`s.id s.conversation s.kind s.depth s.body s.tokens s.source_tokens s.descendants s.messages s.message_tokens s.earliest s.latest s.files
		s.level s.method s.model s.tokens_in s.tokens_out s.created_at s.revision s.retired s.pos s.sources s.earlier`)
	Revisions = table("revisions", "revisions r", "r.summary r.revision",
		"r.summary r.revision r.body r.tokens r.level r.method r.model r.tokens_in r.tokens_out r.replaced_at")
	Branches = table("branches", "branches b", "b.id", "b.conversation b.after b.cause b.created_at")
	Payloads = table("payloads", "payloads f", "f.num", "f.id f.sha256 f.size f.mime f.name f.path f.kind f.summary f.tokens f.created_at")
	State    = table("state", "state t", "t.space t.key", "t.space t.key t.version t.expires t.data")
	// The rows of the search index, which follows from the messages: what a seal shows is built again.
	Segments = table("segments", "segments g", "g.id", "g.lane g.docs g.first_id g.last_id g.text_bytes g.word_bytes g.gram_bytes g.doc_bytes")
	Lanes    = table("lanes", "lanes l", "l.lane", "l.lane l.epoch")
	MapRuns  = table("map_runs", "map_runs r", "r.id", "r.id r.conversation r.key r.job r.items")
	MapItems = table("map_items", "map_items i", "i.run i.n", "i.run i.n i.status i.attempts i.owner i.lease i.output i.error i.tokens_in i.tokens_out")
)

var tables = []Table{Messages, Conversations, Summaries, Revisions, Branches, Payloads, State, Segments, Lanes, MapRuns, MapItems}

// recordColumn is the column that is sealed as it came, and not in the form in which it is stored.
const recordColumn = "m.record"

// Columns selects the columns under the seal, and the seal after them.
func (t Table) Columns() string { return strings.Join(t.columns, ", ") + ", " + t.alias() + ".seal" }

// Len is the number of columns under the seal, and so the place of the seal after them.
func (t Table) Len() int { return len(t.columns) }

// Insert is a statement that adds a row, with the values of [Table.Row].
func (t Table) Insert() string {
	return "INSERT INTO " + t.name + " (" + plain(t.columns, ", ") + ", seal) VALUES (?" + strings.Repeat(", ?", len(t.columns)) + ")"
}

// Row returns the values of a row with their seal.
func (t Table) Row(values ...any) []any { return append(values, t.Of(values...)) }

func (t Table) alias() string { return t.keys[0][:1] }

// plain lists columns without the name of their table.
func plain(columns []string, between string) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c[2:]
	}
	return strings.Join(names, between)
}

// Size is the length of a seal.
const Size = 16

// Sum stands for bytes with this SHA-256.
type Sum [sha256.Size]byte

// Of returns the seal of a row with these values.
func (t Table) Of(values ...any) []byte {
	if len(values) != len(t.columns) {
		panic(fmt.Sprintf("a row of %s has %d values", t.name, len(values)))
	}
	h := hash(t.name, values)
	return h[:Size]
}

// hash hashes values so that no two lists of them are written alike, and a number, a text
// and bytes differ.
func hash(name string, values []any) [sha256.Size]byte {
	b := append(make([]byte, 0, 512), name...)
	for _, v := range values {
		b = appendValue(b, v)
	}
	return sha256.Sum256(b)
}

func appendValue(b []byte, v any) []byte {
	number := func(n int64) []byte { return binary.BigEndian.AppendUint64(append(b, 'i'), uint64(n)) }
	switch v := v.(type) {
	case nil:
		return append(b, 'n')
	case int64:
		return number(v)
	case int:
		return number(int64(v))
	case bool: // one backend has numbers
		if v {
			return number(1)
		}
		return number(0)
	case time.Time:
		if v.IsZero() {
			return append(b, 'n')
		}
		return number(v.UnixMilli())
	case string:
		return append(binary.BigEndian.AppendUint64(append(b, 's'), uint64(len(v))), v...)
	case Sum:
		return append(append(b, 'b'), v[:]...)
	case []byte:
		return appendValue(b, Sum(sha256.Sum256(v)))
	}
	panic(fmt.Sprintf("a value of type %T is not stored", v))
}

// Holds reports whether a row is as it was written. Its columns begin at from.
func (t Table) Holds(s sqldb.Row, from int) bool {
	return bytes.Equal(t.Of(t.values(s, from)...), s.ColumnRawBlob(from+len(t.columns)))
}

// HoldsRecord is Holds for a message whose record has a known SHA-256.
func HoldsRecord(s sqldb.Row, from int, record [sha256.Size]byte) bool {
	values := make([]any, len(Messages.columns))
	for i, name := range Messages.columns {
		if name == recordColumn {
			values[i] = Sum(record)
		} else {
			values[i] = s.ColumnValue(from + i)
		}
	}
	return bytes.Equal(Messages.Of(values...), s.ColumnRawBlob(from+len(values)))
}

func (t Table) values(s sqldb.Row, from int) []any {
	values := make([]any, len(t.columns))
	for i := range values {
		values[i] = s.ColumnValue(from + i)
		if t.columns[i] == recordColumn {
			values[i] = sqldb.Unpack(s.ColumnRawBlob(from + i))
		}
	}
	return values
}

// HoldsNamed is Holds for the columns of a row by their names. Tables without seals hold, and
// so do conversations, whose seals cover more.
func HoldsNamed(table string, columns []string, values []any) bool {
	seal, i := named(table, columns, values)
	if i < 0 {
		return seal == nil
	}
	have, _ := values[i].([]byte)
	return bytes.Equal(have, seal)
}

// Renew seals the columns of a row by their names, if it was whole before they were changed.
func Renew(table string, columns []string, values []any, whole bool) {
	if seal, i := named(table, columns, values); i >= 0 && seal != nil && whole {
		values[i] = seal
	}
}

// named returns the seal that a row should have, and its place.
func named(table string, columns []string, values []any) ([]byte, int) {
	at := slices.IndexFunc(tables, func(t Table) bool { return t.name == table && table != Conversations.name })
	if at < 0 {
		return nil, -1
	}
	under := make([]any, len(tables[at].columns))
	for i, c := range tables[at].columns {
		if n := slices.Index(columns, c[2:]); n >= 0 {
			under[i] = values[n]
		}
	}
	return tables[at].Of(under...), slices.Index(columns, "seal")
}

// row is a row of a table: its key, its seal as it should be, and whether that is the one it has.
type row struct {
	key   []any
	seal  []byte
	holds bool
}

// each reads the rows that meet a condition.
func (t Table) each(c sqldb.Conn, where string, args []any) ([]row, error) {
	sql := "SELECT " + strings.Join(t.keys, ", ") + ", " + t.Columns() + " FROM " + t.from + " WHERE " + where
	return sqldb.List(c, sql, func(s sqldb.Row) row {
		key := make([]any, len(t.keys))
		for i := range key {
			key[i] = s.ColumnValue(i)
		}
		return row{key, t.Of(t.values(s, len(key))...), t.Holds(s, len(key))}
	}, args...)
}

// Broken returns the keys of the rows that meet a condition and are not as they were
// written.
func (t Table) Broken(c sqldb.Conn, where string, args ...any) (keys [][]any, err error) {
	rows, err := t.each(c, where, args)
	for _, r := range rows {
		if !r.holds {
			keys = append(keys, r.key)
		}
	}
	return keys, err
}

// Again seals the rows that meet a condition as they are.
func (t Table) Again(c sqldb.Conn, where string, args ...any) error {
	rows, err := t.each(c, where, args)
	if err != nil {
		return err
	}
	sql := "UPDATE " + t.name + " SET seal = ? WHERE " + plain(t.keys, " = ? AND ") + " = ?"
	return sqldb.Each(rows, func(r row) error {
		if r.holds {
			return nil
		}
		return c.Exec(sql, append([]any{r.seal}, r.key...)...)
	})
}

// Keep runs a function that changes rows that meet a condition, and seals them again. Those
// that were damaged before stay so, unless the change makes them what they were.
func (t Table) Keep(c sqldb.Conn, where string, change func() error, args ...any) error {
	rows, err := t.each(c, where, args)
	if err == nil {
		err = change()
	}
	if err != nil {
		return err
	}
	where = strings.Join(t.keys, " = ? AND ") + " = ?"
	return sqldb.Each(rows, func(r row) error {
		if !r.holds {
			return nil
		}
		return t.Again(c, where, r.key...)
	})
}

// Sources returns the sum of the sources of a summary.
func Sources(c sqldb.Conn, num int64) (sum int64, err error) {
	err = c.Query(`SELECT ord, message, source FROM edges WHERE summary = ?`, func(s sqldb.Row) error {
		sum = Source(sum, s.ColumnInt64(0), s.ColumnInt64(1), s.ColumnInt64(2))
		return nil
	}, num)
	return sum, err
}

// Source adds a source of a summary to the sum of those before it.
func Source(sum, ord, message, source int64) int64 {
	return add(sum, digest(ord, message, source))
}
