// Package move moves a whole record: into a backup, an archive or another database, and
// out of a damaged file into a sound one. Every move is the same pipeline:
//
//	a source → a new database → its proof → its name
//
// A [Source] yields the rows of a record: those of a database ([Database]), of an archive
// ([Archive]) or of the pages of a damaged file. [Build] writes them into a new file, proves
// it, and derives again what does not prove: all but messages, the content of payloads,
// tombstones and state follows from these, and a summary whose text and sources prove is
// kept. [Copy] does the same for a file, and copies a sound one page by page. The result is
// a [Built], which has no name yet. Its Damage lists what was wrong with the source and what
// is missing. It gets its name in one step: with Publish, which replaces nothing, with
// Replace, which keeps what was there, or not at all.
//
//	lcm db backup    Copy, Publish
//	lcm db restore   Copy, Replace
//	lcm db copy      Copy or Build of a [Database], Publish; into a server, [Fill]
//	lcm db export    [Sound], [Export]
//	lcm import       Build of an [Archive], Install or [Merge]
//	lcm doctor --fix [Fix]: Copy, Replace
//
// A process that is killed leaves a file without a name, which [Sweep] removes, and
// everything else as it was.
package move

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/record/archive"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Source yields the rows of a record. An archive yields the content of payloads after the
// rows, the others have it in rows of the table chunks. An error that wraps
// [archive.ErrDamaged] is a part that cannot be read, and others follow it.
type Source = iter.Seq2[archive.Item, error]

// table is a table of the record. Both backends have the same columns.
type table struct {
	name string
	// some selects the rows that belong to the conversations ?1, a JSON list of ids. Where
	// it is empty, only a source of everything has them.
	some string
	// ids are the columns that hold numbers, each with the table of the number.
	ids string
}

// tables are the tables that are moved, in this order. The search index is made again.
var tables = []table{
	{"projects", `id IN (SELECT project FROM conversations WHERE id IN ` + chosen + `)`, "id=projects"},
	{"conversations", `id IN ` + chosen, "id=conversations project=projects parent=conversations forked_from=conversations forked_at=messages"},
	{"messages", `conversation IN ` + chosen, "id=messages conversation=conversations"},
	{"summaries", `conversation IN ` + chosen, "num=summaries conversation=conversations"},
	{"edges", `summary IN ` + chosenSummaries, "summary=summaries message=messages source=summaries"},
	{"revisions", `summary IN ` + chosenSummaries, "summary=summaries"},
	{"view", `conversation IN ` + chosen, "conversation=conversations message=messages summary=summaries"},
	{"branches", `conversation IN ` + chosen, "id=branches conversation=conversations after=messages"},
	{"branch_items", `branch IN (SELECT id FROM branches WHERE conversation IN ` + chosen + `)`, "branch=branches message=messages summary=summaries"},
	{"payloads", `num IN ` + chosenPayloads, "num=payloads"},
	{"chunks", `payload IN ` + chosenPayloads, "payload=payloads"},
	{"message_payloads", `message IN (SELECT id FROM messages WHERE conversation IN ` + chosen + `)`, "message=messages payload=payloads"},
	{"erasures", `id IN ` + chosenErasures, "id=erasures"},
	{"forgotten", `key IN ` + chosenKeys, "erasure=erasures"},
	{"tombstones", `erasure IN ` + chosenErasures, "erasure=erasures"},
	{"tombstone_salt", `TRUE`, ""},
	{"seals", "", ""},
	{"state", "", ""},
	{"vectors", "", ""},
	{"vector_blocks", "", ""},
	{"map_runs", "", ""},
	{"map_items", "", ""},
}

// The rows of chosen conversations. Erasures go with the sessions that they took messages
// from, so that these stay erased where an archive is imported.
const (
	chosen          = `(SELECT j.value FROM json_each(?1) j)`
	chosenSummaries = `(SELECT num FROM summaries WHERE conversation IN ` + chosen + `)`
	chosenPayloads  = `(SELECT mp.payload FROM message_payloads mp JOIN messages m ON m.id = mp.message WHERE m.conversation IN ` + chosen + `)`
	chosenKeys      = `(SELECT key FROM conversations WHERE id IN ` + chosen + `)`
	chosenErasures  = `(SELECT erasure FROM forgotten WHERE key IN ` + chosenKeys + `)`
)

// unarchived are the tables that an archive has not: payloads are files in it, vectors can be
// computed again, and an unfinished map goes on where it was begun.
var unarchived = []string{"chunks", "vectors", "vector_blocks", "map_runs", "map_items"}

// bools are the columns that PostgreSQL has as booleans.
var bools = []string{"chunks.compressed", "summaries.retired", "view.stub", "erasures.finished"}

// tableNames lists the tables that are moved.
func tableNames() (names []string) {
	for _, t := range tables {
		names = append(names, t.name)
	}
	return names
}

// Database yields all rows of a database at one moment.
func Database(ctx context.Context, db sqldb.DB) Source {
	return func(yield func(archive.Item, error) bool) {
		err := db.Reader(ctx, func(c sqldb.Conn) error {
			return c.Read(func() error {
				return readTables(c, tables, nil, func(r archive.Row) error {
					if !yield(archive.Item{Row: r}, nil) {
						return sqldb.ErrStop
					}
					return nil
				})
			})
		})
		if err != nil && !errors.Is(err, sqldb.ErrStop) {
			yield(archive.Item{}, err)
		}
	}
}

// readTables visits the rows of tables, those of some conversations or, with nil, all.
func readTables(c sqldb.Conn, list []table, ids []store.ConversationID, visit func(archive.Row) error) error {
	schema, err := dbfile.Schema()
	if err != nil {
		return err
	}
	only, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	for _, t := range list {
		columns := schema[t.name].ColumnNames()
		where, args := "TRUE", []any(nil)
		if t.name == "state" { // that outlives the processes that wrote it
			where, args = "expires IS NULL AND space <> ?1", []any{store.LeaseSpace}
		}
		if ids != nil {
			if where, args = t.some, nil; where == "" {
				continue
			}
			if strings.Contains(where, "?1") {
				args = []any{string(only)}
			}
		}
		order := "1, 2"
		if len(columns) == 1 {
			order = "rowid"
		}
		err := c.Stream("SELECT "+strings.Join(columns, ", ")+" FROM "+t.name+" WHERE "+where+" ORDER BY "+order, func(s sqldb.Row) error {
			values := make([]any, len(columns))
			for i := range values {
				if values[i] = s.ColumnValue(i); slices.Contains(bools, t.name+"."+columns[i]) {
					values[i] = int64(0)
					if s.ColumnBool(i) {
						values[i] = int64(1)
					}
				} else if t.name == "messages" && columns[i] == "record" {
					values[i] = sqldb.Unpack(s.ColumnBlob(i, nil))
				}
			}
			return visit(archive.Row{Table: t.name, Columns: columns, Values: values})
		}, args...)
		if err != nil {
			return err
		}
	}
	return nil
}
