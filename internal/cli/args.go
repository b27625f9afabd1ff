package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lossless-context/lcm/internal/mcpserver"
)

// usage returns a check of arguments whose error names the missing or superfluous one.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if check(c, args) == nil {
			return nil
		}
		names := strings.Fields(c.Use)[1:]
		full := strings.Join(append([]string{c.CommandPath()}, names...), " ")
		switch {
		case len(names) > len(args):
			return wrongUsage(c, fmt.Errorf("%s is missing: the command is `%s`", names[len(args)], full))
		case len(names) > 0 && quoted[names[len(names)-1]]:
			return failed(exitUsage, fmt.Sprintf("put quotes around it: `%s %q`", c.CommandPath(), strings.Join(args[len(names)-1:], " ")),
				"%s must be one argument, not %d", names[len(names)-1], len(args)-len(names)+1)
		case len(names) > 0:
			return wrongUsage(c, fmt.Errorf("%q is too much: the command is `%s`", args[len(names)], full))
		case c.HasSubCommands():
			return noSubCommand(c, args[0])
		}
		return wrongUsage(c, fmt.Errorf("%q is too much: `%s` takes no arguments", args[0], full))
	}
}

// refuse returns a check that refuses the flags for which a condition holds.
func refuse(when func() bool, why string) cobra.PositionalArgs {
	return func(c *cobra.Command, _ []string) error {
		if when() {
			return wrongUsage(c, errors.New(why))
		}
		return nil
	}
}

// exclude returns a check that refuses more than one of these flags.
func exclude(flags ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, _ []string) error {
		var given []string
		for _, name := range flags {
			if c.Flags().Changed(name) {
				given = append(given, "--"+name)
			}
		}
		if len(given) > 1 {
			return wrongUsage(c, fmt.Errorf("%s exclude each other", strings.Join(given, " and ")))
		}
		return nil
	}
}

// listenFlag returns a check that makes an address to listen on of a flag's value.
func listenFlag(name string, value *string) cobra.PositionalArgs {
	return func(c *cobra.Command, _ []string) (err error) {
		if *value == "" {
			return nil
		}
		if *value, err = mcpserver.ListenAddress(*value); err != nil {
			return wrongUsage(c, fmt.Errorf("--%s: %w", name, err))
		}
		return nil
	}
}

// count counts the flags that are set.
func count(flags ...bool) (n int) {
	for _, set := range flags {
		if set {
			n++
		}
	}
	return n
}

// quoted are the arguments that people write with spaces and forget to quote.
var quoted = map[string]bool{"PATTERN": true, "QUESTION": true}

// noSubCommand returns the error for an unknown command, and suggests a similar one.
func noSubCommand(c *cobra.Command, name string) error {
	what := fmt.Sprintf("unknown command %q", name)
	if instead, ok := retired[c.CommandPath()+" "+name]; ok {
		return failed(exitUsage, instead, "`%s %s` is no longer there", c.CommandPath(), name)
	}
	if c.HasParent() {
		what = fmt.Sprintf("there is no `%s %s`", c.CommandPath(), name)
	}
	hint := fmt.Sprintf("`%s --help` lists the commands", c.CommandPath())
	if name == "" {
		return failed(exitUsage, hint, "the name of the command is empty")
	}
	near := c.SuggestionsFor(name)
	for _, parent := range c.Commands() {
		if sub, _, err := parent.Find([]string{name}); err == nil && sub != parent {
			near = []string{parent.Name() + " " + name}
		}
	}
	if len(near) > 0 {
		hint = fmt.Sprintf("did you mean `%s %s`?", c.CommandPath(), near[0])
	}
	return failed(exitUsage, hint, "%s", what)
}

// retired tells what to do instead of a command of an earlier version.
var retired = map[string]string{
	"lcm chat":     "examples/support and examples/review have agents on lcm's record; `lcm run` starts yours",
	"lcm db embed": "searches go by words; where the first ones find nothing, ask again in others (`lcm grep`, `lcm ask`)",
}

// knownCommand refuses unknown commands.
func knownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return noSubCommand(root, args[0])
}

// wrongFlag returns the error for a value that a flag does not take.
func wrongFlag(c *cobra.Command, err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return wrongUsage(c, err)
	}
	takes, ok := flagTypes[bad.GetFlag().Value.Type()]
	if !ok {
		takes = "something else"
	}
	return wrongUsage(c, fmt.Errorf("--%s takes %s, not %q", bad.GetFlag().Name, takes, bad.GetValue()))
}

var flagTypes = map[string]string{
	"int": "a whole number", "int64": "a whole number", "uint64": "a whole number of at least 0",
	"intSlice": "whole numbers with commas between them", "duration": "a time such as 30s or 2m", "bool": "true or false",
	"auto|always|never": "auto, always or never",
}
