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
		// Folders, with nothing but a doc.
		"internal/proof",
		"internal/recall",
		"internal/record",
		"internal/record/proof",
		"internal/settings",
		"internal/kit",
		"internal/team",
		"internal/view",
		"internal/kit/hint",
		"internal/kit/lazyregexp",
		"internal/kit/prose",
		"internal/kit/safetext",
	}, {
		// They know bytes and text, and nothing of this module.
		"core",
		"internal/record/explore",
		"internal/kit/guard",
		"internal/kit/httpbody",
		"internal/kit/jsonstring",
		"internal/kit/otlp",
		"internal/kit/process",
		"internal/kit/regularfile",
		"internal/search/...",
		"internal/kit/tomledit",
		"internal/kit/toolname",
		"internal/kit/tracing",
		"internal/kit/turns",
	}, {
		"internal/settings/config",
		"llms",
	}, {
		// The public data types.
		"record",
	}, {}, {
		"internal/privacy/...",
		"recall",
	}, {
		"internal/wire",
	}, {
		"internal/view/notes",
	}, {
		"internal/view/summary",
		"tools",
	}, {
		"internal/record/store",
	}, {
		"internal/recall/secondhand",
		"internal/recall/support",
		"internal/record/ingest",
	}, {
		"internal/recall/quote",
		// The record in SQL, for every backend. CheckBackends keeps the engine from
		// importing it.
		"internal/record/sqldb",
	}, {
		"internal/record/proof/seal",
	}, {
		"internal/record/sqldb/mapitems",
		"internal/record/sqldb/state",
		"internal/record/sqldb/tombstone",
	}, {
		"internal/record/sqldb/rows",
	}, {
		"internal/record/sqldb/erase",
		"internal/record/sqldb/search",
		"internal/record/sqldb/stats",
		"internal/record/archive",
		"internal/record/sqldb/vectors",
		"internal/record/proof/verify",
	}, {
		// The SQLite backend: internal/record/sqlite implements the store with these.
		"internal/record/sqldb/backend",
		"internal/record/sqlite/dbfile",
	}, {
		"internal/record/sqlite/check",
		"internal/record/sqlite/pages",
		"internal/record/sqlite/rebuild",
	}, {
		"internal/record/move",
	}, {
		"internal/record/postgres/...",
		"internal/record/sqlite",
	}, {
		"internal/view/assemble",
		"internal/record/lease",
		"internal/record/mapjob",
		"internal/record/project",
		"internal/recall/lookup",
		"internal/record/scope",
		"internal/record/spend",
		"internal/proof/storetest",
	}, {
		// The runtime knows nothing of the record, and the record nothing of
		// the runtime: they meet in the root package.
		"agents",
		"internal/team/access",
		"internal/view/compact",
		"internal/recall/brief",
		"internal/recall/delegation",
		"internal/recall/reminder",
	}, {
		"internal/settings/engineconfig",
	}, {
		".",
	}, {
		"internal/hosts/...",
		"internal/recall/gonefiles", // the library does not look at files
		"internal/recall/why",
	}, {
		// The engine links no provider: they are above it.
		"internal/mcpserver",
		"internal/proof/sample",
		"internal/proof/scopetest",
		"internal/team/teamsync",
		"llms/anthropic",
		"llms/llmtest",
		"llms/openai",
		"llms/tiktoken",
	}, {
		"internal/proof/backendtest",
		"internal/cli/doctor",
		"internal/cli/fromconfig",
		"internal/proxy/...",
		"internal/team/teamserver",
		"store/postgres",
		"store/sqlite",
	}, {
		"internal/engine",
		"internal/team/peersync",
		"internal/ui",
	}, {
		"examples/...",
		"bench/...",
		"internal/enginetest",
		"internal/proof/faulttest",
	}, {
		"internal/cli",
	}, {
		"bench",
		"cmd/lcm",
		"e2e",
		"scripts",
		"scripts/plugins",
		"scripts/tokens",
		"internal/proof/archtest",
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
			wrong = append(wrong, fmt.Sprintf("%s: no layer names the package; add it to Layers in internal/proof/archtest/layers_test.go, at the lowest that fits", dir))
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
var Backends = []string{"internal/record/move", "internal/record/postgres", "internal/record/proof", "internal/record/sqldb", "internal/record/sqlite"}

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
