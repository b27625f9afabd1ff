package archtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// module loads the module that this test belongs to.
func module(t *testing.T) *Tree {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := Load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestModule(t *testing.T) {
	tree := module(t)
	checks := []struct {
		name  string
		check func(*Tree) []string
	}{
		{"imports", func(t *Tree) []string { return CheckImports(t, Layers) }},
		{"backends", func(t *Tree) []string { return CheckBackends(t, Layers) }},
		{"length", CheckLength},
		{"methods", CheckMethods},
		{"names", CheckNames},
		{"one name", CheckOneName},
		{"docs", CheckDocs},
		{"contexts", CheckContexts},
		{"bulk", CheckBulk},
	}
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			for _, sentence := range c.check(tree) {
				t.Error(sentence)
			}
		})
	}
}

func TestModuleIsThisOne(t *testing.T) {
	tree := module(t)
	if want := "github.com/lossless-context/lcm"; tree.Module != want {
		t.Fatalf("loaded module %q, want %q", tree.Module, want)
	}
	for _, dir := range tree.packages() {
		if dir == "internal/proof/archtest" {
			return
		}
	}
	t.Fatalf("the tree does not hold this package: %v", tree.packages())
}

// A package that two layers name would be checked against the first only.
func TestLayersNameEachPackageOnce(t *testing.T) {
	known := map[string]bool{}
	for _, layer := range Layers {
		for _, entry := range layer {
			if known[entry] {
				t.Errorf("%s is in two places", entry)
			}
			known[entry] = true
		}
	}
}

// tree parses a made-up module; the keys of files are paths.
func tree(t *testing.T, files map[string]string) *Tree {
	t.Helper()
	fsys := fstest.MapFS{"go.mod": {Data: []byte("module example.com/m\n\ngo 1.26\n")}}
	for name, src := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(src)}
	}
	loaded, err := Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func src(pkg string, imports ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n", pkg)
	for _, dir := range imports {
		fmt.Fprintf(&b, "import _ %q\n", strings.TrimSuffix("example.com/m/"+dir, "/"))
	}
	return b.String()
}

func TestCheckImports(t *testing.T) {
	layers := [][]string{{"llms"}, {"store"}, {"recall", "ingest"}, {"agents", "compact"}, {"."}, {"hosts/...", "sqlite"}, {"cmd/lcm/..."}}
	wrongWay := func(from, to int) string {
		return fmt.Sprintf(", which points the wrong way: layer %d may import lower layers only, and this is layer %d", from, to)
	}
	unknown := ": no layer names the package; add it to Layers in internal/proof/archtest/layers_test.go, at the lowest that fits"
	tests := []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"down is fine", map[string]string{"ingest/a.go": src("ingest", "store", "llms"), "a.go": src("lcm", "compact", "agents")}, nil},
		{"up", map[string]string{"store/a.go": src("store", "compact")}, []string{"store/a.go imports compact" + wrongWay(1, 3)}},
		{"sideways", map[string]string{"recall/a.go": src("recall", "ingest")}, []string{"recall/a.go imports ingest" + wrongWay(2, 2)}},
		{"to the root", map[string]string{"compact/a.go": src("compact", "")}, []string{"compact/a.go imports ." + wrongWay(3, 4)}},
		{"a backend in the engine", map[string]string{"a.go": src("lcm", "sqlite")}, []string{"a.go imports sqlite" + wrongWay(4, 5)}},
		{"a backend in the program", map[string]string{"cmd/lcm/a.go": src("main", "sqlite", "hosts")}, nil},
		{"within a subtree", map[string]string{"hosts/claude/a.go": src("claude", "hosts")}, nil},
		{"a package's own internals", map[string]string{"recall/a.go": src("recall", "recall/internal/postings"), "recall/internal/postings/a.go": src("postings", "llms")}, nil},
		{"internals of the root", map[string]string{"internal/gizmo/a.go": src("gizmo")}, []string{"internal/gizmo" + unknown}},
		{"unknown package", map[string]string{"gizmo/a.go": src("gizmo")}, []string{"gizmo" + unknown}},
		{"tests are free", map[string]string{"store/a_test.go": src("store", "sqlite")}, nil},
		{"not Go's business", map[string]string{"store/testdata/a.go": src("x", "compact"), "_old/a.go": src("x"), ".x/a.go": src("x"), "tool/go.mod": "module t\n", "tool/a.go": src("x")}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, CheckImports(tree(t, tt.files), layers)); diff != "" {
				t.Errorf("CheckImports (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckBackends(t *testing.T) {
	layers := [][]string{{"internal/record/store"}, {"internal/record/sqldb"}, {"internal/record/sqlite"}, {"internal/recall"}, {"."}, {"internal/cli"}}
	got := CheckBackends(tree(t, map[string]string{
		"a.go":                        src("lcm", "internal/recall", "internal/record/sqlite"),
		"a_test.go":                   src("lcm", "internal/record/sqlite"),
		"internal/recall/a.go":        src("recall", "internal/record/store", "internal/record/sqldb"),
		"internal/record/sqlite/a.go": src("sqlite", "internal/record/sqldb"),
		"internal/cli/a.go":           src("cli", "internal/record/sqlite"),
	}), layers)
	want := []string{
		"a.go imports internal/record/sqlite: the engine links no backend",
		"internal/recall/a.go imports internal/record/sqldb: the engine links no backend",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("CheckBackends (-want +got):\n%s", diff)
	}
}

func TestCheckLength(t *testing.T) {
	long := "package a\n" + strings.Repeat("//\n", MaxLines)
	got := CheckLength(tree(t, map[string]string{
		"a/a.go":      "package a\n" + strings.Repeat("//\n", MaxLines-1),
		"a/b.go":      long,
		"a/b_test.go": long,
		"a/b_gen.go":  long,
	}))
	want := []string{
		"a/b.go has 501 lines, more than 500: split it by what it is about",
		"a/b_test.go has 501 lines, more than 500: split it by what it is about",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("CheckLength (-want +got):\n%s", diff)
	}
}

func TestCheckNames(t *testing.T) {
	got := CheckNames(tree(t, map[string]string{"a/util/a.go": "package util", "b/b.go": "package misc", "c/c.go": "package c"}))
	want := []string{
		"a/util: name the package after what it is about",
		"b/b.go is of package misc: name the package after what it is about",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("CheckNames (-want +got):\n%s", diff)
	}
}

func TestCheckOneName(t *testing.T) {
	got := CheckOneName(tree(t, map[string]string{
		"internal/record/store/bridge.go": "package store\nimport \"example.com/m/record\"\ntype ID = record.ID",
		"internal/a/a.go":                 "package a\nimport \"example.com/m/record\"\nimport _ \"example.com/m/internal/record/store\"\nvar _ record.ID\nvar _ record.Input",
		"internal/below/b.go":             "package below\nimport \"example.com/m/record\"\nvar _ record.ID",
		"b/b.go":                          "package b\nimport \"example.com/m/record\"\nvar _ record.ID",
	}))
	want := []string{"internal/a/a.go uses record.ID: inside, its name is that of package store"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("CheckOneName (-want +got):\n%s", diff)
	}
}

func TestCheckDocs(t *testing.T) {
	got := CheckDocs(tree(t, map[string]string{
		"good/good.go":        "// Package good is.\npackage good",
		"bare/bare.go":        "package bare",
		"odd/odd.go":          "// This package is odd.\npackage odd",
		"cmd/x/main.go":       "// X does things.\npackage main",
		"elsewhere/doc.go":    "// Package elsewhere is.\npackage elsewhere",
		"elsewhere/rest.go":   "package elsewhere",
		"proof/proof_test.go": "// Package proof_test has only tests.\npackage proof_test",
	}))
	want := []string{
		"bare has no package comment: say what it is for, what it promises and what it leaves to others",
		`odd: its package comment must begin with "Package odd "`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("CheckDocs (-want +got):\n%s", diff)
	}
}

func TestCheckContexts(t *testing.T) {
	use := func(pkg, spec, name, fn string) string {
		return fmt.Sprintf("package %s\nimport %s\nvar c = %s.%s()\n", pkg, spec, name, fn)
	}
	got := CheckContexts(tree(t, map[string]string{
		"store/a.go":      use("store", `"context"`, "context", "Background"),
		"store/b.go":      use("store", `ctx "context"`, "ctx", "TODO"),
		"store/c_test.go": use("store", `"context"`, "context", "Background"),
		"store/d.go":      use("store", `"example.com/context"`, "context", "Background"),
		"core/a.go":       use("core", `"context"`, "context", "Background"),
		"cmd/lcm/a.go":    use("main", `"context"`, "context", "Background"),
	}))
	want := []string{
		"store/a.go uses context.Background: take a context from the caller",
		"store/b.go uses context.TODO: take a context from the caller",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("CheckContexts (-want +got):\n%s", diff)
	}
}

func TestCheckBulk(t *testing.T) {
	got := CheckBulk(tree(t, map[string]string{
		"agents/a.go":      "package agents\nimport \"github.com/tiktoken-go/tokenizer\"\n",
		"agents/a_test.go": "package agents\nimport \"text/template\"\n",
	}))
	want := []string{"agents/a.go imports github.com/tiktoken-go/tokenizer: it holds its vocabularies in Go maps: use llms/tiktoken"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("CheckBulk (-want +got):\n%s", diff)
	}
}

func TestLoadErrors(t *testing.T) {
	for name, fsys := range map[string]fstest.MapFS{
		"no go.mod": {},
		"no module": {"go.mod": {Data: []byte("go 1.26\n")}},
		"not Go":    {"go.mod": {Data: []byte("module m\n")}, "a.go": {Data: []byte("hello")}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Load(fsys); err == nil {
				t.Error("Load succeeded, want an error")
			}
		})
	}
}
