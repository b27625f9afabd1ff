package sqlite

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/store"
	"github.com/ncruces/go-sqlite3"
)

// schema compares the schema with the one that the version should have. whole
// says that nothing is missing that reading needs.
func (k *checkup) schema() (whole bool, err error) {
	v, err := SchemaVersion(k.conn)
	if err != nil {
		return false, err
	}
	want, err := schemaAt(v)
	if err != nil {
		return false, err
	}
	have, err := Objects(k.conn)
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

// foreign finds what is in the schema and not lcm's: code, tables and indexes
// that it does not know, and known ones with another definition.
func (k *checkup) foreign(have, want map[string]object) error {
	code, err := ForeignCode(k.conn)
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
	sqlComment = regexp.MustCompile(`--[^\n]*`)
	sqlSpace   = regexp.MustCompile(`\s+`)
)

// definition splits a CREATE statement at its outer commas and brackets, and
// writes each piece in one way: the head, the columns, the constraints, the
// tail.
func definition(sql string) []string {
	sql = sqlSpace.ReplaceAllString(sqlComment.ReplaceAllString(sql, " "), " ")
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

// remakeable reports whether a missing table is made anew.
func remakeable(table string) bool {
	_, refilled := refills[table]
	return refilled || derivedTables[table]
}

// tableFault finds the code and the sentence for a table that is missing.
func tableFault(table string) (code, detail string) {
	switch r, refilled := refills[table]; {
	case derivedTables[table]:
		return "schema-table", "the table is missing"
	case refilled:
		return "schema-table-bare", "the table is missing: " + r.loss
	}
	return "schema-table-lost", "the table is missing"
}

// CheckSchema tells what is missing from the schema of a database, and what is
// in it that lcm did not make. It works where the database cannot be opened for
// that reason.
func CheckSchema(ctx context.Context, path string) (faults []store.Fault, err error) {
	c, err := openConn(ctx, path, Options{ReadOnly: true, CacheKiB: 1 << 10})
	if err != nil {
		return nil, err
	}
	k := &checkup{conn: c}
	_, err = k.schema()
	return k.faults, errors.Join(err, c.close())
}
