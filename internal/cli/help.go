package cli

import (
	"embed"
	"strings"

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
	return strings.NewReplacer("{agents}", strings.Join(all.Names[hosts.Host](), ", "), "{hosts}", strings.Join(all.Names[setup.Host](), ", "),
		"{programs}", strings.Join(all.Names[launch.Host](), ", "), "{tools}", explainable, "{mcpPath}", mcpserver.Path)
}
