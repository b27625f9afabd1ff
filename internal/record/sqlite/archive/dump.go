// Package archive moves conversations between databases as rows: [Export] reads
// and proves them, [Build] makes a new database of them, and [Merge] adds the
// conversations of one database to another.
package archive

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/record"
	"github.com/lossless-context/lcm/internal/record/sqldb/verify"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// Dump is where the rows of conversations go to be kept outside a database.
type Dump struct {
	// Begin receives the listed conversations before any row. The rows of
	// erased conversations follow as well. complete says that the archive holds
	// everything.
	Begin func(schema int, conversations []store.Conversation, digest [sha256.Size]byte, complete bool) error
	// Row receives a row. A value is nil, an int64, a string or a []byte.
	// Messages and payloads are verified first; damage describes a fault.
	Row func(table string, columns []string, values []any, damage string) error
	// Payload receives the content of a payload, after all rows. Missing parts
	// of a damaged payload are zeros.
	Payload func(sum [sha256.Size]byte, size int64, r io.Reader, damaged bool) error
	// Fault receives every damage that is found.
	Fault func(store.Fault)
}

// chosen selects the conversations ?1, a JSON list of ids.
const chosen = `(SELECT value FROM json_each(?1))`

// Dumped are the tables of an archive, in the order in which they are written.
// some selects the rows that belong to chosen conversations; where it is empty,
// only an archive of everything has them. all selects the rows for that one.
var Dumped = []struct{ Table, some, All string }{
	{"projects", `id IN (SELECT project FROM conversations WHERE id IN ` + chosen + `)`, always},
	{"conversations", `id IN ` + chosen, always},
	{"messages", `conversation IN ` + chosen, always},
	{"summaries", `conversation IN ` + chosen, always},
	{"edges", `summary IN (SELECT num FROM summaries WHERE conversation IN ` + chosen + `)`, always},
	{"revisions", `summary IN (SELECT num FROM summaries WHERE conversation IN ` + chosen + `)`, always},
	{"view", `conversation IN ` + chosen, always},
	{"branches", `conversation IN ` + chosen, always},
	{"branch_items", `branch IN (SELECT id FROM branches WHERE conversation IN ` + chosen + `)`, always},
	{"payloads", attached, always},
	{"message_payloads", `message IN (SELECT id FROM messages WHERE conversation IN ` + chosen + `)`, always},
	{"erasures", `id IN ` + erasedFrom, always},
	{"forgotten", `key IN ` + sessions, always},
	{"tombstones", `erasure IN ` + erasedFrom, always},
	{"tombstone_salt", always, always},
	{"seals", "", always},
	{"state", "", lasting},
}

const (
	always = `TRUE`
	// attached selects the payloads of the messages of chosen conversations.
	attached = `num IN (SELECT mp.payload FROM message_payloads mp JOIN messages m ON m.id = mp.message WHERE m.conversation IN ` + chosen + `)`
	// sessions are the keys of the chosen conversations, and erasedFrom the
	// erasures that took messages from them. They go into the archive so that
	// erased messages stay erased in the database that imports it.
	sessions   = `(SELECT key FROM conversations WHERE id IN ` + chosen + `)`
	erasedFrom = `(SELECT erasure FROM forgotten WHERE key IN ` + sessions + `)`
	// lasting selects the state that outlives the processes that wrote it.
	lasting = `expires IS NULL AND space <> '` + store.LeaseSpace + `'`
)

// undumped are the tables that are not archived: the search index and the
// embedding vectors are made again, and an archive has the content of payloads as
// files.
var undumped = []string{"segments", "sections", "lanes", "chunks", "vectors", "vector_blocks"}

// Export verifies and writes conversations, with those that they were forked
// from or started by, as they stand at one moment. Without ids it writes
// everything.
func Export(ctx context.Context, f *dbfile.File, ids []store.ConversationID, to Dump) error {
	return f.Reader(ctx, func(c *dbfile.Conn) error {
		return c.Read(func() error { return dumpConversations(c, ids, to) })
	})
}

func dumpConversations(c *dbfile.Conn, ids []store.ConversationID, to Dump) error {
	complete := len(ids) == 0
	all, err := relatedConversations(c, ids)
	if err != nil {
		return err
	}
	unlisted, err := sqldb.Column[store.ConversationID](c, `SELECT c.id FROM conversations c WHERE NOT (`+record.Listed+`)`)
	if err != nil {
		return err
	}
	numbers := []int64{}
	var counting []store.Conversation
	h := sha256.New()
	for _, one := range all {
		numbers = append(numbers, int64(one.ID))
		if slices.Contains(unlisted, one.ID) {
			continue
		}
		counting = append(counting, one)
		digest := verify.ConversationDigest(one.Key, one.Segment, one.Messages, one.Head)
		h.Write(digest[:])
	}
	var digest [sha256.Size]byte
	h.Sum(digest[:0])
	schema, err := sqldb.Value[int](c, "PRAGMA user_version")
	if err != nil {
		return err
	}
	if err := to.Begin(schema, counting, digest, complete); err != nil {
		return err
	}
	list, err := json.Marshal(numbers)
	if err != nil {
		return err
	}
	for _, d := range Dumped {
		where := d.some
		if complete {
			where = d.All
		}
		if where == "" {
			continue
		}
		if err := DumpTable(c, d.Table, where, string(list), to); err != nil {
			return fmt.Errorf("archive the table %s: %w", d.Table, err)
		}
	}
	if complete {
		orphans, err := verify.OrphanFaults(c)
		if err != nil {
			return err
		}
		for _, f := range orphans {
			to.Fault(f)
		}
	}
	where := attached
	if complete {
		where = always
	}
	return dumpPayloads(c, where, string(list), to)
}

// relatedConversations returns the chosen conversations with their origins and
// parents, in the order of the digest.
func relatedConversations(c *dbfile.Conn, ids []store.ConversationID) ([]store.Conversation, error) {
	where := ` ORDER BY c.key COLLATE BINARY, c.segment`
	args := []any{}
	if len(ids) > 0 {
		list, err := json.Marshal(ids)
		if err != nil {
			return nil, err
		}
		where = ` WHERE c.id IN (
			WITH RECURSIVE need (id) AS (
				SELECT value FROM json_each(?)
				UNION SELECT x.value FROM need JOIN conversations c ON c.id = need.id, json_each(json_array(c.forked_from, c.parent)) x WHERE x.value IS NOT NULL
			) SELECT id FROM need)` + where
		args = append(args, string(list))
	}
	all, err := sqldb.List(c, `SELECT`+record.ConversationColumns+where,
		func(s sqldb.Row) store.Conversation { return record.ScanConversation(s).Conversation }, args...)
	for _, id := range ids {
		if err == nil && !slices.ContainsFunc(all, func(c store.Conversation) bool { return c.ID == id }) {
			err = store.Missing(fmt.Sprintf("conversation %d", id))
		}
	}
	return all, err
}

// DumpTable writes the rows of a table that meet a condition.
func DumpTable(c *dbfile.Conn, table, where, list string, to Dump) error {
	objects, err := dbfile.Objects(c)
	if err != nil {
		return err
	}
	if _, found := objects[table]; !found {
		return nil // a database of an older version
	}
	columns := objects[table].ColumnNames()
	order := "1"
	if len(columns) > 1 {
		order = "1, 2"
	}
	values := make([]any, len(columns))
	return c.Query(fmt.Sprintf(`SELECT %s FROM %s WHERE %s ORDER BY %s`, strings.Join(columns, ", "), table, where, order), func(s sqldb.Row) error {
		for i := range columns {
			values[i] = s.ColumnValue(i)
		}
		fault, err := checkRow(c, table, columns, values)
		if err != nil {
			return err
		}
		if fault.Code != "" {
			to.Fault(fault)
		}
		return to.Row(table, columns, values, fault.Detail)
	}, only(where, list)...)
}

// checkRow verifies a row of messages or payloads against its hashes. Rows of
// other tables have none.
func checkRow(c *dbfile.Conn, table string, columns []string, values []any) (store.Fault, error) {
	value := func(name string) any {
		if i := slices.Index(columns, name); i >= 0 {
			return values[i]
		}
		return nil // the table has lost a column
	}
	number := func(name string) int64 { n, _ := value(name).(int64); return n }
	text := func(name string) string { s, _ := value(name).(string); return s }
	data := func(name string) []byte { b, _ := value(name).([]byte); return b }
	hash := func(name string) (sum [sha256.Size]byte) { copy(sum[:], data(name)); return sum }
	switch table {
	case "payloads":
		p := record.PayloadRow{Num: number("num"), ID: text("id"), Size: number("size"), Sum: hash("sha256")}
		if whole, err := isWhole(c, p); err != nil || !whole {
			return store.Fault{Code: "payload", Node: p.ID, Detail: "its content does not match its SHA-256"}, err
		}
	case "messages":
		id := store.MessageID(number("id"))
		m := record.Linked{NewMessage: store.NewMessage{
			Role: store.RoleOf(int(number("role"))), Flags: store.Flag(number("flags")), Native: text("native"), Format: llms.Format(text("format")),
			Size: number("size"), SHA256: hash("sha256"), Record: data("record"),
		}, StoredBody: data("body"), Chain: hash("chain"), Cut: text("cuts") != ""}
		if said, ok := value("said").(int64); ok {
			m.Said = time.UnixMilli(said).UTC()
		}
		if m.Flags&store.FlagErased != 0 {
			return store.Fault{}, nil
		}
		whole, err := record.Join(c, m.Record, text("cuts"))
		if err != nil && sqldb.Fatal(err) {
			return store.Fault{}, err
		}
		if err != nil || sha256.Sum256(whole) != m.SHA256 {
			return store.Fault{Code: "record", Node: id.String(), Detail: "its record does not match the SHA-256 taken when it arrived"}, nil
		}
		if intact, err := record.Intact(c, store.ConversationID(number("conversation")), number("seq"), m); err != nil || !intact {
			return store.Fault{Code: "chain", Node: id.String(), Detail: "its body or its metadata does not match its link of the chain"}, err
		}
	}
	return store.Fault{}, nil
}

// only returns the list of chosen conversations if the condition has a
// parameter for it.
func only(where, list string) []any {
	if strings.Contains(where, "?1") {
		return []any{list}
	}
	return nil
}

func dumpPayloads(c *dbfile.Conn, where, list string, to Dump) error {
	rows, err := record.PayloadRows(c, where, only(where, list)...)
	if err != nil {
		return err
	}
	for _, p := range rows {
		whole, err := isWhole(c, p)
		if err != nil {
			return err
		}
		size := p.Size
		if !whole {
			chunks, err := sqldb.Value[int64](c, `SELECT 1 + max(n) FROM chunks WHERE payload = ?`, p.Num)
			if err != nil {
				return err
			}
			size = max(0, min(size, chunks*record.ChunkSize))
			if found, err := record.HashChunks(c, p.Num); err == nil { // its row is wrong
				size = found.Size
			}
		}
		if err := to.Payload(p.Sum, size, &chunkReader{Conn: c, num: p.Num, lenient: !whole}, !whole); err != nil {
			return fmt.Errorf("archive %s: %w", p.ID, err)
		}
	}
	return nil
}

// isWhole reports whether the content of a payload matches its row.
func isWhole(c *dbfile.Conn, p record.PayloadRow) (bool, error) {
	found, err := record.HashChunks(c, p.Num)
	if err != nil && sqldb.Fatal(err) {
		return false, err
	}
	return err == nil && found.Sum == p.Sum && found.Size == p.Size, nil
}

// chunkReader reads a payload chunk by chunk inside a transaction.
type chunkReader struct {
	*dbfile.Conn
	num, next int64
	rest      []byte
	lenient   bool // read zeros in place of unreadable chunks
}

// Read implements [io.Reader].
func (r *chunkReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		found := false
		err := record.ReadChunks(r.Conn, r.num, r.next, r.next, func(_ int64, raw []byte) error {
			found = true
			r.rest = append(r.rest[:0], raw...)
			return nil
		})
		if err != nil && (!r.lenient || sqldb.Fatal(err)) {
			return 0, sqldb.Damaged("its content", err)
		}
		if r.lenient && (err != nil || !found) {
			found, r.rest = true, make([]byte, record.ChunkSize)
		}
		if !found {
			return 0, io.EOF
		}
		r.next++
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
