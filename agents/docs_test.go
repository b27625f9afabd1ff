package agents_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/tools"
)

// pages are the documents about the runtime. What they claim is checked here,
// as far as it can be.
var pages = []string{"DISCOVERABLE.md", "CONFORMANCE.md"}

func page(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestConformanceNamesRealTests(t *testing.T) {
	known := map[string]bool{}
	for name, dir := range map[string]string{
		"agents": "agents", "core": "core", "examples": "examples", "tools": "tools", "config": "internal/settings/config",
		"lcm": ".", "enginetest": "internal/enginetest", "lookup": "internal/recall/lookup", "mcpserver": "internal/mcpserver", "delegation": "internal/recall/delegation", "support": "internal/recall/support", "command": "internal/cli", "answer": "bench/answer", "fromconfig": "internal/cli/fromconfig",
		"archtest": "internal/proof/archtest", "ingest": "internal/record/ingest", "setup": "internal/hosts/setup", "explore": "internal/record/explore",
	} {
		for _, path := range glob(t, filepath.Join("..", dir, "*_test.go")) {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, decl := range file.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok {
					known[name+"."+f.Name.Name] = true
				}
			}
		}
	}
	named := regexp.MustCompile("`([a-z]+\\.Test\\w+)`").FindAllStringSubmatch(page(t, "CONFORMANCE.md"), -1)
	if len(named) < 50 {
		t.Errorf("only %d tests are named", len(named))
	}
	for _, match := range named {
		if !known[match[1]] {
			t.Errorf("there is no test %s", match[1])
		}
	}
	for _, match := range regexp.MustCompile("`(\\w+\\.golden)`").FindAllStringSubmatch(page(t, "CONFORMANCE.md"), -1) {
		if _, err := os.Stat(filepath.Join("..", "tools", "testdata", match[1])); err != nil {
			t.Errorf("there is no golden file %s", match[1])
		}
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(paths), err)
	}
	return paths
}

// Who looks for agents among the settings is told where they are.
func TestSettingsPointToAgents(t *testing.T) {
	if text := page(t, "CONFIG.md"); !strings.Contains(text, "`go doc ./agents AgentConfig`") || !strings.Contains(text, "](DISCOVERABLE.md)") {
		t.Error("CONFIG.md does not say where agents are configured")
	}
}

// Go in the documents is a part of a file that is compiled.
func TestDocsShowCompiledCode(t *testing.T) {
	var compiled []string
	for _, pattern := range []string{"*_test.go", "../core/*.go", "../tools/*_test.go", "../examples/*.go", "../examples/*/*.go"} {
		for _, path := range glob(t, pattern) {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			compiled = append(compiled, squeezed(string(raw)))
		}
	}
	for _, name := range pages {
		for _, match := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(page(t, name), -1) {
			found := false
			for _, source := range compiled {
				found = found || strings.Contains(source, squeezed(match[1]))
			}
			if !found {
				t.Errorf("%s shows code that is compiled nowhere:\n%s", name, match[1])
			}
		}
	}
}

// squeezed is a text without what gofmt and Markdown may change, and without
// lines that are just a comment.
func squeezed(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.Join(strings.Fields(line), " "); line != "" && !strings.HasPrefix(line, "//") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// The comments of AgentConfig and tools.Budget state the defaults.
func TestCommentsStateTheDefaults(t *testing.T) {
	var source string
	for _, path := range []string{"config.go", "../tools/scope.go"} {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		source += squeezed(strings.ReplaceAll(string(raw), "//", ""))
	}
	for _, want := range []string{
		fmt.Sprintf("Default %d. MaxToolIterations", agents.DefaultMaxToolIterations), fmt.Sprintf("Default %d. MaxToolCalls", agents.DefaultMaxToolCalls),
		fmt.Sprintf("Default %d. MaxParallelTools", agents.DefaultMaxParallelTools), fmt.Sprintf("Default %d minutes. It", agents.DefaultToolTimeout/time.Minute),
		fmt.Sprintf("Default %d minutes. Raise", agents.DefaultDelegateTimeout/time.Minute),
		fmt.Sprintf("nest; default %d", tools.DefaultDepth), fmt.Sprintf("altogether; default %d", tools.DefaultHandoffs),
	} {
		if !strings.Contains(strings.Join(strings.Fields(source), " "), want) {
			t.Errorf("no comment has %q", want)
		}
	}
}
