package main

import (
	"cmp"
	"context"
	"fmt"
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
	var failure error
	capture(root, &failure)
	err := fang.Execute(ctx, root,
		fang.WithVersion(version),
		fang.WithoutManpage(),
		fang.WithErrorHandler(func(io.Writer, fang.Styles, error) {}))
	err = cmp.Or(err, failure)
	if err == nil {
		err = a.delivered()
	}
	if err != nil {
		a.report(err)
	}
	return exitCode(err)
}

// capture keeps what the commands return from fang, which would ask the
// terminal for its colours before it lets an error be printed: some never
// answer, and the user waits.
func capture(c *cobra.Command, failure *error) {
	if check, run := c.Args, c.RunE; run != nil {
		c.Args = cobra.ArbitraryArgs
		c.RunE = func(c *cobra.Command, args []string) error {
			if check != nil {
				*failure = check(c, args)
			}
			if *failure == nil {
				*failure = run(c, args)
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		capture(sub, failure)
	}
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:     "lcm",
		Short:   "Lossless context memory for AI agents",
		Long:    rootLong,
		Example: rootExample,
		Args:    knownCommand,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return wrongUsage(c, err) })
	root.PersistentFlags().StringVar(&a.database, "db", "", "database file (default $LCM_DATABASE_PATH, else the configuration's)")
	root.AddGroup(
		&cobra.Group{ID: "record", Title: "the record"},
		&cobra.Group{ID: "view", Title: "the view"},
		&cobra.Group{ID: "recall", Title: "the way back"},
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
	add("recall", newGrep(a), newDescribe(a), newExpand(a), newAsk(a), newChat(a))
	add("more", newDemo(a), newBench(a), newExplain(a), newConfig(a), newVersion(a))
	root.SetCompletionCommandGroupID("more")
	root.SetHelpCommandGroupID("more")
	return root
}

// knownCommand refuses what is not a command, and says what may have been
// meant.
func knownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("unknown command %q", args[0])
	if near := root.SuggestionsFor(args[0]); len(near) > 0 {
		return &failure{code: exitUsage, err: err, hint: fmt.Sprintf("did you mean `lcm %s`?", near[0])}
	}
	return &failure{code: exitUsage, err: err, hint: "`lcm --help` lists the commands"}
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
