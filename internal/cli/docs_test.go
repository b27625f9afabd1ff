package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

//go:generate go test -run TestCommandsAreDocumented -update .

// TestCommandsAreDocumented: docs/CLI.md lists every command; scripts/dist.sh makes the manual page of those.
func TestCommandsAreDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString("# The command line\n\n<!-- Generated from the commands by \"go generate ./internal/cli\"; edit those. -->\n\n" +
		"`lcm COMMAND --help` has each command's flags and examples. `make dist` makes a manual page of those texts.\n\n| command | what it does |\n|---|---|\n")
	var list func(*cobra.Command)
	list = func(c *cobra.Command) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", c.CommandPath(), c.Short)
		for _, sub := range c.Commands() {
			if sub.Name() != "completion" && sub.Name() != "help" {
				list(sub)
			}
		}
	}
	root := newRoot(newProgram(nil, nil, nil))
	list(root)
	fmt.Fprintf(&b, "\nEvery command takes:\n\n```\n%s```\n", root.PersistentFlags().FlagUsages())
	writeExitCodes(&b)
	path := filepath.Join("..", "..", "docs", "CLI.md")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(written), b.String()); diff != "" {
		t.Errorf("docs/CLI.md is not up to date: run go generate ./internal/cli (-written +said):\n%s", diff)
	}
}

// TestHelpTeachesByExample holds every command to the form of the others.
func TestHelpTeachesByExample(t *testing.T) {
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Example == "" || !strings.Contains(c.Example, "lcm") {
			t.Errorf("%s has no example", c.CommandPath())
		}
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: its short description %q is not a phrase", c.CommandPath(), c.Short)
		}
		for _, line := range strings.Split(c.Long, "\n") {
			if len([]rune(line)) > 82 {
				t.Errorf("%s: %q does not fit 80 columns", c.CommandPath(), line)
			}
		}
		for _, sub := range c.Commands() {
			if sub.Name() != "completion" && sub.Name() != "help" {
				walk(sub)
			}
		}
	}
	walk(newRoot(newProgram(nil, nil, nil)))
}

// TestFewCommandsAreVisible bounds what `lcm --help` lists.
func TestFewCommandsAreVisible(t *testing.T) {
	var visible []string
	for _, c := range newRoot(newProgram(nil, nil, nil)).Commands() {
		if !c.Hidden && c.Name() != "help" {
			visible = append(visible, c.Name())
		}
	}
	if len(visible) > 22 {
		t.Errorf("%d commands are visible: %v", len(visible), visible)
	}
}

// TestDocsNameCommandsThatHelpLists: whoever reads of a command finds it in `lcm --help`.
func TestDocsNameCommandsThatHelpLists(t *testing.T) {
	var out strings.Builder
	p := newProgram(nil, &out, nil)
	root := newRoot(p)
	p.help(root)
	listed := regexp.MustCompile(`[a-z-]+`).FindAllString(out.String(), -1)
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	hosts, err := filepath.Glob("../../docs/hosts/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(append(pages, hosts...), "../../README.md", "demo.go") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("(?m)(?:^    |^\\$ |`)lcm ([a-z][a-z-]+)").FindAllStringSubmatch(string(text), -1) {
			if c, _, err := root.Find(m[1:]); err != nil || c == root || m[1] != "engine" && !slices.Contains(listed, m[1]) {
				t.Errorf("%s has %q, which lcm --help does not list", page, m[0])
			}
		}
	}
}
