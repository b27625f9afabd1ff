package doctor

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the table of codes in docs/TROUBLE.md")

const (
	tableBegins = "<!-- codes: go test ./internal/cli/doctor -run Docs -update -->\n"
	tableEnds   = "<!-- end of codes -->\n"
)

// The table of codes in the docs is the one in the program.
func TestDocsListEveryCode(t *testing.T) {
	var b strings.Builder
	rows := map[string][]string{} // the codes by the other cell
	for _, code := range slices.Sorted(maps.Keys(catalogue)) {
		e := explain(code)
		do := e.advice
		if e.fix != "" {
			do = strings.TrimSuffix("`--fix`: "+e.fix+". Else: "+do, ". Else: ")
		}
		if e.severity != Problem {
			do += " (" + string(e.severity) + ")"
		}
		rows[do] = append(rows[do], "`"+code+"`")
	}
	for _, do := range slices.SortedFunc(maps.Keys(rows), func(a, b string) int { return strings.Compare(rows[a][0], rows[b][0]) }) {
		fmt.Fprintf(&b, "- %s: %s\n", strings.Join(rows[do], ", "), do)
	}
	e := explain(strings.Fields(derived[0].codes)[0])
	fmt.Fprintf(&b, "\nOf these codes `--fix` is: %s. Else: %s.\n\n", e.fix, e.advice)
	for _, d := range derived {
		fmt.Fprintf(&b, "- %s: `%s`\n", d.about, strings.Join(strings.Fields(d.codes), "`, `"))
	}
	path := filepath.Join("..", "..", "..", "docs", "TROUBLE.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), tableBegins)
	have, after, closed := strings.Cut(rest, tableEnds)
	if !ok || !closed {
		t.Fatal("docs/TROUBLE.md has no place for the table")
	}
	if have == b.String() {
		return
	}
	if !*update {
		t.Fatal("the table of codes in docs/TROUBLE.md is not that of the program: run go test ./internal/cli/doctor -run Docs -update")
	}
	if err := os.WriteFile(path, []byte(before+tableBegins+b.String()+tableEnds+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
