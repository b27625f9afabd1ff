package archive

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/erase"
	"github.com/lossless-context/lcm/internal/record/sqldb/record"
	"github.com/lossless-context/lcm/internal/record/sqldb/seal"
	"github.com/lossless-context/lcm/internal/record/sqldb/search"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Merged is the result of a merge.
type Merged struct {
	Added     int
	Messages  int64 // of those that were added
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

// Merge adds the conversations of a scratch database that this one lacks, with
// all their rows, in one transaction. Messages get new ids; the ids of
// summaries and payloads stay. A conversation that exists here with the same
// messages or more is known. One with other messages, or one that was erased
// here, is a conflict: Merge then adds nothing, unless skip leaves conflicts
// out.
//
// The tombstones of added and of unknown sessions are copied too. Sessions that
// exist here keep their own.
func Merge(ctx context.Context, f *dbfile.File, s *Scratch, skip bool) (Merged, error) {
	var out Merged
	refused, err := dbfile.WithFile(ctx, s.path, dbfile.Options{ReadOnly: true}, func(other *dbfile.File) (map[string]bool, error) {
		return refused(ctx, f, other)
	})
	if err != nil {
		return out, err
	}
	err = f.Writer(ctx, func(c *dbfile.Conn) (err error) {
		// A transaction cannot attach a database.
		if err := c.Exec(`ATTACH ? AS other`, s.path); err != nil {
			return err
		}
		defer func() {
			err = errors.Join(err, dbfile.ForgetStatements(c, "other."), c.Script(`DETACH other`))
		}()
		return c.Write(func() error {
			m := &merging{Conn: c, out: &out, refused: refused}
			if err := m.sort(); err != nil {
				return err
			}
			if len(out.Conflicts) > 0 && !skip {
				return errConflict
			}
			return m.copy()
		})
	})
	if errors.Is(err, errConflict) {
		f := out.Conflicts[0]
		err = &hint.Error{Err: fmt.Errorf("%d conversations cannot be merged, the first is %q: %s", len(out.Conflicts), f.Key, f.Why),
			Hint: "nothing was imported; --skip-conflicts imports the others, or import into an empty database (--db)"}
	}
	if err == nil {
		err = search.New(f.DB()).Reindex(ctx)
	}
	return out, err
}

var errConflict = errors.New("there are conflicts")

// refused returns the sessions of another database with messages that were
// erased here.
func refused(ctx context.Context, f *dbfile.File, other *dbfile.File) (map[string]bool, error) {
	records := &record.Records{DB: other.DB()}
	list, err := records.Conversations(ctx, store.ConversationQuery{})
	if err != nil {
		return nil, err
	}
	refused := map[string]bool{}
	for _, c := range list {
		var failed error
		gone, err := erase.Eraser{DB: f.DB()}.Forgotten(ctx, c.Key, c.Project, fingerprints(ctx, records, c.ID, &failed))
		if err = errors.Join(err, failed); err != nil {
			return nil, err
		}
		for _, g := range gone {
			refused[c.Key] = refused[c.Key] || g
		}
	}
	return refused, nil
}

func fingerprints(ctx context.Context, records *record.Records, id store.ConversationID, failed *error) iter.Seq[store.Fingerprint] {
	return func(yield func(store.Fingerprint) bool) {
		for m, err := range records.Messages(ctx, store.MessageQuery{Conversation: id}) {
			if err != nil {
				*failed = err
				return
			}
			f := store.Fingerprint{Native: m.Native, SHA256: m.SHA256, Content: func() (sum [32]byte, long bool) {
				record, err := records.Record(ctx, m.ID)
				if err != nil {
					return sum, false // the content is unknown
				}
				return store.ContentSum(m.Format, m.Body.Role, record)
			}}
			if !m.Body.Time.Equal(m.Stored) {
				f.Said = m.Body.Time
			}
			if !yield(f) {
				return
			}
		}
	}
}

// merging is one merge inside a transaction. The temporary table merging holds
// the ids of the conversations to add.
type merging struct {
	*dbfile.Conn
	out     *Merged
	refused map[string]bool
}

// sort separates new conversations from known ones and conflicts.
func (m *merging) sort() error {
	if err := m.Script(`CREATE TEMP TABLE IF NOT EXISTS merging (id INTEGER PRIMARY KEY); DELETE FROM temp.merging`); err != nil {
		return err
	}
	type candidate struct {
		id       int64
		key      string
		segment  int
		messages int64
		same     bool // exists here, with the same messages or more
		here     bool
		active   bool // both databases have an active segment of the key
		erased   bool // was erased here
	}
	all, err := sqldb.List(m.Conn, `
		SELECT o.id, o.key, o.segment, o.messages, h.id IS NOT NULL,
		       o.messages = 0 OR h.head = o.head OR EXISTS (
		           SELECT 1 FROM messages x WHERE x.conversation = h.id AND x.seq = o.messages AND x.chain = o.head),
		       o.archived_at IS NULL AND EXISTS (SELECT 1 FROM conversations a WHERE a.key = o.key AND a.archived_at IS NULL),
		       h.erased_at IS NOT NULL
		FROM other.conversations o LEFT JOIN conversations h ON h.key = o.key AND h.segment = o.segment
		WHERE o.erased_at IS NULL ORDER BY o.id`, func(s sqldb.Row) candidate {
		return candidate{
			id: s.ColumnInt64(0), key: s.ColumnText(1), segment: s.ColumnInt(2), messages: s.ColumnInt64(3),
			here: s.ColumnBool(4), same: s.ColumnBool(5), active: s.ColumnBool(6), erased: s.ColumnBool(7),
		}
	})
	if err != nil {
		return err
	}
	for _, c := range all {
		why := ""
		switch {
		case c.erased:
			why = "it was erased here: `lcm forget --list` shows it"
		case c.here && c.same:
			m.out.Known++
			continue
		case c.here:
			why = "it is here with other messages"
		case m.refused[c.key]:
			why = "something of it was erased here: `lcm forget --list` shows it"
		case c.active:
			why = "another segment of the session is active here"
		}
		if why != "" {
			m.out.Conflicts = append(m.out.Conflicts, Conflict{Key: c.key, Segment: c.segment, Why: why})
			continue
		}
		m.out.Added++
		m.out.Messages += c.messages
		if err := m.Exec(`INSERT INTO temp.merging VALUES (?)`, c.id); err != nil {
			return err
		}
	}
	return m.dependants()
}

// dependants leaves out forks of conversations that are not added: their items
// belong to the origin.
func (m *merging) dependants() error {
	for {
		var left []Conflict
		var ids []int64
		err := m.Query(`
			SELECT o.id, o.key, o.segment, o.messages FROM temp.merging t JOIN other.conversations o ON o.id = t.id
			WHERE o.forked_from IS NOT NULL AND o.forked_from NOT IN (SELECT id FROM temp.merging)`, func(s sqldb.Row) error {
			ids = append(ids, s.ColumnInt64(0))
			left = append(left, Conflict{Key: s.ColumnText(1), Segment: s.ColumnInt(2), Why: "it was forked from a conversation that is not added with it: that is here under other numbers, or was erased"})
			m.out.Added--
			m.out.Messages -= s.ColumnInt64(3)
			return nil
		})
		if err != nil || len(ids) == 0 {
			return err
		}
		m.out.Conflicts = append(m.out.Conflicts, left...)
		if err := sqldb.Each(ids, func(id int64) error { return m.Exec(`DELETE FROM temp.merging WHERE id = ?`, id) }); err != nil {
			return err
		}
	}
}

// copy adds the rows. Ids move up by the highest id in use here.
func (m *merging) copy() error {
	var offsets struct{ c, m, s, b, p, e int64 }
	_, err := m.One(`
		SELECT (SELECT max(id) FROM conversations), (SELECT max(id) FROM messages), (SELECT max(num) FROM summaries), (SELECT max(id) FROM branches),
		       (SELECT max(num) FROM payloads), (SELECT seq FROM sqlite_sequence WHERE name = 'erasures')`,
		sqldb.Into(&offsets.c, &offsets.m, &offsets.s, &offsets.b, &offsets.p, &offsets.e))
	if err != nil {
		return err
	}
	if err := m.Script(`PRAGMA defer_foreign_keys=ON`); err != nil { // a fork refers to messages, and they to it
		return err
	}
	// Longer names come first: $CHOSEN begins with $C.
	fill := strings.NewReplacer("$CHOSEN", "(SELECT id FROM temp.merging)",
		"$SUMS", "(SELECT num FROM other.summaries WHERE conversation IN (SELECT id FROM temp.merging))",
		"$KEYS", newTombstoneKeys, "$E", fmt.Sprint(offsets.e), "$C", fmt.Sprint(offsets.c), "$M", fmt.Sprint(offsets.m), "$S", fmt.Sprint(offsets.s), "$B", fmt.Sprint(offsets.b), "$P", fmt.Sprint(offsets.p))
	add := func() error {
		for _, sql := range mergeSQL {
			if err := m.Script(fill.Replace(sql)); err != nil {
				return fmt.Errorf("merge: %w", err)
			}
		}
		return nil
	}
	if err := seal.Change(m.Conn, seal.Salt, add); err != nil {
		return err
	}
	if err := m.seal(offsets.c, offsets.e); err != nil {
		return err
	}
	_, err = m.One(`SELECT count(*) FROM erasures WHERE id > ?`, sqldb.Into(&m.out.Erasures), offsets.e)
	return err
}

// seal seals the conversations and erasures that were added, which have other numbers here.
func (m *merging) seal(conversation, erasure int64) error {
	for _, added := range []struct {
		list  string
		after int64
		seal  func(sqldb.Conn, int64) error
	}{
		{`SELECT id FROM conversations WHERE id > ?`, conversation, seal.Opened},
		{`SELECT id FROM erasures WHERE id > ?`, erasure, seal.Erased},
	} {
		ids, err := sqldb.Column[int64](m.Conn, added.list, added.after)
		if err == nil {
			err = sqldb.Each(ids, func(id int64) error { return added.seal(m.Conn, id) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// newTombstoneKeys selects the sessions whose tombstones are copied.
const newTombstoneKeys = `(SELECT f.key FROM other.forgotten f WHERE f.key NOT IN (SELECT key FROM main.forgotten) AND (
	f.key IN (SELECT key FROM other.conversations WHERE id IN (SELECT id FROM temp.merging)) OR f.key NOT IN (SELECT key FROM main.conversations)))`

// mergeSQL copies the tables of a conversation, one after the other.
var mergeSQL = []string{
	`INSERT INTO projects (origin, root) SELECT p.origin, p.root FROM other.projects p WHERE p.id IN (SELECT project FROM other.conversations WHERE id IN $CHOSEN)
		ON CONFLICT DO NOTHING`,
	`INSERT INTO conversations (id, key, segment, agent, project, title, parent, forked_from, forked_at, inherited, created_at, updated_at, archived_at,
			archive_cause, messages, summaries, tokens, bytes, head, base, view_items, view_tokens, last_user, erased)
		SELECT o.id + $C, o.key, o.segment, o.agent, (SELECT h.id FROM projects h JOIN other.projects p ON p.origin = h.origin AND p.root = h.root WHERE p.id = o.project),
			o.title, iif(o.parent IN $CHOSEN, o.parent + $C, NULL), o.forked_from + $C, o.forked_at + $M, o.inherited, o.created_at, o.updated_at, o.archived_at,
			o.archive_cause, o.messages, o.summaries, o.tokens, o.bytes, o.head, o.base, o.view_items, o.view_tokens, o.last_user, o.erased
		FROM other.conversations o WHERE o.id IN $CHOSEN`,
	`INSERT INTO messages (id, conversation, seq, role, flags, stored, said, tokens, native, format, size, sha256, chain, record, cuts, body)
		SELECT id + $M, conversation + $C, seq, role, flags, stored, said, tokens, native, format, size, sha256, chain, record, cuts, body
		FROM other.messages WHERE conversation IN $CHOSEN ORDER BY id`,
	`INSERT INTO summaries (num, id, conversation, kind, depth, pos, body, tokens, source_tokens, descendants, messages, message_tokens, earliest, latest, files,
			level, method, model, tokens_in, tokens_out, created_at, revision, retired, seal)
		SELECT num + $S, id, conversation + $C, kind, depth, pos, body, tokens, source_tokens, descendants, messages, message_tokens, earliest, latest, files,
			level, method, model, tokens_in, tokens_out, created_at, revision, retired, seal
		FROM other.summaries WHERE conversation IN $CHOSEN ORDER BY num`,
	`INSERT INTO edges (summary, ord, message, source) SELECT summary + $S, ord, message + $M, source + $S FROM other.edges WHERE summary IN $SUMS`,
	`INSERT INTO revisions (summary, revision, body, tokens, level, method, model, tokens_in, tokens_out, replaced_at, seal)
		SELECT summary + $S, revision, body, tokens, level, method, model, tokens_in, tokens_out, replaced_at, seal FROM other.revisions WHERE summary IN $SUMS`,
	`INSERT INTO view (conversation, pos, message, summary, tokens, role, depth, stub, links)
		SELECT conversation + $C, pos, message + $M, summary + $S, tokens, role, depth, stub, links FROM other.view WHERE conversation IN $CHOSEN`,
	`INSERT INTO branches (id, conversation, after, cause, created_at)
		SELECT id + $B, conversation + $C, after + $M, cause, created_at FROM other.branches WHERE conversation IN $CHOSEN`,
	`INSERT INTO branch_items (branch, pos, message, summary)
		SELECT i.branch + $B, i.pos, i.message + $M, i.summary + $S FROM other.branch_items i JOIN other.branches b ON b.id = i.branch WHERE b.conversation IN $CHOSEN`,
	// The same content is the same payload. Other content with the same id, of
	// 16 digits of a hash, fails here, and with it the merge.
	`INSERT INTO payloads (num, id, sha256, size, mime, name, path, kind, summary, tokens, created_at)
		SELECT o.num + $P, o.id, o.sha256, o.size, o.mime, o.name, o.path, o.kind, o.summary, o.tokens, o.created_at FROM other.payloads o
		WHERE o.sha256 NOT IN (SELECT sha256 FROM payloads) AND o.num IN (
			SELECT mp.payload FROM other.message_payloads mp JOIN other.messages m ON m.id = mp.message WHERE m.conversation IN $CHOSEN)`,
	`INSERT INTO chunks (payload, n, compressed, data)
		SELECT k.payload + $P, k.n, k.compressed, k.data FROM other.chunks k WHERE k.payload + $P IN (SELECT num FROM payloads WHERE num > $P)`,
	`INSERT INTO message_payloads (message, payload)
		SELECT mp.message + $M, h.num FROM other.message_payloads mp JOIN other.payloads o ON o.num = mp.payload JOIN payloads h ON h.sha256 = o.sha256
		JOIN other.messages m ON m.id = mp.message WHERE m.conversation IN $CHOSEN`,
	`INSERT INTO erasures (id, cause, created_at, messages, bytes, finished)
		SELECT id + $E, cause, created_at, messages, bytes, finished FROM other.erasures WHERE id IN (SELECT erasure FROM other.forgotten WHERE key IN $KEYS)`,
	`INSERT INTO forgotten (key, erasure, messages, through)
		SELECT key, erasure + $E, messages, through FROM other.forgotten WHERE key IN $KEYS`,
	`INSERT INTO tombstones (hash, erasure, n) SELECT hash, erasure + $E, n FROM other.tombstones WHERE erasure + $E IN (SELECT id FROM erasures WHERE id > $E)`,
	`INSERT INTO tombstone_salt (salt)
		SELECT salt FROM other.tombstone_salt WHERE salt NOT IN (SELECT salt FROM tombstone_salt) AND EXISTS (SELECT 1 FROM erasures WHERE id > $E)`,
}
