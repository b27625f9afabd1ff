package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// Layers is the order of imports, from the bottom up: a package may import
// packages of lower layers. "/..." after a directory means everything below it,
// whose packages may import each other. docs/DESIGN.md tells the reasons.
var Layers = [][]string{
	{
		"internal/hint",
		"internal/lazyregexp",
		"internal/prose",
		"internal/safetext",
	}, {
		// They know bytes and text, and nothing of this module.
		"core",
		"internal/explore",
		"internal/guard",
		"internal/httpbody",
		"internal/jsonstring",
		"internal/otlp",
		"internal/process",
		"internal/regularfile",
		"internal/search/...",
		"internal/tomledit",
		"internal/toolname",
		"internal/tracing",
		"internal/turns",
	}, {
		"internal/config",
		"internal/redact/...",
		"llms",
	}, {
		"internal/wire",
	}, {
		"internal/summary",
		"tools",
	}, {
		"internal/store",
	}, {
		"internal/secondhand",
	}, {
		// The record in SQL, for every backend. CheckBackends keeps the engine from
		// importing it.
		"internal/sqldb",
	}, {
		"internal/sqldb/seal",
	}, {
		"internal/sqldb/state",
		"internal/sqldb/tombstone",
	}, {
		"internal/sqldb/record",
	}, {
		"internal/sqldb/erase",
		"internal/sqldb/search",
		"internal/sqldb/stats",
		"internal/sqldb/transfer",
		"internal/sqldb/vectors",
		"internal/sqldb/verify",
	}, {
		// The SQLite backend: internal/sqlite implements the store with these.
		"internal/sqlite/dbfile",
	}, {
		"internal/sqlite/check",
	}, {
		"internal/sqlite/repair",
	}, {
		"internal/sqlite/backup",
	}, {
		"internal/sqlite/archive",
	}, {
		"internal/sqlite/salvage",
	}, {
		"internal/postgres/...",
		"internal/sqlite",
	}, {
		"internal/assemble",
		"internal/ingest",
		"internal/lease",
		"internal/portable",
		"internal/project",
		"internal/recall",
		"internal/scope",
		"internal/spend",
		"internal/storetest",
	}, {
		// The runtime knows nothing of the record, and the record nothing of
		// the runtime: they meet in the root package.
		"agents",
		"internal/access",
		"internal/compact",
		"internal/delegation",
	}, {
		"internal/engineconfig",
	}, {
		".",
	}, {
		// The engine links no provider: they are above it.
		"internal/hosts/...",
		"internal/mcpserver",
		"internal/sample",
		"internal/scopetest",
		"internal/teamsync",
		"llms/anthropic",
		"llms/llmtest",
		"llms/openai",
		"llms/tiktoken",
	}, {
		"internal/backendtest",
		"internal/doctor",
		"internal/fromconfig",
		"internal/proxy/...",
		"internal/teamserver",
		"store/postgres",
		"store/sqlite",
	}, {
		"internal/ui",
	}, {
		"examples/...",
		"internal/bench/...",
		"internal/faulttest",
	}, {
		"internal/cli",
	}, {
		"bench",
		"cmd/lcm",
		"e2e",
		"internal/archtest",
	},
}

// layerOf finds the layer of a package and the entry that names it. The
// internal packages below a package belong to its entry.
func layerOf(layers [][]string, dir string) (layer int, entry string, ok bool) {
	for i, entries := range layers {
		for _, e := range entries {
			base, subtree := strings.CutSuffix(e, "/...")
			if dir == base || strings.HasPrefix(dir, base+"/internal/") || subtree && strings.HasPrefix(dir, base+"/") {
				return i, e, true
			}
		}
	}
	return 0, "", false
}

// CheckImports reports packages that no layer names, and imports between
// packages of the module that do not point downwards.
func CheckImports(t *Tree, layers [][]string) []string {
	var wrong []string
	for _, dir := range t.packages() {
		if _, _, ok := layerOf(layers, dir); !ok {
			wrong = append(wrong, fmt.Sprintf("%s: no layer names the package; add it to Layers in internal/archtest/layers_test.go, at the lowest that fits", dir))
		}
	}
	for _, f := range t.Files {
		from, entry, ok := layerOf(layers, f.Dir())
		if !ok || f.IsTest() {
			continue
		}
		for _, dir := range t.imports(f) {
			to, other, ok := layerOf(layers, dir)
			if ok && entry != other && to >= from {
				wrong = append(wrong, fmt.Sprintf("%s imports %s, which points the wrong way: layer %d may import lower layers only, and this is layer %d", f.Path, dir, from, to))
			}
		}
	}
	slices.Sort(wrong)
	return slices.Compact(wrong)
}

// Backends are the packages that keep the record in a database, with those below them.
var Backends = []string{"internal/postgres", "internal/sqldb", "internal/sqlite"}

// CheckBackends reports imports of a backend by the engine or by a package that the
// engine may import. Backends are in low layers because they must not import the engine;
// the program that embeds the engine chooses the backend.
func CheckBackends(t *Tree, layers [][]string) []string {
	isBackend := func(dir string) bool {
		return slices.ContainsFunc(Backends, func(b string) bool { return dir == b || strings.HasPrefix(dir, b+"/") })
	}
	engine, _, _ := layerOf(layers, ".")
	var wrong []string
	for _, f := range t.Files {
		from, _, ok := layerOf(layers, f.Dir())
		if !ok || from > engine || f.IsTest() || isBackend(f.Dir()) {
			continue
		}
		for _, dir := range t.imports(f) {
			if isBackend(dir) {
				wrong = append(wrong, fmt.Sprintf("%s imports %s: the engine links no backend", f.Path, dir))
			}
		}
	}
	return wrong
}
