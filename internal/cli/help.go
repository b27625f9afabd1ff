package cli

import (
	"embed"
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/hosts/launch"
	"github.com/lossless-context/lcm/internal/hosts/setup"
	"github.com/lossless-context/lcm/internal/mcpserver"
)

// helpFiles has a file for each command: its description and then, below a line
// "Examples:", its examples. The file of `lcm config get` is help/config-get.txt.
//
//go:embed help/*.txt
var helpFiles embed.FS

// addHelp gives a command and those below it the texts of their files.
func addHelp(c *cobra.Command, names *strings.Replacer) {
	name := strings.ReplaceAll(strings.TrimPrefix(c.CommandPath(), "lcm "), " ", "-")
	if text, err := helpFiles.ReadFile("help/" + name + ".txt"); err == nil {
		long, examples, _ := strings.Cut(names.Replace(string(text)), "Examples:\n")
		c.Long, c.Example = strings.TrimSpace(long), strings.TrimSpace(examples)
	}
	for _, sub := range c.Commands() {
		addHelp(sub, names)
	}
}

// helpNames replaces the lists that help texts name.
func helpNames() *strings.Replacer {
	wrapped := func(names []string) string { return ansi.Wordwrap(strings.Join(names, ", "), 72, "") }
	return strings.NewReplacer("{agents}", wrapped(all.Names[hosts.Host]()), "{hosts}", wrapped(all.Names[setup.Host]()),
		"{programs}", strings.Join(all.Names[launch.Host](), ", "), "{mcpPath}", mcpserver.Path)
}

// newHelp is `lcm help`, which refuses unknown commands.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:    "help [COMMAND]",
		Short:  "Print the help of a command",
		Hidden: true,
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return noSubCommand(c, append(rest, args...)[0])
			}
			return c.Help()
		},
	}
}

// help prints the help of a command. That of lcm itself fits a screen.
func (p *program) help(c *cobra.Command) {
	if !c.HasParent() {
		p.printf("%s\n\n", c.Long)
		for _, g := range c.Groups() {
			p.printCommands(c, g.ID, g.Title)
		}
		p.printf("%s %s\n", p.paint(bold, "Also   "), strings.Join(unlisted(c), ", "))
		p.printf("All take --db FILE|URL, --color auto|always|never, --log-level, -format, -file.\n")
		p.printf("Exit codes: 0 done 1 failed 2 usage 3 not found 4 settings 5 database 6 damage\n")
		return
	}
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	line := c.UseLine()
	if c.HasAvailableSubCommands() {
		line = c.CommandPath() + " COMMAND [flags]"
	}
	p.printf("%s\n\n%s %s\n", text, p.paint(bold, "Usage:"), line)
	if c.HasAvailableSubCommands() {
		p.printf("\n%s\n", p.paint(bold, "Commands:"))
		p.printCommands(c, "", "")
	}
	if c.Example != "" {
		p.printf("\n%s\n  %s\n", p.paint(bold, "Examples:"), strings.ReplaceAll(c.Example, "\n", "\n  "))
	}
	if flags := c.LocalNonPersistentFlags(); flags.HasAvailableFlags() {
		p.printf("\n%s\n%s", p.paint(bold, "Flags:"), flags.FlagUsagesWrapped(80))
	}
}

// unlisted names the commands that belong to no group: those that are seldom typed, and those
// that agents start.
func unlisted(root *cobra.Command) (names []string) {
	for _, c := range root.Commands() {
		if c.GroupID == "" && c.Name() != "help" {
			names = append(names, c.Name())
		}
	}
	return names
}

// printCommands lists the commands of a group.
func (p *program) printCommands(parent *cobra.Command, group, title string) {
	for _, c := range parent.Commands() {
		if c.GroupID == group && !c.Hidden {
			p.printf("%s %s %s\n", p.paint(bold, fmt.Sprintf("%-7s", title)), p.paint(cyan, fmt.Sprintf("%-14s", c.Name())), c.Short)
			title = ""
		}
	}
}
