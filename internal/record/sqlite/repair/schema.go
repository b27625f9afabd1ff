package repair

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqldb/seal"
	"github.com/lossless-context/lcm/internal/record/sqldb/verify"
	"github.com/lossless-context/lcm/internal/record/sqlite/check"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
)

// refillSQL fills tables that were missing and are made again, from the rows of
// other tables.
var refillSQL = map[string][]string{
	"forgotten":      {forgottenOfWhole, forgottenOfParts},
	"tombstone_salt": {`INSERT INTO tombstone_salt SELECT randomblob(32) WHERE NOT EXISTS (SELECT 1 FROM tombstone_salt)`},
	"erasures":       {noteErasures},
	"projects": {`
		INSERT INTO projects (id, origin, root)
		SELECT DISTINCT project, '', iif(NOT EXISTS (SELECT 1 FROM conversations o WHERE o.project = c.project AND o.erased_at IS NULL), '', 'unknown project ' || project)
		FROM conversations c WHERE true ON CONFLICT DO UPDATE SET root = 'unknown project ' || id`},
	"summaries": {`DELETE FROM edges`, `DELETE FROM revisions`},
	"branches": {`
		INSERT INTO branches (id, conversation, after, cause, created_at)
		SELECT b.id, b.conversation, (
			SELECT m.id FROM messages m JOIN conversations c ON c.id = m.conversation
			WHERE m.conversation = b.conversation AND m.seq + c.base < b.first AND m.flags & ` + outOfView + ` = 0 ORDER BY m.seq DESC LIMIT 1), 'unknown', unixepoch() * 1000
		FROM (SELECT i.branch AS id, min(i.pos) AS first, max(ifnull(m.conversation, s.conversation)) AS conversation FROM branch_items i
			LEFT JOIN messages m ON m.id = i.message LEFT JOIN summaries s ON s.num = i.summary GROUP BY i.branch) b
		WHERE b.conversation IS NOT NULL`},
}

// outOfView are the flags of messages that are in no view.
const outOfView = "(64 | 128)"

// Erasures are recorded as unfinished: scrubbing twice does no harm.
const noteErasures = `
	INSERT INTO erasures (id, cause, created_at, messages, bytes)
	SELECT e.id, 'unknown', unixepoch() * 1000, (SELECT ifnull(sum(messages), 0) FROM forgotten WHERE erasure = e.id), 0 FROM ` + verify.UnrecordedErasures + ` e WHERE typeof(e.id) = 'integer'`

// Sessions whose conversations were all erased refuse messages up to that time.
const forgottenOfWhole = `
	INSERT INTO forgotten (key, erasure, messages, through)
	SELECT c.key, (SELECT id FROM erasures e ORDER BY abs(e.created_at - c.erased_at) LIMIT 1) AS erasure, sum(c.erased), max(c.erased_at)
	FROM conversations c
	WHERE c.erased_at IS NOT NULL AND EXISTS (SELECT 1 FROM erasures)
		AND NOT EXISTS (SELECT 1 FROM conversations o WHERE o.key = c.key AND o.erased_at IS NULL)
	GROUP BY c.key, erasure`

// Sessions from which single messages were erased, and their forks, look up the
// tombstones again. The erasure is unknown; the hashes decide.
const forgottenOfParts = `
	INSERT INTO forgotten (key, erasure, messages)
	WITH RECURSIVE line (id, key) AS (
		SELECT id, key FROM conversations WHERE erased > 0
		UNION SELECT f.id, f.key FROM line l JOIN conversations f ON f.forked_from = l.id
	)
	SELECT DISTINCT l.key, e.id, 0 FROM line l JOIN erasures e WHERE true ON CONFLICT DO NOTHING`

// Schema makes missing parts of the schema again and removes foreign code,
// before the database is opened. The caller has made a copy.
func Schema(ctx context.Context, path string) error {
	return dbfile.Explain(path, dbfile.WithConn(ctx, path, dbfile.Options{}, func(c *dbfile.Conn) error {
		return c.Write(func() error { return fixSchema(c) })
	}))
}

// fixSchema adds missing tables, columns and indexes that can be derived or
// that other tables need.
func fixSchema(c *dbfile.Conn) error {
	if err := dropForeignCode(c); err != nil {
		return err
	}
	have, want, err := dbfile.CompareSchema(c)
	if err != nil {
		return err
	}
	// Tables come before the indexes on them.
	names := slices.SortedFunc(maps.Keys(want), func(a, b string) int {
		return strings.Compare(order(want[a])+a, order(want[b])+b)
	})
	var made []string
	reseal := false
	for _, name := range names {
		o, found := have[name]
		switch {
		case !found && want[name].Kind != "table" && have[want[name].Table].Kind == "" && !check.CanMakeAgain(want[name].Table):
			// An index of a lost table is not made.
		case !found && (want[name].Kind != "table" || check.CanMakeAgain(name)):
			if err := c.Script(want[name].Sql); err != nil {
				return fmt.Errorf("make the %s %s again: %w", want[name].Kind, name, err)
			}
			if want[name].Kind == "table" {
				made = append(made, name)
				reseal = reseal || name == "seals"
			}
		case found:
			missing := dbfile.MissingColumns(o, want[name])
			if err := addColumns(c, name, missing); err != nil {
				return err
			}
			reseal = reseal || slices.ContainsFunc(missing, func(col dbfile.ColumnDef) bool { return col.Name == "seal" })
		}
	}
	for _, name := range made {
		if err := refillTable(c, name); err != nil {
			return fmt.Errorf("fill the table %s: %w", name, err)
		}
	}
	if reseal {
		if err := seal.Fill(c); err != nil {
			return fmt.Errorf("seal the rows again: %w", err)
		}
	}
	if have["messages"].Kind == "" || have["conversations"].Kind == "" {
		return nil
	}
	return c.Exec(`INSERT INTO lanes VALUES (1, 0), (2, 0) ON CONFLICT DO NOTHING`)
}

// refillTable fills a table that was made again from the rows of other tables.
func refillTable(c *dbfile.Conn, table string) error {
	if table == "projects" { // the conversations belong to those
		ids, err := sqldb.Column[int64](c, `SELECT id FROM conversations`)
		if err == nil {
			err = c.Script(refillSQL[table][0])
		}
		if err != nil {
			return err
		}
		return sqldb.Each(ids, func(id int64) error { return seal.Named(c, id) })
	}
	if table == "payloads" { // names and descriptions are restored later, from messages
		return restorePayloads(c)
	}
	return sqldb.Each(refillSQL[table], c.Script)
}

func order(o dbfile.Object) string {
	if o.Kind == "table" {
		return "1"
	}
	return "2"
}

func addColumns(c *dbfile.Conn, table string, missing []dbfile.ColumnDef) error {
	for _, col := range missing {
		if !check.CanAddAgain(table, col) {
			continue
		}
		if err := c.Script("ALTER TABLE " + sqlite3.QuoteIdentifier(table) + " ADD COLUMN " + check.ColumnDefinition(col)); err != nil {
			return fmt.Errorf("add the column %s.%s again: %w", table, col.Name, err)
		}
	}
	return nil
}

// dropForeignCode removes triggers and views. SQLite can drop a virtual table
// only with its module.
func dropForeignCode(c *dbfile.Conn) error {
	found, err := dbfile.ForeignCode(c)
	if err != nil {
		return err
	}
	for _, o := range found {
		if o.Kind != "trigger" && o.Kind != "view" {
			continue
		}
		if err := c.Script("DROP " + o.Kind + " IF EXISTS " + sqlite3.QuoteIdentifier(o.Table)); err != nil {
			return fmt.Errorf("remove the %s %s: %w", o.Kind, o.Table, err)
		}
	}
	return nil
}
