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
		case !found:
			k.Fault("schema", want[name].Kind+" "+name, "it is missing")
		case !sameDefinition(o, want[name]):
			k.Fault("schema", o.Kind+" "+name, "its definition is not the one that lcm gives it")
		}
		whole = whole && (found || want[name].Kind != "table") && len(dbfile.MissingColumns(o, want[name])) == 0
	}
	return whole, k.foreign(have, want)
}

// foreign finds code, tables and indexes that are not part of lcm's schema.
func (k *checkup) foreign(have, want map[string]dbfile.Object) error {
	code, err := dbfile.ForeignCode(k.Conn)
	if err != nil {
		return err
	}
	for _, o := range code {
		k.Fault("schema-code", o.Kind+" "+o.Table, "it is not part of lcm's schema, and would run when the database is used")
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if _, known := want[name]; !known {
			k.Fault("schema-foreign", have[name].Kind+" "+name, "it is not part of lcm's schema: something else has put it there")
		}
	}
	return nil
}

// sameDefinition reports whether an object has its expected definition, in any order of
// its columns.
func sameDefinition(have, want dbfile.Object) bool {
	h, w := definition(have.Sql), definition(want.Sql)
	slices.Sort(h)
	slices.Sort(w)
	return have.Kind == want.Kind && have.Table == want.Table && slices.Equal(h, w)
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
