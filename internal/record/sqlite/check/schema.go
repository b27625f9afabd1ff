package check

import (
	"context"
	"maps"
	"slices"
	"strings"

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
		case !found && want[name].Kind == "table" && slices.Contains([]string{"forgotten", "tombstones", "tombstone_salt"}, name):
			k.Fault("schema-table", "table "+name, "the table is missing: erased messages may be imported again")
		case !found && want[name].Kind == "table":
			k.Fault("schema-table", "table "+name, "the table is missing")
		case !found:
			k.Fault("schema-index", want[name].Kind+" "+name, "the %s of the table %s is missing", want[name].Kind, want[name].Table)
		default:
			for _, col := range dbfile.MissingColumns(o, want[name]) {
				whole = false
				k.Fault("schema-column", "table "+name, "its column %s is missing", col.Name)
			}
		}
		whole = whole && (found || want[name].Kind != "table")
	}
	return whole, k.foreign(have, want)
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

// sameDefinition reports whether an object has its expected definition, in any order of
// its columns. Missing columns are reported elsewhere.
func sameDefinition(have, want dbfile.Object) bool {
	parts, whole := definition(want.Sql), len(dbfile.MissingColumns(have, want)) == 0
	odd := func(part string) bool { return !slices.Contains(parts, part) }
	return have.Kind == want.Kind && have.Table == want.Table && !slices.ContainsFunc(definition(have.Sql), odd) &&
		(!whole || len(definition(have.Sql)) == len(parts))
}

var sqlComment = lazyregexp.New(`--[^\n]*`)

// definition splits a CREATE statement into columns and constraints.
func definition(sql string) (parts []string) {
	sql = strings.ReplaceAll(sqlComment().ReplaceAllString(sql, ""), `"`, "")
	for _, part := range strings.FieldsFunc(sql, func(r rune) bool { return strings.ContainsRune("(),", r) }) {
		if words := strings.Fields(part); len(words) > 0 {
			parts = append(parts, strings.Join(words, " "))
		}
	}
	return parts
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
