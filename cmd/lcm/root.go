package main

import (
	"context"
	"io"

	"charm.land/fang/v2"
	"github.com/spf13/cobra"
)

const rootLong = `lcm keeps every message of an agent's conversations verbatim, folds older ones
into a DAG of summaries, and shows a model a view that fits its context window.

"Current" is the newest conversation of the project the shell stands in;
--conversation N says otherwise.

Exit codes: 0 done · 1 failure · 2 wrong usage · 3 not found ·
4 wrong configuration · 5 database unusable · 6 verification found faults`

const rootExample = `# see it work on a bundled session, nothing is kept
lcm demo

# keep a transcript, fold it, look at what a model would see
lcm import session.jsonl
lcm compact --budget 32000
lcm context --budget 32000

# prove that nothing is lost
lcm verify --all`

// run executes the command line and returns the exit code.
func run(ctx context.Context, a *app, args []string) int {
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	err := fang.Execute(ctx, root,
		fang.WithVersion(version),
		fang.WithoutManpage(),
		fang.WithErrorHandler(func(_ io.Writer, _ fang.Styles, err error) { a.report(err) }))
	if err == nil {
		if err = a.delivered(); err != nil {
			a.report(err)
		}
	}
	return exitCode(err)
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:     "lcm",
		Short:   "Lossless context memory for AI agents",
		Long:    rootLong,
		Example: rootExample,
		Args:    usage(cobra.NoArgs),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return wrongUsage(c, err) })
	root.PersistentFlags().StringVar(&a.database, "db", "", "database file (default $LCM_DATABASE_PATH, else the configuration's)")
	root.AddGroup(
		&cobra.Group{ID: "record", Title: "the record"},
		&cobra.Group{ID: "view", Title: "the view"},
		&cobra.Group{ID: "more", Title: "more"},
	)
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("record", newImport(a), newConversations(a), newShow(a), newVerify(a), newStatus(a))
	add("view", newContext(a), newTree(a), newCompact(a))
	add("more", newDemo(a), newBench(a), newExplain(a), newConfig(a), newVersion(a))
	root.SetCompletionCommandGroupID("more")
	root.SetHelpCommandGroupID("more")
	return root
}

// usage turns the complaint of an argument check into a usage error.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return wrongUsage(c, err)
		}
		return nil
	}
}

// jsonFlag gives a command that prints data its --json.
func (a *app) jsonFlag(c *cobra.Command) {
	c.Flags().BoolVar(&a.json, "json", false, "print JSON")
}
