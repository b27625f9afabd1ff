package patterns

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sources writes a file of Go text.
func sources(t *testing.T) string {
	dir := t.TempDir()
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, "func number%d() error { return fmt.Errorf(\"code %d\") } // 2026-01-%02d\n", i, 7*i, i%28+1)
	}
	if err := os.WriteFile(filepath.Join(dir, "numbers.go"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Every count equals that of a loop over all texts, or Measure fails; without rg
// the report says that there is nothing to compare the times with.
func TestMeasureWithoutRipgrep(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	r, err := Measure(t.Context(), Options{Messages: 300, Runs: 1, Sources: []string{sources(t)}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if r.Messages != 300 || len(r.Rows) != len(List()) || r.Ripgrep || len(r.Checks()) != 0 {
		t.Errorf("%d messages, %d rows, rg: %v", r.Messages, len(r.Rows), r.Ripgrep)
	}
	found := 0
	for _, row := range r.Rows {
		if row.Expr == `fmt\.Errorf\(` {
			found = row.Matched
		}
	}
	if found != 100 { // every third message is a tool output
		t.Errorf("a call is found in %d messages", found)
	}
	if text := r.Text(); !strings.Contains(text, "rg is not installed") {
		t.Error(text)
	}
}

func TestListHasFortyKinds(t *testing.T) {
	kinds, indexed := map[string]bool{}, 0
	for _, p := range List() {
		kinds[p.Kind] = true
		if !p.Scan {
			indexed++
		}
	}
	if len(kinds) != 40 || indexed < 32 {
		t.Errorf("%d kinds, %d with something to look up", len(kinds), indexed)
	}
}

func TestChecksCountRows(t *testing.T) {
	r := Report{Ripgrep: true, Rows: []Row{
		{Page: 15, Rg: 10}, {Page: 16, Rg: 10}, {Page: 0.9, Rg: 0.1},
		{Pattern: Pattern{Scan: true}, Page: 50, Rg: 10}, {Pattern: Pattern{Scan: true}, Page: 51, Rg: 10},
	}}
	c := r.Checks()
	if c[0].Got != 2 || c[0].Target != 3 || c[1].Got != 1 || c[1].Target != 2 {
		t.Errorf("%+v", c)
	}
}

// Ranked searches are measured beside a table of FTS5 with the same messages,
// which is made once.
func TestMeasureWords(t *testing.T) {
	o := Options{Messages: 300, Runs: 1, Sources: []string{sources(t)}, Dir: t.TempDir()}
	for range 2 {
		r, err := MeasureWords(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if r.Messages != 300 || len(r.Rows) != len(wordKinds) || len(r.Checks()) != 1 {
			t.Errorf("%d messages, %d rows", r.Messages, len(r.Rows))
		}
		for _, row := range r.Rows {
			if row.Kind == "common word" && row.Matched < 200 { // error and return are in each of 100 tool outputs
				t.Errorf("%d messages have the words", row.Matched)
			}
		}
		if text := r.Text(); !strings.Contains(text, "lcm/FTS5") {
			t.Error(text)
		}
	}
	c, err := connectFTS5(t.Context(), filepath.Join(o.Dir, "fts5.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, _, err := c.Prepare(`SELECT count(*) FROM text WHERE text MATCH 'errorf'`)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !s.Step() || s.ColumnInt(0) != 100 {
		t.Errorf("FTS5 finds a call in %d messages: %v", s.ColumnInt(0), s.Err())
	}
}
