package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

// run executes the command line and returns the exit code.
func run(ctx context.Context, p *program, args []string) int {
	root := newRoot(p)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = p.delivered()
	}
	if err != nil {
		p.report(err)
	}
	return p.endCode(ctx, err)
}

// The groups of `lcm --help`.
const (
	theRecord = "Record"
	theView   = "View"
	recalling = "Recall"
	theHosts  = "Agents"
	theTeam   = "Team"
	upkeep    = "Upkeep"
)

func newRoot(p *program) *cobra.Command {
	cobra.EnableCommandSorting = false
	root := &cobra.Command{
		Use:           "lcm",
		Short:         "Lossless context memory for AI agents",
		Version:       version, // without a template: text/template makes the linker keep every exported method, 27 MB of them
		Args:          knownCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(wrongFlag)
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { p.help(c) })
	fl := root.PersistentFlags()
	fl.StringVar(&p.database, "db", "", "database: a `file or URL` of PostgreSQL (default $LCM_DATABASE_PATH)")
	fl.Var(colourMode{p}, "color", "colour the output (default auto: on a terminal)")
	p.logFlags(root)
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			if group == "" {
				c.Hidden = true
			} else {
				c.GroupID = group
			}
			root.AddCommand(c)
		}
		if group != "" {
			root.AddGroup(&cobra.Group{ID: group, Title: group})
		}
	}
	add(recalling, newGrep(p), newAsk(p), newDescribe(p), newWhy(p), newShow(p), newConversations(p), newUI(p))
	add(theHosts, newSetup(p), newRun(p), newMCP(p), newEngineCommand(p))
	add(theRecord, newImport(p), newUndelete(p), newForget(p), newVerify(p))
	add(theView, newContext(p))
	add(theTeam, newSync(p), newTeamGroup(p))
	add(upkeep, newDoctor(p), newDBGroup(p), newConfig(p))
	add("", newCompact(p), newDemo(p), newHook(p), newMap(p), newStatusline(p), newVersion(p))
	root.SetHelpCommand(newHelp(root))
	root.CompletionOptions.HiddenDefaultCmd = true
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" { // which takes anything for a shell
			c.Args, c.RunE = usage(cobra.NoArgs), func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
	addHelp(root, helpNames())
	addCompletions(root)
	return root
}

// newParent returns a command that only has others below it.
func newParent(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: usage(cobra.NoArgs), RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(commands...)
	return c
}

func newDBGroup(p *program) *cobra.Command {
	return newParent("db", "Measure, back up, copy or export the database", newStatus(p), newBackup(p), newRestore(p), newCopy(p), newExport(p))
}

func newTeamGroup(p *program) *cobra.Command {
	return newParent("team", "Serve a record to a team, and manage its access", newServe(p), newToken(p), newAudit(p))
}

// colourMode is the value of --color.
type colourMode struct{ *program }

func (m colourMode) String() string { return "" }
func (m colourMode) Type() string   { return "auto|always|never" }

func (m colourMode) Set(text string) error {
	switch text {
	case "auto":
	case "always":
		m.colour, m.colours = true, true
	case "never":
		m.colour, m.colours = false, false
	default:
		return fmt.Errorf("%q is not a mode", text)
	}
	return nil
}

// jsonFlag gives a command that prints data its --json.
func (p *program) jsonFlag(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&p.json, "json", false, "print JSON")
	return c
}
