package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

//go:generate go test -run TestCommandsAreDocumented -update .

// TestCommandsAreDocumented compares docs/CLI.md with the help of the commands.
func TestCommandsAreDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString("# The command line\n\n<!-- Generated from the commands by \"go generate ./internal/cli\"; edit those. -->\n")
	root := newRoot(newProgram(nil, nil, nil))
	describe(&b, root)
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

func describe(b *strings.Builder, c *cobra.Command) {
	level := "##"
	if c.HasParent() && c.Parent().HasParent() {
		level = "###"
	}
	fmt.Fprintf(b, "\n%s %s\n\n", level, c.CommandPath())
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	fmt.Fprintf(b, "%s\n\n```\n%s\n```\n", text, c.Example)
	if flags := strings.TrimRight(c.LocalNonPersistentFlags().FlagUsages(), "\n"); flags != "" {
		fmt.Fprintf(b, "\n```\n%s\n```\n", flags)
	}
	if !c.HasParent() {
		fmt.Fprintf(b, "\n```\n%s```\n", c.PersistentFlags().FlagUsages())
	}
	for _, sub := range c.Commands() {
		if sub.Name() != "completion" {
			describe(b, sub)
		}
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
