package archive

import (
	"slices"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
)

// Every table is either archived or made anew, and a merge copies every column
// of the tables of a conversation: a schema change that adds one must decide.
func TestArchivesHaveEverything(t *testing.T) {
	schema, err := dbfile.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, d := range Dumped {
		known = append(known, d.Table)
		if d.some == "" {
			continue
		}
		for _, col := range schema[d.Table].Columns {
			if slices.Contains([]string{"conversations.erased_at", "conversations.seal", "projects.id"}, d.Table+"."+col.Name) {
				continue // erased ones are not merged; projects are numbered and conversations sealed anew
			}
			i := slices.IndexFunc(mergeSQL, func(sql string) bool { return strings.HasPrefix(sql, "INSERT INTO "+d.Table+" (") })
			if i < 0 || !strings.Contains(strings.SplitN(mergeSQL[i], ")", 2)[0], col.Name) {
				t.Errorf("a merge does not copy %s.%s", d.Table, col.Name)
			}
		}
	}
	for name, o := range schema {
		if o.Kind == "table" && !slices.Contains(known, name) && !slices.Contains(undumped, name) {
			t.Errorf("the table %s is neither archived nor made anew", name)
		}
	}
}
