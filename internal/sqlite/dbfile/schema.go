package dbfile

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ncruces/go-sqlite3"
)

// Object is an entry of the schema: a table or an index.
type Object struct {
	Kind, Table, Sql string
	Columns          []ColumnDef // of a table
}

// ColumnNames returns the names of the columns of a table.
func (o Object) ColumnNames() []string {
	var names []string
	for _, col := range o.Columns {
		names = append(names, col.Name)
	}
	return names
}

// ColumnDef is a column of a table as the schema declares it.
type ColumnDef struct {
	Name, Decl string
	NotNull    bool
	Value      string // the default
}

// Objects reads the tables and indexes of a database.
func Objects(c *Conn) (map[string]Object, error) {
	all := map[string]Object{}
	err := c.Query(`SELECT name, type, tbl_name, ifnull(sql, '') FROM sqlite_schema WHERE type IN ('table', 'index') AND ifnull(sql, '') NOT LIKE 'CREATE VIRTUAL %' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`,
		func(s *sqlite3.Stmt) error {
			all[s.ColumnText(0)] = Object{Kind: s.ColumnText(1), Table: s.ColumnText(2), Sql: s.ColumnText(3)}
			return nil
		})
	if err != nil {
		return nil, err
	}
	for name, o := range all {
		if o.Kind != "table" {
			continue
		}
		o.Columns, err = List(c, `SELECT name, type, "notnull", ifnull(dflt_value, '') FROM pragma_table_info(?, 'main') ORDER BY cid`,
			func(s *sqlite3.Stmt) ColumnDef {
				return ColumnDef{s.ColumnText(0), s.ColumnText(1), s.ColumnBool(2), s.ColumnText(3)}
			}, name)
		if err != nil {
			return nil, err
		}
		all[name] = o
	}
	return all, nil
}

// schemas caches the results of SchemaAt: making a database takes longer than
// the rest, even in memory.
var schemas sync.Map

// SchemaAt returns the schema that a sound database of a version has.
func SchemaAt(version int) (map[string]Object, error) {
	if known, ok := schemas.Load(version); ok {
		return known.(map[string]Object), nil
	}
	made, err := makeSchema(version)
	if err == nil {
		schemas.Store(version, made)
	}
	return made, err
}

func makeSchema(version int) (_ map[string]Object, err error) {
	all, err := Migrations()
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
	c := NewConn(raw)
	defer func() { err = errors.Join(err, c.Close()) }()
	for _, sql := range all[:version] {
		if err := c.Script(sql); err != nil {
			return nil, err
		}
	}
	return Objects(c)
}

// MissingColumns returns the columns of a table that another lacks.
func MissingColumns(have, want Object) []ColumnDef {
	names := have.ColumnNames()
	return slices.DeleteFunc(slices.Clone(want.Columns), func(c ColumnDef) bool { return slices.Contains(names, c.Name) })
}
