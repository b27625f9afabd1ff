package dbfile

import (
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/hint"
)

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
	return List(c, foreignCode, func(s *sqlite3.Stmt) Object {
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
