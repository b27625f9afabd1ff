package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// Rule places a package, or with "/..." a directory and everything below it,
// in the order of imports. The internal packages below a package belong to its
// rule; those of the root do not.
//
// A package may import what lies in a lower layer, and the packages of its own
// rule. The other fields narrow or widen that.
type Rule struct {
	Package string // directory from the module's root, "." for the root package
	Layer   int
	// Only, when not nil, names the rules that the package may import; every
	// other package of the module is forbidden, whatever its layer.
	Only []string
	// Also names rules of the same layer that the package may import.
	Also []string
	// For, when not nil, names the rules that may import the package.
	For []string
}

// edge lists the rules at which a program is put together: the only ones that
// choose a backend or a provider.
var edge = []string{"fromconfig", "cmd/lcm/...", "examples/...", "bench/...", "internal/faulttest"}

// Table is the order of imports, from the bottom up. docs/DESIGN.md tells the
// reasons.
var Table = []Rule{
	{Package: "core", Layer: 0, Only: []string{}},
	{Package: "internal/process", Layer: 0, Only: []string{}},
	{Package: "internal/regularfile", Layer: 0, Only: []string{}},
	{Package: "internal/safetext", Layer: 0, Only: []string{}},

	{Package: "llms", Layer: 1, Only: []string{"core"}},
	{Package: "explore", Layer: 1, Only: []string{}},
	// The search engine knows documents and bytes, not messages and stores.
	{Package: "index", Layer: 1, Only: []string{}},
	// What should not be remembered is told by its bytes alone.
	{Package: "redact", Layer: 1, Only: []string{}},
	{Package: "config", Layer: 1, Only: []string{}, For: []string{"fromconfig", "cmd/lcm/...", "examples/..."}},

	// Providers and tokenizers link large libraries, so embedding the engine
	// must not pull them in.
	{Package: "llms/anthropic", Layer: 2, Only: []string{"core", "llms"}, For: edge},
	{Package: "llms/openai", Layer: 2, Only: []string{"core", "llms"}, For: edge},
	{Package: "llms/tiktoken", Layer: 2, Only: []string{"core", "llms"}, For: edge},
	{Package: "llms/llmtest", Layer: 2, Only: []string{"core", "llms"}, For: edge},

	{Package: "summary", Layer: 2, Only: []string{"core", "llms", "explore"}},
	// A stored summary carries the kind and level that package summary names.
	{Package: "store", Layer: 2, Also: []string{"summary"}},
	{Package: "tools", Layer: 2, Only: []string{"core", "llms"}},

	{Package: "ingest", Layer: 3},
	{Package: "project", Layer: 3, Only: []string{"internal/regularfile", "store"}},
	{Package: "assemble", Layer: 3},
	{Package: "spend", Layer: 3, Only: []string{"core", "llms", "store"}},
	// What a query's words are is for the index to say: two readings of one
	// query would mark what the other did not find.
	{Package: "recall", Layer: 3},
	// The runtime knows nothing of the record, and the record nothing of the
	// runtime: they meet in the root package.
	{Package: "agents", Layer: 3, Only: []string{"core", "llms", "tools"},
		For: append([]string{".", "hosts/...", "mcpserver"}, edge...)},
	{Package: "store/storetest", Layer: 3, Only: []string{"core", "llms", "summary", "store"}, For: []string{}},

	{Package: "store/sqlite", Layer: 4, Only: []string{"store", "summary", "llms", "explore", "index"}, For: append([]string{"doctor"}, edge...)},
	{Package: "store/postgres", Layer: 4, Only: []string{"store", "summary", "llms", "explore", "index"}, For: edge},

	{Package: "compact", Layer: 4},
	{Package: "delegation", Layer: 4},

	{Package: ".", Layer: 5},

	{Package: "hosts/...", Layer: 6},
	{Package: "mcpserver", Layer: 6},
	// It links the providers, which the engine must not.
	{Package: "fromconfig", Layer: 6, For: []string{"cmd/lcm/...", "examples/..."}},
	// It mends the embedded store, and only that.
	{Package: "doctor", Layer: 6},
	{Package: "portable", Layer: 3, Only: []string{"core", "llms", "store"}},

	{Package: "sample", Layer: 7, Only: []string{"core", "llms"}, For: edge},
	{Package: "bench/...", Layer: 7, Also: []string{"sample"}, For: []string{"cmd/lcm/..."}},
	{Package: "examples/...", Layer: 7, Also: []string{"sample"}, For: []string{}},
	{Package: "cmd/lcm/...", Layer: 7, Also: []string{"sample", "bench/..."}, For: []string{}},

	{Package: "internal/faulttest", Layer: 7, For: []string{}},
	{Package: "e2e", Layer: 7, Also: []string{"sample"}, For: []string{}},

	{Package: "internal/archtest", Layer: 7, Only: []string{}, For: []string{}},
}

// covers reports whether the rule speaks about the package in dir.
func (r Rule) covers(dir string) bool {
	base, subtree := strings.CutSuffix(r.Package, "/...")
	return dir == base || strings.HasPrefix(dir, base+"/internal/") || subtree && strings.HasPrefix(dir, base+"/")
}

// forbids says why a package under r may not import one under to, or nothing
// if it may.
func (r Rule) forbids(to Rule) string {
	switch {
	case r.Package == to.Package:
		return ""
	case r.Only != nil && !slices.Contains(r.Only, to.Package):
		return "may import nothing of this module but " + list(r.Only)
	case to.For != nil && !slices.Contains(to.For, r.Package):
		return "may not: only " + list(to.For) + " may import it"
	case slices.Contains(r.Also, to.Package):
		return ""
	case to.Layer >= r.Layer:
		return fmt.Sprintf("points the wrong way: layer %d may import lower layers only, and this is layer %d", r.Layer, to.Layer)
	}
	return ""
}

func list(rules []string) string {
	if len(rules) == 0 {
		return "its own tests"
	}
	return strings.Join(rules, ", ")
}

// CheckImports reports packages that the table does not know, and imports
// between packages of the module that it does not allow.
func CheckImports(t *Tree, table []Rule) []string {
	var wrong []string
	for _, dir := range t.packages() {
		if _, ok := find(table, dir); !ok {
			wrong = append(wrong, fmt.Sprintf("%s: the package is not in the table of layers; add it to Table in internal/archtest/layers.go, at the lowest layer that fits", dir))
		}
	}
	for _, f := range t.Files {
		from, ok := find(table, f.Dir())
		if !ok || f.IsTest() {
			continue
		}
		for _, dir := range t.imports(f) {
			to, ok := find(table, dir)
			if !ok {
				continue // reported above, where the package exists
			}
			if why := from.forbids(to); why != "" {
				wrong = append(wrong, fmt.Sprintf("%s imports %s: %s %s", f.Path, dir, f.Dir(), why))
			}
		}
	}
	return wrong
}

func find(table []Rule, dir string) (Rule, bool) {
	i := slices.IndexFunc(table, func(r Rule) bool { return r.covers(dir) })
	if i < 0 {
		return Rule{}, false
	}
	return table[i], true
}
