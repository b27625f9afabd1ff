package archtest

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wing is the folder that a package belongs to: a folder of internal, or a public package with
// those below it. The providers are a wing of their own, above the codec that writes their JSON.
func wing(dir string) string {
	first, rest, _ := strings.Cut(dir, "/")
	if first == "internal" {
		second, _, _ := strings.Cut(rest, "/")
		return "internal/" + second
	}
	if first == "llms" && rest != "" {
		return "llms/*"
	}
	return first
}

// outside are the wings that the drawing leaves out: they look at all the others.
var outside = []string{"bench", "cmd", "e2e", "examples", "internal/enginetest", "internal/proof", "scripts"}

// Wings returns one line for each folder, "folder: what it imports", for those of the order
// first, in this order.
func Wings(t *Tree, order []string) []string {
	imports := map[string][]string{}
	for _, f := range t.Files {
		from := wing(f.Dir())
		if f.IsTest() || slices.Contains(outside, from) {
			continue
		}
		imports[from] = append(imports[from], "") // it is a folder, even without imports
		for _, dir := range t.imports(f) {
			if to := wing(dir); to != from && !slices.Contains(outside, to) {
				imports[from] = append(imports[from], to)
			}
		}
	}
	place := func(w string) int {
		if i := slices.Index(order, w); i >= 0 {
			return i
		}
		return len(order)
	}
	var lines []string
	for from, to := range imports {
		slices.SortFunc(to, func(a, b string) int { return 2*(place(a)-place(b)) + strings.Compare(a, b) })
		to = slices.DeleteFunc(slices.Compact(to), func(w string) bool { return w == "" })
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%-19s %s", from+":", strings.Join(to, ", "))))
	}
	slices.SortFunc(lines, func(a, b string) int {
		a, _, _ = strings.Cut(a, ":")
		b, _, _ = strings.Cut(b, ":")
		return 2*(place(a)-place(b)) + strings.Compare(a, b)
	})
	return lines
}

// CheckWings reports imports between folders that do not point downwards. The lines are in
// order from the top down.
func CheckWings(lines []string) []string {
	var wrong []string
	above := map[string]bool{}
	for _, line := range lines {
		from, to, _ := strings.Cut(line, ":")
		above[from] = true
		for to := range strings.SplitSeq(to, ",") {
			if to = strings.TrimSpace(to); above[to] {
				wrong = append(wrong, fmt.Sprintf("%s imports %s, which is above it", from, to))
			}
		}
	}
	return wrong
}

var update = flag.Bool("update", false, "draw the folders in docs/DESIGN.md anew")

// The drawing of the folders in docs/DESIGN.md is what the code does, and has no circle.
func TestFoldersAreAsDrawn(t *testing.T) {
	page, err := os.ReadFile("../../../docs/DESIGN.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "<!-- folders -->\n")
	drawing, _, ends := strings.Cut(rest, "<!-- end -->")
	if !ok || !ends {
		t.Fatal("docs/DESIGN.md has no drawing of the folders")
	}
	var drawn, order []string
	for line := range strings.Lines(drawing) {
		if line = strings.TrimSpace(line); line != "" {
			from, _, _ := strings.Cut(line, ":")
			drawn, order = append(drawn, line), append(order, from)
		}
	}
	code := Wings(module(t), order)
	if *update {
		lines := "    " + strings.Join(code, "\n    ") + "\n"
		if err := os.WriteFile("../../../docs/DESIGN.md", []byte(strings.Replace(string(page), drawing, lines, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		drawn = code
	}
	if diff := cmp.Diff(code, drawn); diff != "" {
		t.Errorf("docs/DESIGN.md draws other imports between the folders (- code, + page); -update draws them anew:\n%s", diff)
	}
	for _, sentence := range CheckWings(drawn) {
		t.Error(sentence)
	}
}

func TestCircleOfFoldersIsFound(t *testing.T) {
	made := tree(t, map[string]string{
		"internal/record/store/a.go": "package store\nimport _ \"example.com/m/internal/recall/rank\"",
		"internal/recall/rank/a.go":  "package rank",
		"internal/recall/look/a.go":  "package look\nimport _ \"example.com/m/internal/record/store\"",
	})
	lines := Wings(made, []string{"internal/recall", "internal/record"})
	want := []string{"internal/record imports internal/recall, which is above it"}
	if diff := cmp.Diff(want, CheckWings(lines)); diff != "" {
		t.Errorf("%s in %v", diff, lines)
	}
}
