package check

import (
	"maps"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/record/proof/verify"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
)

// schema compares the schema with that of a sound database. whole says that nothing
// is missing that reading needs.
func schema(c *dbfile.Conn, f *verify.Findings) (whole bool, err error) {
	have, err := dbfile.Objects(c)
	if err != nil {
		return false, err
	}
	want, err := dbfile.Schema()
	if err != nil {
		return false, err
	}
	whole = true
	for _, name := range slices.Sorted(maps.Keys(want)) {
		o, found := have[name]
		switch {
		case !found:
			f.Fault("schema", want[name].Kind+" "+name, "it is missing")
		case !sameDefinition(o, want[name]):
			f.Fault("schema", o.Kind+" "+name, "its definition is not the one that lcm gives it")
		}
		columns := o.ColumnNames()
		whole = whole && (found || want[name].Kind != "table") &&
			!slices.ContainsFunc(want[name].ColumnNames(), func(name string) bool { return !slices.Contains(columns, name) })
	}
	code, err := dbfile.ForeignCode(c)
	for _, o := range code {
		f.Fault("schema-code", o.Kind+" "+o.Table, "it is not part of lcm's schema, and would run when the database is used")
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if _, known := want[name]; !known {
			f.Fault("schema-foreign", have[name].Kind+" "+name, "it is not part of lcm's schema: something else has put it there")
		}
	}
	return whole, err
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
