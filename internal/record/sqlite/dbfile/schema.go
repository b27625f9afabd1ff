package dbfile

import (
	_ "embed"
	"errors"
	"fmt"
	"sync"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/record/proof/seal"
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

// Version is the version of the schema, in the header of a file. A database of the version
// Before is converted when it is opened to be written.
const (
	Version = 11
	Before  = 10
)

// ApplicationID marks a SQLite file as ours ("LCM1" in the file's header).
const ApplicationID = 0x4c434d31

//go:embed schema.sql
var schemaSQL string

//go:embed convert.sql
var convertSQL string

// Schema returns the schema that a sound database has. It is computed once: making a
// database takes longer than the rest, even in memory.
var Schema = sync.OnceValues(func() (_ map[string]Object, err error) {
	raw, err := sqlite3.Open(":memory:")
	if err != nil {
		return nil, err
	}
	c := NewConn(raw)
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := c.Script(schemaSQL); err != nil {
		return nil, err
	}
	return Objects(c)
})

// CreateTables makes the tables of an empty database, inside a transaction.
func CreateTables(c *Conn) error {
	if err := c.Script(schemaSQL); err != nil {
		return fmt.Errorf("make the tables: %w", err)
	}
	return WriteStamps(c, Version)
}

// prepareTables makes the tables of a new database, and converts one of the version before.
func prepareTables(c *Conn) error {
	if v, err := SchemaVersion(c); err != nil || v == Version {
		return err
	}
	return c.Write(func() error {
		switch v, err := SchemaVersion(c); { // another process may have been faster
		case err != nil || v == Version:
			return err
		case v == Before:
			err := sqldb.Steps(func() error { return c.Script(convertSQL) }, func() error { return seal.Convert(c) }, func() error { return WriteStamps(c, Version) })
			if err != nil {
				err = fmt.Errorf("convert the database from schema version %d: %w", v, err)
			}
			return err
		}
		return sqldb.Steps(func() error { return CreateTables(c) }, func() error { return seal.Fill(c) })
	})
}

// SchemaVersion returns the schema version of the file and checks that it is ours;
// an empty file has version 0.
func SchemaVersion(c *Conn) (version int, err error) {
	// In one transaction: another process may be making the tables right now.
	err = c.Read(func() error {
		var app, tables int
		if version, app, err = ReadStamps(c); err == nil {
			tables, err = sqldb.Value[int](c, "SELECT count(*) FROM sqlite_schema")
		}
		if err == nil && app != ApplicationID && (app != 0 || version != 0 || tables > 0) {
			err = &hint.Error{
				Err:  errors.New("the file is a SQLite database of another program"),
				Hint: "point LCM_DATABASE_PATH at another file",
			}
		}
		return err
	})
	return version, err
}

// CheckVersion refuses a schema version that is neither 0, that of a new database, nor the
// present one, nor the one before it that is converted.
func CheckVersion(v int, converts bool) error {
	advice := "upgrade lcm; nothing was changed"
	switch {
	case v == 0 || v == Version || v == Before && converts:
		return nil
	case v == Before:
		advice = "open it once to be written, for example with `lcm verify`: it is then converted; nothing was changed"
	case v < Before:
		advice = "it was written before lcm 0.1.0: open it once with the last lcm before that, or import its transcripts into a new database (--db); nothing was changed"
	}
	return &hint.Error{Err: fmt.Errorf("it has schema version %d, this lcm reads version %d", v, Version), Hint: advice}
}

// CheckSchema refuses a database of another version or with foreign code, before it is
// changed. converts says that one of the version before is converted.
func CheckSchema(c *Conn, converts bool) error {
	v, err := SchemaVersion(c)
	if err == nil {
		err = CheckVersion(v, converts)
	}
	if err != nil {
		return err
	}
	return refuseForeignCode(c)
}

// ReadStamps reads the version and the application id in the header.
func ReadStamps(c *Conn) (version, app int, err error) {
	_, err = c.One("SELECT user_version, application_id FROM pragma_user_version, pragma_application_id", sqldb.Into(&version, &app))
	return version, app, err
}

// WriteStamps writes a version and the application id into the header.
func WriteStamps(c *Conn, version int) error {
	return c.Script(fmt.Sprintf("PRAGMA user_version=%d; PRAGMA application_id=%d", version, ApplicationID))
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
