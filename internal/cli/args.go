package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// optionalNumber lets a command be given the number of a conversation.
var optionalNumber = usage(cobra.MaximumNArgs(1))

// usage turns the complaint of an argument check into one that says what to
// give, in the words of the command's own help.
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

// quoted are the arguments that people write with spaces and forget to quote.
var quoted = map[string]bool{"PATTERN": true, "QUESTION": true}

// noSubCommand refuses what is not a command, and says what may have been
// meant.
func noSubCommand(c *cobra.Command, name string) error {
	what := fmt.Sprintf("unknown command %q", name)
	if c.HasParent() {
		what = fmt.Sprintf("there is no `%s %s`", c.CommandPath(), name)
	}
	hint := fmt.Sprintf("`%s --help` lists the commands", c.CommandPath())
	if near := c.SuggestionsFor(name); len(near) > 0 {
		hint = fmt.Sprintf("did you mean `%s %s`?", c.CommandPath(), near[0])
	}
	return failed(exitUsage, hint, "%s", what)
}

// knownCommand refuses what is not a command.
func knownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return noSubCommand(root, args[0])
}

// wrongFlag says what a flag takes, where what it was given cannot be read.
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
}
