package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/hosts/setup"
	"github.com/lossless-context/lcm/internal/record/sqldb/stats"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// completer completes arguments and values of flags in a shell.
type completer struct{ *program }

// maxCompletions is how many numbers or ids a shell is offered, newest first.
const maxCompletions = 50

// flagValues are the values of flags that take one of a few.
var flagValues = map[string][]string{
	"mode":       {string(store.Regex), string(store.FullText)},
	"scope":      {recall.InMessages, recall.InSummaries, recall.InBoth, recall.InFiles},
	"sort":       {string(store.ByRecency), string(store.ByRelevance), string(store.ByHybrid)},
	"role":       {string(llms.RoleUser), string(llms.RoleAssistant), string(llms.RoleSystem), string(llms.RoleTool)},
	"by":         {stats.ByProject, stats.ByHost, stats.ByMonth},
	"since":      {"1h", "today", "yesterday", "7d", "4w"},
	"before":     {"1h", "today", "yesterday", "7d", "4w"},
	"older-than": {"90d", "26w", "1y"},
	"log-level":  {"debug", "info", "warn", "error"},
	"log-format": {"text", "json"},
}

// register sets the completions of a command and of those below it.
func (p completer) register(c *cobra.Command) {
	flags := map[string]cobra.CompletionFunc{"conversation": p.completeNumbers}
	for name, values := range flagValues {
		flags[name] = cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder)
	}
	for name, complete := range flags {
		if c.Flags().Lookup(name) != nil || c.PersistentFlags().Lookup(name) != nil {
			_ = c.RegisterFlagCompletionFunc(name, complete) // it fails for flags that are not there
		}
	}
	switch c.CommandPath() {
	case "lcm import":
		c.ValidArgsFunction = hostsAnd(all.Names[hosts.Host](), cobra.ShellCompDirectiveDefault) // or a path
	case "lcm setup", "lcm hook":
		c.ValidArgsFunction = hostsAnd(all.Names[setup.Host](), cobra.ShellCompDirectiveNoFileComp)
	case "lcm show", "lcm forget", "lcm compact", "lcm context", "lcm verify":
		c.ValidArgsFunction = p.completeNumbers
	}
	for _, sub := range c.Commands() {
		p.register(sub)
	}
}

// hostsAnd offers the hosts that were not named yet.
func hostsAnd(names []string, directive cobra.ShellCompDirective) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var left []cobra.Completion
		for _, name := range names {
			if strings.HasPrefix(name, begun) && !slices.Contains(args, name) {
				left = append(left, name)
			}
		}
		return left, directive
	}
}

// looking opens the database for a completion, and ignores errors.
func (p completer) looking(ctx context.Context, fn func(*openRecord) error) {
	p.program.err = io.Discard
	_ = p.use(ctx, toRead, fn)
}

// completeNumbers offers numbers of conversations, those of the current project first.
func (p completer) completeNumbers(c *cobra.Command, args []string, begun string) (found []cobra.Completion, d cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	p.looking(c.Context(), func(rec *openRecord) error {
		all, err := rec.db.Conversations(c.Context(), store.ConversationQuery{Limit: maxCompletions})
		if here, e := currentProject(); e == nil && err == nil {
			var own []store.Conversation
			own, err = rec.db.Conversations(c.Context(), store.ConversationQuery{Project: &here, Limit: maxCompletions})
			all = append(own, all...)
		}
		seen := map[store.ConversationID]bool{}
		for _, conv := range all {
			if number := fmt.Sprint(conv.ID); err == nil && !seen[conv.ID] && strings.HasPrefix(number, begun) {
				seen[conv.ID] = true
				var title string
				title, err = titleOf(c.Context(), rec.db, conv)
				found = append(found, cobra.CompletionWithDesc(number, title))
			}
		}
		return err
	})
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
