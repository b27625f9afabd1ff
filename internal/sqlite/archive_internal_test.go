package sqlite

import (
	"slices"
	"strings"
	"testing"
)

// Every table is either archived or made anew, and a merge copies every column
// of what belongs to a conversation: a migration that adds one must decide.
func TestArchivesHaveEverything(t *testing.T) {
	all, err := steps()
	if err != nil {
		t.Fatal(err)
	}
	schema, err := schemaAt(len(all))
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, d := range dumped {
		known = append(known, d.table)
		if d.some == "" {
			continue
		}
		for _, col := range schema[d.table].columns {
			if d.table+"."+col.name == "conversations.erased_at" || d.table+"."+col.name == "projects.id" {
				continue // erased ones are not merged, and projects are numbered anew
			}
			i := slices.IndexFunc(mergeSQL, func(sql string) bool { return strings.HasPrefix(sql, "INSERT INTO "+d.table+" (") })
			if i < 0 || !strings.Contains(strings.SplitN(mergeSQL[i], ")", 2)[0], col.name) {
				t.Errorf("a merge does not copy %s.%s", d.table, col.name)
			}
		}
	}
	for name, o := range schema {
		if o.kind == "table" && !slices.Contains(known, name) && !slices.Contains(undumped, name) {
			t.Errorf("the table %s is neither archived nor made anew", name)
		}
	}
}
