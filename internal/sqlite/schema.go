package sqlite

import (
	"errors"
	"fmt"
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

// Objects reads the tables and indexes of a database.
func Objects(c *conn) (map[string]object, error) {
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
	c := newConn(raw)
	defer func() { err = errors.Join(err, c.close()) }()
	for _, sql := range all[:version] {
		if err := c.script(sql); err != nil {
			return nil, err
		}
	}
	return Objects(c)
}

func missingColumns(have, want object) []column {
	var missing []column
	for _, col := range want.columns {
		if !slices.ContainsFunc(have.columns, func(c column) bool { return c.name == col.name }) {
			missing = append(missing, col)
		}
	}
	return missing
}
