package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/hosts/setup"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// flagValues are the values of flags that take one of a few.
var flagValues = map[string][]string{
	"mode":       {string(store.Regex), string(store.FullText)},
	"scope":      {recall.InMessages, recall.InSummaries, recall.InBoth},
	"sort":       {string(store.ByRecency), string(store.ByRelevance)},
	"role":       {string(llms.RoleUser), string(llms.RoleAssistant), string(llms.RoleSystem), string(llms.RoleTool)},
	"since":      {"1h", "today", "yesterday", "7d", "4w"},
	"before":     {"1h", "today", "yesterday", "7d", "4w"},
	"older-than": {"90d", "26w", "1y"},
	"log-level":  {"debug", "info", "warn", "error"},
	"log-format": {"text", "json"},
}

// addCompletions lets a shell complete hosts and the values of flags, of a command and of
// those below it.
func addCompletions(c *cobra.Command) {
	for name, values := range flagValues {
		if c.Flags().Lookup(name) != nil || c.PersistentFlags().Lookup(name) != nil {
			_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder)) // it fails for flags that are not there
		}
	}
	switch c.CommandPath() {
	case "lcm import":
		c.ValidArgsFunction = hostsAnd(all.Names[hosts.Host](), cobra.ShellCompDirectiveDefault) // or a path
	case "lcm setup", "lcm hook":
		c.ValidArgsFunction = hostsAnd(all.Names[setup.Host](), cobra.ShellCompDirectiveNoFileComp)
	}
	for _, sub := range c.Commands() {
		addCompletions(sub)
	}
}

// hostsAnd offers the hosts that were not named yet.
func hostsAnd(names []string, directive cobra.ShellCompDirective) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			return !strings.HasPrefix(name, begun) || slices.Contains(args, name)
		}), directive
	}
}
