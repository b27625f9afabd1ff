package dbfile

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/sqldb"
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
		func(s sqldb.Row) error {
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
		o.Columns, err = sqldb.List(c, `SELECT name, type, "notnull", ifnull(dflt_value, '') FROM pragma_table_info(?, 'main') ORDER BY cid`,
			func(s sqldb.Row) ColumnDef {
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

// CompareSchema returns the schema of a database, and the one that a sound database
// of its version has.
func CompareSchema(c *Conn) (have, want map[string]Object, err error) {
	v, err := SchemaVersion(c)
	if err == nil {
		want, err = SchemaAt(v)
	}
	if err == nil {
		have, err = Objects(c)
	}
	return have, want, err
}

// MissingColumns returns the columns of a table that another lacks.
func MissingColumns(have, want Object) []ColumnDef {
	names := have.ColumnNames()
	return slices.DeleteFunc(slices.Clone(want.Columns), func(c ColumnDef) bool { return slices.Contains(names, c.Name) })
}

// lcm's schema has only plain tables and indexes. Triggers, views and virtual
// tables run SQL when tables are used, so a database that has one was changed
// by someone else and is not opened. The query does not trust the type column:
// SQLite goes by the text.
const foreignCode = `
	SELECT type, name FROM sqlite_schema
	WHERE type NOT IN ('table', 'index')
		OR sql NOT LIKE 'CREATE TABLE %' AND sql NOT LIKE 'CREATE INDEX %' AND sql NOT LIKE 'CREATE UNIQUE INDEX %'
	ORDER BY type, name`

// ForeignCode lists the triggers, views and virtual tables of a database.
func ForeignCode(c *Conn) ([]Object, error) {
	return sqldb.List(c, foreignCode, func(s sqldb.Row) Object {
		o := Object{Kind: s.ColumnText(0), Table: s.ColumnText(1)}
		if o.Kind == "table" {
			o.Kind = "virtual table"
		}
		return o
	})
}

// refuseForeignCode returns an error if the schema has code that is not lcm's.
func refuseForeignCode(c *Conn) error {
	found, err := ForeignCode(c)
	if err != nil || len(found) == 0 {
		return err
	}
	return &hint.Error{
		Err:  fmt.Errorf("the database has the %s %q, which lcm did not make and which would run when it is used", found[0].Kind, found[0].Table),
		Hint: "find out who put it there; `lcm doctor --fix` removes it after a backup; the database was not touched",
	}
}
