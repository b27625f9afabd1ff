package move

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/record/archive"
	"github.com/lossless-context/lcm/internal/record/proof/seal"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/erase"
	"github.com/lossless-context/lcm/internal/record/sqldb/rows"
	"github.com/lossless-context/lcm/internal/record/sqldb/search"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Merged is the result of a merge.
type Merged struct {
	Added     int
	Grown     int   // conversations that exist here and got messages
	Messages  int64 // that were added
	Known     int   // conversations that exist here, whole
	Erasures  int   // erasures whose tombstones were copied
	Conflicts []Conflict
}

// Conflict is a conversation that could not be merged.
type Conflict struct {
	Key     string `json:"key"`
	Segment int    `json:"segment"`
	Why     string `json:"why"`
}

// conflict notes why a conversation, or something of it, is left out.
func (m *Merged) conflict(c rows.Row, why string) {
	m.Conflicts = append(m.Conflicts, Conflict{Key: c.Key, Segment: c.Segment, Why: why})
}

// Merge adds what a new database has and this one lacks. Conversations that exist here get
// the messages that are new, each conversation in a transaction, and summaries of them are
// made here. The others are added with all their rows, in one transaction. Messages get new ids; the ids of summaries and payloads
// stay. A conversation that was erased here is a conflict and left out.
//
// The tombstones of added and of unknown sessions are copied too. Sessions that
// exist here keep their own.
func Merge(ctx context.Context, f *dbfile.File, b *Built) (Merged, error) {
	return dbfile.WithFile(ctx, b.path, dbfile.Options{ReadOnly: true}, func(other *dbfile.File) (Merged, error) {
		m := &merging{}
		refused, err := refused(ctx, f, other)
		if err == nil {
			err = other.Reader(ctx, func(from *dbfile.Conn) error {
				g := &growing{here: &rows.Records{DB: f.DB()}, there: &rows.Records{DB: other.DB()}, from: from, same: map[int64]int64{}}
				if err := g.all(ctx); err != nil {
					return err
				}
				return f.Transact(ctx, func(c *dbfile.Conn) error {
					*m = merging{Conn: c, other: from, refused: refused, out: g.out}
					m.same = map[string]map[int64]int64{"conversations": g.same, "projects": {}, "payloads": {}}
					if err := m.sort(); err != nil {
						return err
					}
					return m.copy()
				})
			})
		}
		if err == nil {
			err = search.New(f.DB()).Reindex(ctx)
		}
		return m.out, err
	})
}

// refused returns the sessions of another database with messages that were
// erased here.
func refused(ctx context.Context, f *dbfile.File, other *dbfile.File) (map[string]bool, error) {
	records := &rows.Records{DB: other.DB()}
	list, err := records.Conversations(ctx, store.ConversationQuery{})
	if err != nil {
		return nil, err
	}
	refused := map[string]bool{}
	for _, c := range list {
		var failed error
		gone, err := erase.Eraser{DB: f.DB()}.Forgotten(ctx, c.Key, c.Project, func(yield func(store.Fingerprint) bool) {
			for m, err := range records.Messages(ctx, store.MessageQuery{Conversation: c.ID}) {
				n := store.NewMessage{Native: m.Native, SHA256: m.SHA256, Format: m.Format, Role: m.Body.Role}
				if !m.Body.Time.Equal(m.Stored) {
					n.Said = m.Body.Time
				}
				if failed = err; err != nil || !yield(fingerprint(ctx, records, m.ID, n)) {
					return
				}
			}
		})
		if err = errors.Join(err, failed); err != nil {
			return nil, err
		}
		refused[c.Key] = refused[c.Key] || slices.Contains(gone, true)
	}
	return refused, nil
}

// fingerprint is what a message is known by if it was erased.
func fingerprint(ctx context.Context, records *rows.Records, id store.MessageID, m store.NewMessage) store.Fingerprint {
	return store.Fingerprint{Native: m.Native, Said: m.Said, SHA256: m.SHA256, Content: func() (sum [32]byte, long bool) {
		record, _ := records.Record(ctx, id) // one that cannot be read has no content to be known by
		return store.ContentSum(m.Format, m.Role, record)
	}}
}

// merging is one merge inside a transaction.
type merging struct {
	*dbfile.Conn
	other   *dbfile.Conn
	out     Merged
	refused map[string]bool
	chosen  []store.ConversationID     // of the other database, to be added
	keys    []string                   // their sessions
	damaged []store.ConversationID     // those of them whose row is not the one that was written
	numbers map[string]int64           // for each table the highest number in use here
	same    map[string]map[int64]int64 // rows that are here, by their number there
}

// unerased selects the conversations that have messages, origins before their forks.
var unerased = `SELECT` + rows.ConversationColumns + ` WHERE c.erased_at IS NULL ORDER BY c.id`

// sort separates conversations that are added from conflicts.
func (m *merging) sort() error {
	all, err := sqldb.List(m.other, unerased, rows.ScanConversation)
	if err != nil {
		return err
	}
	m.chosen = []store.ConversationID{} // nil stands for all
	for _, c := range all {
		if m.same["conversations"][int64(c.ID)] != 0 {
			continue
		}
		why, err := m.conflict(c)
		switch {
		case err != nil:
			return err
		case why != "":
			m.out.conflict(c, why)
		default:
			m.out.Added++
			m.out.Messages += c.Messages
			m.chosen, m.keys = append(m.chosen, c.ID), append(m.keys, c.Key)
			if c.Damaged {
				m.damaged = append(m.damaged, c.ID)
			}
		}
	}
	return nil
}

// conflict says why a conversation cannot be added.
func (m *merging) conflict(c rows.Row) (why string, err error) {
	erased, err := m.Has(`SELECT 1 FROM conversations WHERE key = ? AND segment = ?`, c.Key, c.Segment)
	active := false
	if err == nil && c.ArchivedAt.IsZero() {
		active, err = m.Has(`SELECT 1 FROM conversations WHERE key = ? AND archived_at IS NULL`, c.Key)
	}
	switch {
	case err != nil:
	case erased:
		why = "it was erased here: `lcm forget --list` shows it"
	case m.refused[c.Key]:
		why = "something of it was erased here: `lcm forget --list` shows it"
	case active:
		why = "another segment of the session is active here"
	case c.ForkedFrom != 0 && !slices.Contains(m.chosen, c.ForkedFrom): // its items belong to the origin
		why = "it was forked from a message that is not here"
	}
	return why, err
}

// copy adds the rows. Numbers move up by the highest in use here.
func (m *merging) copy() error {
	m.numbers = map[string]int64{}
	for _, t := range tables {
		first, numbers, _ := strings.Cut(strings.SplitN(t.ids, " ", 2)[0], "=")
		if numbers != t.name {
			continue
		}
		highest, err := sqldb.Value[int64](m.Conn, `SELECT max(`+first+`) FROM `+t.name)
		if t.name == "erasures" && err == nil { // a number is not given twice
			highest, err = sqldb.Value[int64](m.Conn, `SELECT max(seq) FROM sqlite_sequence WHERE name = 'erasures'`)
		}
		if err != nil {
			return err
		}
		m.numbers[t.name] = highest
	}
	keys, err := m.newTombstones()
	if err != nil {
		return err
	}
	list := slices.Clone(tables)
	for i, t := range list {
		if t.name == "erasures" || t.name == "forgotten" || t.name == "tombstones" {
			list[i].some = strings.ReplaceAll(t.some, chosenKeys, keys)
		}
	}
	schema, err := dbfile.Schema()
	if err != nil {
		return err
	}
	l := &loader{m.Conn, schema}
	err = seal.Change(m.Conn, seal.Salt, func() error {
		return readTables(m.other, list, m.chosen, func(r archive.Row) error {
			holds := seal.HoldsNamed(r.Table, r.Columns, r.Values)
			skip, err := m.renumber(r)
			if err != nil || skip {
				return err
			}
			seal.Renew(r.Table, r.Columns, r.Values, holds)
			return l.row(r)
		})
	})
	if err != nil {
		return fmt.Errorf("merge: %w", err)
	}
	return m.seal()
}

// newTombstones selects the sessions whose tombstones are copied.
func (m *merging) newTombstones() (string, error) {
	all, err := sqldb.Column[string](m.other, `SELECT DISTINCT key FROM forgotten`)
	if err != nil {
		return "", err
	}
	keys := []string{}
	for _, key := range all {
		here, err := m.Has(`SELECT 1 FROM forgotten WHERE key = ?1 UNION ALL SELECT 1 FROM conversations WHERE key = ?1 AND ?2`, key, !slices.Contains(m.keys, key))
		if err != nil {
			return "", err
		}
		if !here {
			keys = append(keys, sqlite3.Quote(key))
		}
	}
	return "(" + strings.Join(keys, ", ") + ")", nil
}

// renumber gives a row the numbers that it has here. It skips a row that is here.
func (m *merging) renumber(r archive.Row) (skip bool, err error) {
	value := func(column string) any { return r.Values[slices.Index(r.Columns, column)] }
	here, same := int64(0), false
	switch r.Table {
	case "projects":
		same, err = m.One(`SELECT id FROM projects WHERE origin = ? AND root = ?`, sqldb.Into(&here), value("origin"), value("root"))
	case "payloads":
		// The same content is the same payload. Other content with the same id, of 16
		// digits of a hash, fails, and with it the merge.
		same, err = m.One(`SELECT num FROM payloads WHERE sha256 = ?`, sqldb.Into(&here), value("sha256"))
	case "chunks":
		_, same = m.same["payloads"][value("payload").(int64)]
		return same, nil
	case "tombstone_salt":
		return m.Has(`SELECT 1 FROM tombstone_salt WHERE salt = ? UNION ALL SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM erasures WHERE id > ?)`, value("salt"), m.numbers["erasures"])
	}
	if err != nil {
		return false, err
	}
	if same {
		m.same[r.Table][r.Values[0].(int64)] = here
		return true, nil
	}
	i := slices.IndexFunc(tables, func(t table) bool { return t.name == r.Table })
	for _, id := range strings.Fields(tables[i].ids) {
		column, of, _ := strings.Cut(id, "=")
		at := slices.Index(r.Columns, column)
		n, is := r.Values[at].(int64)
		if known, ok := m.same[of][n]; ok {
			r.Values[at] = known
		} else if column == "parent" && !slices.Contains(m.chosen, store.ConversationID(n)) {
			r.Values[at] = nil
		} else if is {
			r.Values[at] = n + m.numbers[of]
		}
	}
	return false, nil
}

// seal lists and seals the conversations, summaries and erasures that were added, which have
// other numbers here, unless they are damaged in the other database.
func (m *merging) seal() error {
	each := func(table, number string, visit func(id int64) error) error {
		added, err := sqldb.Column[int64](m.Conn, `SELECT `+number+` FROM `+table+` WHERE `+number+` > ?`, m.numbers[table])
		if err != nil {
			return err
		}
		return sqldb.Each(added, visit)
	}
	err := each("conversations", "id", func(id int64) error {
		if slices.Contains(m.damaged, store.ConversationID(id-m.numbers["conversations"])) {
			return seal.Opened(m.Conn, id)
		}
		return errors.Join(seal.Conversations.Again(m.Conn, "c.id = ?", id), seal.Opened(m.Conn, id))
	})
	if err != nil {
		return err
	}
	err = seal.Summaries.Keep(m.Conn, "s.num > ?", func() error {
		return each("summaries", "num", func(num int64) error {
			sources, err := seal.Sources(m.Conn, num)
			if err != nil {
				return err
			}
			return m.Exec(`UPDATE summaries SET sources = ? WHERE num = ?`, sources, num)
		})
	}, m.numbers["summaries"])
	if err != nil {
		return err
	}
	return each("erasures", "id", func(id int64) error {
		m.out.Erasures++
		return seal.Erased(m.Conn, id)
	})
}
