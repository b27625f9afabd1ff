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
		switch loss := tableLoss[name]; {
		case !found && want[name].Kind == "table" && loss != "":
			k.Fault("schema-table", "table "+name, "the table is missing: %s", loss)
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

// tableLoss describes the loss that remains where a table is missing. The other tables
// hold only rows that follow from these.
var tableLoss = map[string]string{
	"messages":       "all messages are gone",
	"conversations":  "the names, titles and projects of all conversations are gone",
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
