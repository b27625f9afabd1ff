package sqlite

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/ncruces/go-sqlite3"
)

// object is an entry of the schema: a table or an index.
type object struct {
	kind, table, sql string
	columns          []column // of a table
}

// column is a column of a table as the schema declares it.
type column struct {
	name, decl string
	notNull    bool
	value      string // the default
}

// objects reads the tables and indexes of a database.
func (c *conn) objects() (map[string]object, error) {
	all := map[string]object{}
	err := c.query(`SELECT name, type, tbl_name, ifnull(sql, '') FROM sqlite_schema WHERE type IN ('table', 'index') AND ifnull(sql, '') NOT LIKE 'CREATE VIRTUAL %' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`,
		func(s *sqlite3.Stmt) error {
			all[s.ColumnText(0)] = object{kind: s.ColumnText(1), table: s.ColumnText(2), sql: s.ColumnText(3)}
			return nil
		})
	if err != nil {
		return nil, err
	}
	for name, o := range all {
		if o.kind != "table" {
			continue
		}
		err := c.query(`SELECT name, type, "notnull", ifnull(dflt_value, '') FROM pragma_table_info(?, 'main') ORDER BY cid`, func(s *sqlite3.Stmt) error {
			o.columns = append(o.columns, column{s.ColumnText(0), s.ColumnText(1), s.ColumnBool(2), s.ColumnText(3)})
			return nil
		}, name)
		if err != nil {
			return nil, err
		}
		all[name] = o
	}
	return all, nil
}

// schemas remembers what schemaAt has computed: making a database, if only in
// memory, takes longer than all of the rest.
var schemas sync.Map

// schemaAt returns the schema that a sound database of a version has.
func schemaAt(version int) (map[string]object, error) {
	if known, ok := schemas.Load(version); ok {
		return known.(map[string]object), nil
	}
	made, err := makeSchema(version)
	if err == nil {
		schemas.Store(version, made)
	}
	return made, err
}

func makeSchema(version int) (_ map[string]object, err error) {
	all, err := steps()
	if err != nil {
		return nil, err
	}
	if version < 0 || version > len(all) {
		return nil, fmt.Errorf("there is no schema version %d", version)
	}
	raw, err := sqlite3.Open(":memory:")
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw, stmts: map[string]*sqlite3.Stmt{}}
	defer func() { err = errors.Join(err, c.close()) }()
	for _, sql := range all[:version] {
		if err := c.Exec(sql); err != nil {
			return nil, err
		}
	}
	return c.objects()
}

// schema compares the schema with the one that the version should have. whole
// says that nothing is missing that reading needs.
func (k *checkup) schema() (whole bool, err error) {
	v, err := k.version()
	if err != nil {
		return false, err
	}
	want, err := schemaAt(v)
	if err != nil {
		return false, err
	}
	have, err := k.objects()
	if err != nil {
		return false, err
	}
	whole = true
	for _, name := range slices.Sorted(maps.Keys(want)) {
		o, found := have[name]
		switch {
		case !found && want[name].kind == "table":
			whole = false
			code, detail := tableFault(name)
			k.fault(code, "table "+name, "%s", detail)
		case !found:
			k.fault("schema-index", want[name].kind+" "+name, "the %s of the table %s is missing", want[name].kind, want[name].table)
		default:
			for _, col := range missingColumns(o, want[name]) {
				whole = false
				code := "schema-column-lost"
				if readdable(name, col) {
					code = "schema-column"
				}
				k.fault(code, "table "+name, "its column %s is missing", col.name)
			}
		}
	}
	return whole, k.foreign(have, want)
}

// derivedTables hold nothing that does not follow from other tables.
var derivedTables = map[string]bool{"segments": true, "sections": true, "lanes": true, "view": true, "message_payloads": true}

func missingColumns(have, want object) []column {
	var missing []column
	for _, col := range want.columns {
		if !slices.ContainsFunc(have.columns, func(c column) bool { return c.name == col.name }) {
			missing = append(missing, col)
		}
	}
	return missing
}

// derivedColumns can be filled again after they were added anew.
var derivedColumns = map[string][]string{
	"conversations": {"messages", "summaries", "tokens", "bytes", "base", "view_items", "view_tokens", "last_user"},
	"summaries":     {"files", "retired"},
	"view":          {"stub", "links"},
}

// readdable reports whether a column can be added to its table again without
// anything being lost.
func readdable(table string, col column) bool {
	return slices.Contains(derivedColumns[table], col.name) && (!col.notNull || col.value != "")
}

func order(o object) string {
	if o.kind == "table" {
		return "1"
	}
	return "2"
}

func (c *conn) addColumns(table string, missing []column) error {
	for _, col := range missing {
		if !readdable(table, col) {
			continue
		}
		if err := c.Exec("ALTER TABLE " + sqlite3.QuoteIdentifier(table) + " ADD COLUMN " + columnDefinition(col)); err != nil {
			return fmt.Errorf("add the column %s.%s anew: %w", table, col.name, err)
		}
	}
	return nil
}

// columnDefinition is how a column is added again.
func columnDefinition(col column) string {
	decl := sqlite3.QuoteIdentifier(col.name) + " " + col.decl
	if col.notNull {
		decl += " NOT NULL"
	}
	if col.value != "" {
		decl += " DEFAULT " + col.value
	}
	return decl
}
