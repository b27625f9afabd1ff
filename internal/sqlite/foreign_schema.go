package sqlite

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/lazyregexp"
	"github.com/lossless-context/lcm/internal/store"
)

// lcm's schema consists of plain tables and of indexes on them. Triggers,
// views and virtual tables run SQL when tables are written or read, so a
// database that has one was prepared by somebody else, and is not opened. The
// type column is not asked: SQLite itself goes by the text.
const foreignCode = `
	SELECT type, name FROM sqlite_schema
	WHERE type NOT IN ('table', 'index')
		OR sql NOT LIKE 'CREATE TABLE %' AND sql NOT LIKE 'CREATE INDEX %' AND sql NOT LIKE 'CREATE UNIQUE INDEX %'
	ORDER BY type, name`

// foreignCode lists the triggers, views and virtual tables of a database.
func (c *conn) foreignCode() (found []object, err error) {
	err = c.query(foreignCode, func(s *sqlite3.Stmt) error {
		o := object{kind: s.ColumnText(0), table: s.ColumnText(1)}
		if o.kind == "table" {
			o.kind = "virtual table"
		}
		found = append(found, o)
		return nil
	})
	return found, err
}

// refuseForeignCode returns an error if the schema of the database would run
// code that is not lcm's.
func (c *conn) refuseForeignCode() error {
	found, err := c.foreignCode()
	if err != nil || len(found) == 0 {
		return err
	}
	return &store.Problem{
		Err:  fmt.Errorf("the database has the %s %q, which lcm did not make and which would run when it is used", found[0].kind, found[0].table),
		Hint: "find out who put it there; `lcm doctor --fix` removes it after a backup; the database was not touched",
	}
}

// dropForeignCode removes triggers and views. SQLite drops a virtual table with
// the module that made it, and lcm's has none.
func (c *conn) dropForeignCode() error {
	found, err := c.foreignCode()
	if err != nil {
		return err
	}
	for _, o := range found {
		if o.kind != "trigger" && o.kind != "view" {
			continue
		}
		if err := c.Exec("DROP " + o.kind + " IF EXISTS " + sqlite3.QuoteIdentifier(o.table)); err != nil {
			return fmt.Errorf("remove the %s %s: %w", o.kind, o.table, err)
		}
	}
	return nil
}

// foreign finds what is in the schema and not lcm's: code, tables and indexes
// that it does not know, and known ones with another definition.
func (k *checkup) foreign(have, want map[string]object) error {
	code, err := k.foreignCode()
	if err != nil {
		return err
	}
	for _, o := range code {
		k.fault("schema-code", o.kind+" "+o.table, "it is not part of lcm's schema, and would run when the database is used")
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		o, known := want[name]
		switch {
		case !known:
			k.fault("schema-foreign", have[name].kind+" "+name, "it is not part of lcm's schema: something else has put it there")
		case known && !sameDefinition(have[name], o):
			k.fault("schema-changed", have[name].kind+" "+name, "its definition is not the one that lcm gives it")
		}
	}
	return nil
}

// sameDefinition reports whether an object is defined as it should be. Columns
// that are missing are reported elsewhere; those that a repair added again
// stand at the end and have lost their constraints.
func sameDefinition(have, want object) bool {
	if have.kind != want.kind || have.table != want.table {
		return false
	}
	if have.kind != "table" {
		return slices.Equal(definition(have.sql), definition(want.sql))
	}
	allowed := definition(want.sql)
	for _, col := range want.columns {
		if readdable(have.table, col) {
			allowed = append(allowed, definition(columnDefinition(col))...)
		}
	}
	for _, part := range definition(have.sql) {
		if !slices.Contains(allowed, part) {
			return false
		}
	}
	return true
}

var (
	sqlComment = lazyregexp.New(`--[^\n]*`)
	sqlSpace   = lazyregexp.New(`\s+`)
)

// definition splits a CREATE statement at its outer commas and brackets, and
// writes each piece in one way: the head, the columns, the constraints, the
// tail.
func definition(sql string) []string {
	sql = sqlSpace().ReplaceAllString(sqlComment().ReplaceAllString(sql, " "), " ")
	sql = strings.ReplaceAll(sql, `"`, "")
	var parts []string
	depth, from := 0, 0
	cut := func(to int) {
		if part := strings.TrimSpace(sql[from:to]); part != "" {
			parts = append(parts, part)
		}
		from = to + 1
	}
	for i, c := range []byte(sql) {
		switch {
		case c == '(':
			if depth++; depth == 1 {
				cut(i)
			}
		case c == ')':
			if depth--; depth == 0 {
				cut(i)
			}
		case c == ',' && depth <= 1:
			cut(i)
		}
	}
	cut(len(sql))
	return parts
}
