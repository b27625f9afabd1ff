package move

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
)

// Every table is either moved or made anew, and a merge knows every column that refers to
// a row of another table: a schema change that adds one must decide.
func TestMovesEverything(t *testing.T) {
	schema, err := dbfile.Schema()
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range schema {
		if o.Kind != "table" || slices.Contains([]string{"segments", "sections", "lanes"}, name) {
			continue
		}
		i := slices.IndexFunc(tables, func(t table) bool { return t.name == name })
		if i < 0 {
			t.Errorf("the table %s is neither moved nor made anew", name)
			continue
		}
		if tables[i].some == "" {
			continue // not merged
		}
		for line := range strings.Lines(o.Sql) {
			if column, of, ok := strings.Cut(line, " REFERENCES "); ok {
				of = strings.Trim(strings.Fields(of)[0], ",)")
				if want := strings.Trim(strings.Fields(column)[0], `"`) + "=" + of; !slices.Contains(strings.Fields(tables[i].ids), want) {
					t.Errorf("a merge does not know %s.%s", name, want)
				}
			}
		}
	}
}

// Only files of lcm's own pattern that are a day old go.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-25 * time.Hour)
	for name, at := range map[string]time.Time{
		".lcm-1.part": old, ".lcm-1.part-wal": old, ".lcm-2.part-shm": old,
		".lcm-3.part": time.Now(), ".lcm-x.part": old, ".lcm-5.part.bak": old, "lcm-6.part": old, ".lcm-7.part-wal2": old, "lcm.db": old,
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	part, err := newPart(filepath.Join(dir, "new.db")) // whoever makes the next one sweeps
	if err != nil {
		t.Fatal(err)
	}
	Sweep(dir)
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	hidden, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range append(left, hidden...) {
		names = append(names, filepath.Base(name))
	}
	slices.Sort(names)
	want := []string{".lcm-3.part", ".lcm-5.part.bak", ".lcm-7.part-wal2", filepath.Base(part), ".lcm-x.part", "lcm-6.part", "lcm.db"}
	slices.Sort(want)
	if names = slices.Compact(names); !slices.Equal(names, want) {
		t.Errorf("left %q, want %q", names, want)
	}
}
