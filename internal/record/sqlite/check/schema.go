package check

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
)

// schema compares the schema with that of a sound database. whole says that nothing
// is missing that reading needs.
func (k *checkup) schema() (whole bool, err error) {
	have, want, err := dbfile.CompareSchema(k.Conn)
	if err != nil {
		return false, err
	}
	whole = true
	for _, name := range slices.Sorted(maps.Keys(want)) {
		o, found := have[name]
		switch {
		case !found && want[name].Kind == "table":
			whole = false
			code, detail := tableFault(name)
			k.Fault(code, "table "+name, "%s", detail)
		case !found:
			k.Fault("schema-index", want[name].Kind+" "+name, "the %s of the table %s is missing", want[name].Kind, want[name].Table)
		default:
			for _, col := range dbfile.MissingColumns(o, want[name]) {
				whole = false
				code := "schema-column-lost"
				if CanAddAgain(name, col) {
					code = "schema-column"
				}
				k.Fault(code, "table "+name, "its column %s is missing", col.Name)
			}
		}
	}
	return whole, k.foreign(have, want)
}

// tableLoss describes, for the tables that a repair makes again, the loss that
// remains. A table that is neither here nor in derivedTables is
// not made again: an empty one would hide the loss of its rows.
var tableLoss = map[string]string{
	"forgotten":      "erased messages may be imported again, where neither the conversation that they were erased from is left, nor their session went with them",
	"tombstones":     "single messages that were erased may be imported again; conversations that were erased whole stay refused",
	"tombstone_salt": "single messages that were erased may be imported again; conversations that were erased whole stay refused",
	"erasures":       "when and why messages were erased is not known any more; erased messages stay refused",
	"state":          "the cost of models so far is not known any more; transcripts are read again from their beginning, and nothing is stored twice",
	"revisions":      "the earlier texts of summaries that were reworded are gone",
	"projects":       "which directories the conversations belong to is not known any more; those of one project still have one",
	"summaries":      "all summaries are gone; views show the messages themselves until they are folded again",
	"edges":          "the sources of summaries are found again by their ids; those of summaries that a rewind took apart are not",
	"branches":       "when and why a conversation was rewound is not known any more",
	"branch_items":   "messages that a rewind took out of a view are told by when they arrived; some may show in the view again",
	"payloads":       "the paths that files came from are not known any more",
	"seals":          "whether a conversation or a tombstone is missing is not known any more",
	"chunks":         "the content of all files is gone: restore a backup to have it again",
}

// derivedTables hold only rows that follow from other tables.
var derivedTables = map[string]bool{"segments": true, "sections": true, "lanes": true, "view": true, "message_payloads": true, "vectors": true, "vector_blocks": true}

// derivedColumns can be filled again after they were added.
var derivedColumns = map[string][]string{
	"conversations": {"messages", "summaries", "tokens", "bytes", "base", "view_items", "view_tokens", "last_user", "seal"},
	"summaries":     {"files", "retired", "seal"},
	"revisions":     {"seal"},
	"view":          {"stub", "links"},
}

// CanAddAgain reports whether a column can be added to its table without a
// loss.
func CanAddAgain(table string, col dbfile.ColumnDef) bool {
	return slices.Contains(derivedColumns[table], col.Name) && (!col.NotNull || col.Value != "")
}

// ColumnDefinition returns the SQL that adds a column.
func ColumnDefinition(col dbfile.ColumnDef) string {
	decl := sqlite3.QuoteIdentifier(col.Name) + " " + col.Decl
	if col.NotNull {
		decl += " NOT NULL"
	}
	if col.Value != "" {
		decl += " DEFAULT " + col.Value
	}
	return decl
}

// foreign finds code, tables and indexes that are not part of lcm's schema, and
// objects with another definition.
func (k *checkup) foreign(have, want map[string]dbfile.Object) error {
	code, err := dbfile.ForeignCode(k.Conn)
	if err != nil {
		return err
	}
	for _, o := range code {
		k.Fault("schema-code", o.Kind+" "+o.Table, "it is not part of lcm's schema, and would run when the database is used")
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		o, known := want[name]
		switch {
		case !known:
			k.Fault("schema-foreign", have[name].Kind+" "+name, "it is not part of lcm's schema: something else has put it there")
		case known && !sameDefinition(have[name], o):
			k.Fault("schema-changed", have[name].Kind+" "+name, "its definition is not the one that lcm gives it")
		}
	}
	return nil
}

// sameDefinition reports whether an object has its expected definition. Missing
// columns are reported elsewhere. Columns that a repair added are last and have
// no constraints.
func sameDefinition(have, want dbfile.Object) bool {
	if have.Kind != want.Kind || have.Table != want.Table {
		return false
	}
	if have.Kind != "table" {
		return slices.Equal(definition(have.Sql), definition(want.Sql))
	}
	allowed := definition(want.Sql)
	for _, col := range want.Columns {
		if CanAddAgain(have.Table, col) {
			allowed = append(allowed, definition(ColumnDefinition(col))...)
		}
	}
	for _, part := range definition(have.Sql) {
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
// normalises each piece: head, columns, constraints, tail.
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

// CanMakeAgain reports whether a repair makes a missing table again.
func CanMakeAgain(table string) bool {
	_, refilled := tableLoss[table]
	return refilled || derivedTables[table]
}

// tableFault returns the code and the description of a missing table.
func tableFault(table string) (code, detail string) {
	switch loss, remade := tableLoss[table]; {
	case derivedTables[table]:
		return "schema-table", "the table is missing"
	case remade:
		return "schema-table-bare", "the table is missing: " + loss
	}
	return "schema-table-lost", "the table is missing"
}

// Schema finds missing and foreign parts of the schema. It works on databases
// that cannot be opened for that reason.
func Schema(ctx context.Context, path string) ([]store.Fault, error) {
	var k checkup
	err := dbfile.WithConn(ctx, path, dbfile.Options{ReadOnly: true}, func(c *dbfile.Conn) error {
		k.Conn = c
		_, err := k.schema()
		return err
	})
	return k.List, err
}
