package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/hosts/setup"
	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/settings/config"
)

type setupCommand struct {
	*program
	all, yes, print bool
	remove, skill   bool
	replace         bool
	binary          string
	plan            func(h setup.Host, kept *setup.Receipts) (setup.Plan, error)
	apply           func(setup.Plan, *setup.Receipts) error
	done            string // the state of a host afterwards
}

// setupReport is the outcome for a host.
type setupReport struct {
	Host    string   `json:"host"`
	Changed bool     `json:"changed"`
	Files   []string `json:"files"` // that change
	Notes   []string `json:"notes,omitempty"`
	Error   string   `json:"error,omitempty"` // why it was left as it was
}

func newSetup(p *program) *cobra.Command {
	cmd := &setupCommand{program: p, done: "set up", apply: setup.Plan.Apply}
	c := &cobra.Command{
		Use:   "setup HOST…|--all",
		Short: "Connect the agents on this machine, or --remove lcm from them",
		Args:  cobra.MatchAll(cmd.named, exclude("remove", "skill"), exclude("remove", "binary"), exclude("remove", "replace")),
		RunE: func(c *cobra.Command, names []string) error {
			if cmd.remove {
				return cmd.takeOut(c.Context(), names)
			}
			return cmd.setup(c.Context(), names)
		},
	}
	c.Flags().BoolVar(&cmd.remove, "remove", false, "give the settings of the agents back as they were")
	c.Flags().BoolVar(&cmd.skill, "skill", false, "add a skill that tells the agent when to recall")
	c.Flags().BoolVar(&cmd.replace, "replace", false, "take the place of another context engine")
	c.Flags().StringVar(&cmd.binary, "binary", "", "how hosts start lcm (default: where this program is)")
	c.Flags().BoolVar(&cmd.all, "all", false, "every host that is installed")
	c.Flags().BoolVarP(&cmd.yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&cmd.print, "dry-run", false, "show the changes, and make none")
	return cmd.jsonFlag(c)
}

// named refuses a command line that has neither hosts nor --all, or both.
func (cmd *setupCommand) named(c *cobra.Command, args []string) error {
	if cmd.all == (len(args) > 0) {
		return wrongUsage(c, errors.New("name the hosts ("+strings.Join(all.Names[setup.Host](), ", ")+"), or say --all"))
	}
	return nil
}

func (cmd *setupCommand) setup(ctx context.Context, names []string) error {
	m, err := machine()
	if err != nil {
		return err
	}
	o := setup.Options{Machine: m}
	if o.Binary, err = cmd.binaryPath(); err != nil {
		return err
	}
	if o.Args, err = cmd.databaseArgs(); err != nil {
		return err
	}
	if cmd.all {
		for _, h := range all.Those[setup.Host]() {
			if setup.Installed(m, h) {
				names = append(names, h.About().Name)
			}
		}
		if len(names) == 0 {
			return failed(exitNotFound, "`lcm demo` shows lcm at work, and `lcm import FILE` stores messages; agents that it connects: "+strings.Join(all.Names[setup.Host](), ", "), "no agent that lcm knows is installed here")
		}
	}
	if o.Replace = cmd.replace; !cmd.yes && !cmd.print && !cmd.replace {
		o.Replace = cmd.mayReplace(ctx, names, o)
	}
	cmd.plan = func(h setup.Host, _ *setup.Receipts) (setup.Plan, error) {
		o := o
		if about := h.About(); cmd.skill || about.HidesInstructions {
			o.Skill = strings.TrimSpace(new(lcm.Engine).Session("").Guidance(lcm.WithProjectScope()) + "\n\n" + about.LoadTools)
		}
		return setup.For(h, o)
	}
	if err := cmd.change(ctx, names); err != nil {
		return err
	}
	if !cmd.print {
		cmd.note("`lcm import` brings in the sessions that are on this disk already; `lcm doctor` says whether all is well")
	}
	return nil
}

// mayReplace asks whether lcm takes the place of another context engine.
func (cmd *setupCommand) mayReplace(ctx context.Context, names []string, o setup.Options) bool {
	for _, name := range names {
		h, err := all.Named[setup.Host](name)
		if err != nil {
			continue // it is said later
		}
		held := setup.Holder(h, o)
		question := fmt.Sprintf("The context engine of %s is %q. Put lcm in its place?", h.About().Title, held)
		if held != "" && cmd.confirm(ctx, false, question, "", "it stays") == nil {
			return true
		}
	}
	return false
}

// machine is where hosts are looked for: the user's home.
func machine() (hosts.Machine, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return hosts.Machine{}, failed(exitFailure, "set HOME", "find the home directory: %w", err)
	}
	return hosts.Machine{Home: home, Getenv: os.Getenv}, nil
}

// newFeed returns the feed of the transcripts of this machine.
func newFeed(engine *lcm.Engine, log *slog.Logger) (*hosts.Feed, error) {
	m, err := machine()
	if err != nil {
		return nil, err
	}
	return hosts.New(engine, all.Hosts(), m, hosts.Options{Log: log})
}

// binaryPath is how hosts start this program: by the PATH if possible, for upgrades.
func (cmd *setupCommand) binaryPath() (string, error) {
	if cmd.binary != "" {
		path, err := filepath.Abs(cmd.binary)
		if err != nil {
			return "", err
		}
		if info, err := os.Stat(path); err != nil || info.IsDir() {
			return "", failed(exitUsage, "--binary is the path of the program lcm", "there is no program at %s", path)
		}
		return path, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	if found, err := exec.LookPath("lcm"); err == nil && sameFile(found, self) {
		if found, err = filepath.Abs(found); err == nil {
			return found, nil
		}
	}
	// npx and pnpm keep each version in a directory of its own.
	if slashed := filepath.ToSlash(self); strings.HasPrefix(self, os.TempDir()) || strings.Contains(slashed, "/_npx/") || strings.Contains(slashed, "/.pnpm/") {
		cmd.warn("this program is in a directory that does not stay, %s: install it elsewhere or say --binary, or repeat `lcm setup` after every update", filepath.Dir(self))
	}
	return self, nil
}

func sameFile(x, y string) bool {
	one, err1 := os.Stat(x)
	two, err2 := os.Stat(y)
	return err1 == nil && err2 == nil && os.SameFile(one, two)
}

// databaseArgs returns --db if a flag or the environment names the database: hosts pass
// neither on.
func (cmd *setupCommand) databaseArgs() ([]string, error) {
	cfg, err := cmd.settings()
	if err != nil {
		return nil, err
	}
	switch cfg.Origin("storage.database_path") {
	case config.FromFlag, config.FromEnv:
		path, err := absolute(cfg.Storage.DatabasePath)
		return []string{"--db", path}, err
	}
	return nil, nil
}

// takeOut undoes setup.
func (cmd *setupCommand) takeOut(ctx context.Context, names []string) error {
	m, err := machine()
	if err != nil {
		return err
	}
	if cmd.all {
		names = all.Names[setup.Host]()
	}
	cmd.done, cmd.apply = "as it was", setup.Plan.Undo
	cmd.plan = func(h setup.Host, kept *setup.Receipts) (setup.Plan, error) { return setup.Removal(h, m, kept) }
	return cmd.change(ctx, names)
}

// change prints the plans, asks, and carries them out. A host that fails stops no other.
func (cmd *setupCommand) change(ctx context.Context, names []string) error {
	dir, err := receiptsDir()
	if err != nil {
		return err
	}
	kept, err := setup.OpenReceipts(dir)
	if err != nil {
		return setupFailure(err)
	}
	chosen, problems, reports, due := make([]setup.Host, len(names)), make([]error, len(names)), make([]setupReport, len(names)), false
	for i, name := range names {
		if chosen[i], err = all.Named[setup.Host](name); err != nil {
			return &failure{exitUsage, err} // a slip of the finger: nothing is done
		}
		p, err := cmd.plan(chosen[i], kept)
		reports[i], problems[i] = setupReport{Host: name, Files: []string{}, Notes: p.Notes}, err
		for _, ch := range p.Changes {
			reports[i].Files, due = append(reports[i].Files, ch.Path), true
		}
		if err == nil {
			cmd.showPlan(p)
		}
	}
	if due && !cmd.print {
		if err := cmd.confirm(ctx, cmd.yes, "Make these changes? --dry-run shows each line.", "add --yes to make these changes, or --dry-run to only see them", "nothing was changed"); err != nil {
			return err
		}
	}
	if !cmd.print { // it also removes temporary files of a killed run
		err := setup.Exclusively(ctx, dir, func(kept *setup.Receipts) error {
			for i, host := range chosen {
				if problems[i] == nil {
					reports[i].Changed, problems[i] = cmd.carryOut(host, kept)
				}
			}
			return nil
		})
		if err != nil {
			return setupFailure(err)
		}
	}
	return cmd.leftOut(reports, problems)
}

// carryOut changes a host. It may have written to its files since the change was shown, so
// that is planned again.
func (cmd *setupCommand) carryOut(host setup.Host, kept *setup.Receipts) (changed bool, err error) {
	p, err := cmd.plan(host, kept)
	if err == nil {
		err = cmd.apply(p, kept)
	}
	if err != nil || len(p.Changes) == 0 {
		return false, err
	}
	cmd.printf("%s %s is %s\n", cmd.paint(green, "✓"), p.Title, cmd.done)
	for _, n := range p.Notes {
		cmd.note("%s", n)
	}
	return true, nil
}

// leftOut prints the reports, and returns the error for the hosts that could not be changed.
func (cmd *setupCommand) leftOut(reports []setupReport, problems []error) error {
	var failures []error
	for i, err := range problems {
		if err != nil {
			reports[i].Error, _ = split(err)
			failures = append(failures, setupFailure(err))
		}
	}
	if err := cmd.emit(reports); err != nil {
		return err
	}
	if len(failures) < 2 {
		return errors.Join(failures...)
	}
	for _, err := range failures {
		message, advice := split(err)
		cmd.warn("%s; %s", safetext.Line(message), safetext.Line(advice))
	}
	return failed(exitFailure, "see to what is said above and repeat the command; the other hosts are done",
		"%d of %d hosts were left as they were", len(failures), len(reports))
}

func (cmd *setupCommand) showPlan(p setup.Plan) {
	if len(p.Changes) == 0 {
		cmd.printf("%s: nothing to change\n", p.Title)
		return
	}
	cmd.printf("%s\n", cmd.paint(bold, p.Title))
	for _, ch := range p.Changes {
		if !cmd.print {
			cmd.printf("  %s: %s\n", safetext.Line(ch.Path), ch.What)
			continue
		}
		for _, line := range strings.Split(strings.TrimSuffix(ch.Diff(), "\n"), "\n") {
			style := dim
			switch {
			case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
				style = bold
			case strings.HasPrefix(line, "+"):
				style = green
			case strings.HasPrefix(line, "-"):
				style = red
			}
			cmd.printf("  %s\n", cmd.paint(style, safetext.Text(line)))
		}
	}
}

// receiptsDir has setup's copies of the files it changed. They belong to the user, not to a
// database, so they are beside the default one.
func receiptsDir() (string, error) {
	dir := os.Getenv("XDG_DATA_HOME")
	if dir == "" {
		m, err := machine()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(m.Home, ".local", "share")
	}
	return filepath.Join(dir, "lcm", "setup"), nil
}

// setupFailure gives an error of setup its exit code.
func setupFailure(err error) error {
	switch {
	case errors.Is(err, setup.ErrNotInstalled):
		return &failure{exitNotFound, err}
	case errors.As(err, new(*hint.Error)):
		return &failure{exitFailure, err}
	}
	return err
}
