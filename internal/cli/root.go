package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"charm.land/fang/v2"
	"github.com/spf13/cobra"
)

// run executes the command line and returns the exit code.
func run(ctx context.Context, p *program, args []string) int {
	root := newRoot(p)
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" { // which takes anything for a shell
			c.Args, c.RunE = usage(cobra.NoArgs), func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
	withoutDatabase(root)
	root.SetArgs(args)
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	var failure error
	capture(root, &failure)
	err := fang.Execute(ctx, root,
		fang.WithVersion(version),
		fang.WithoutManpage(),
		fang.WithErrorHandler(func(io.Writer, fang.Styles, error) {}))
	err = cmp.Or(err, failure)
	if err == nil {
		err = p.delivered()
	}
	if err != nil {
		p.report(err)
	}
	return p.endCode(ctx, err)
}

// capture keeps errors away from fang, which asks the terminal for its colours and waits.
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

func newRoot(p *program) *cobra.Command {
	root := &cobra.Command{
		Use:   "lcm",
		Short: "Lossless context memory for AI agents",
		Args:  knownCommand,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(wrongFlag)
	root.PersistentFlags().StringVar(&p.database, "db", "", "database: a file or a postgres:// URL (default $LCM_DATABASE_PATH)")
	p.logFlags(root)
	root.AddGroup(
		&cobra.Group{ID: "record", Title: "the record"},
		&cobra.Group{ID: "view", Title: "the view"},
		&cobra.Group{ID: "recall", Title: "search and read"},
		&cobra.Group{ID: "hosts", Title: "the agents"},
		&cobra.Group{ID: "team", Title: "the team"},
		&cobra.Group{ID: "care", Title: "maintenance"},
		&cobra.Group{ID: "more", Title: "more"},
	)
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("record", newImport(p), newConversations(p), newShow(p), newVerify(p), newStatus(p), newForget(p), newPrune(p))
	add("care", newDoctor(p), newBackup(p), newRestore(p), newCopy(p), newExport(p))
	add("view", newContext(p), newTree(p), newCompact(p))
	add("recall", newGrep(p), newDescribe(p), newExpand(p), newAsk(p), newEmbed(p), newChat(p), newUI(p))
	add("hosts", newRun(p), newProxy(p), newSetup(p), newRemove(p), newBrief(p), newHook(p), newMCP(p))
	add("team", newServe(p), newToken(p), newAudit(p), newSync(p))
	add("more", newDemo(p), newExplain(p), newConfig(p), newVersion(p))
	addHelp(root, helpNames())
	completer{p}.register(root)
	root.SetCompletionCommandGroupID("more")
	root.SetHelpCommandGroupID("more")
	return root
}

// withoutDB are the commands that do not use the database.
var withoutDB = []string{
	"lcm demo", "lcm completion", "lcm explain", "lcm version", "lcm remove", "lcm config path", "lcm config set",
}

// withoutDatabase removes --db from the commands that do not use a database.
func withoutDatabase(c *cobra.Command) {
	if slices.Contains(withoutDB, c.CommandPath()) || c.HasParent() && slices.Contains(withoutDB, c.Parent().CommandPath()) {
		c.Flags().String("db", "", "")
		_ = c.Flags().MarkHidden("db") // it was added the line before
		check := c.Args
		c.Args = func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("db") {
				return wrongUsage(c, fmt.Errorf("`%s` does not use the database: leave --db out", c.CommandPath()))
			}
			if check == nil {
				return nil
			}
			return check(c, args)
		}
	}
	for _, sub := range c.Commands() {
		withoutDatabase(sub)
	}
}

// jsonFlag gives a command that prints data its --json.
func (p *program) jsonFlag(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&p.json, "json", false, "print JSON")
	return c
}
