package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/config"
	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/setup"
)

type setupFlags struct {
	all, yes, print bool
	guidance        string
	binary          string
}

// setupReport is what became of a host.
type setupReport struct {
	Host    string        `json:"host"`
	Changed bool          `json:"changed"`
	Files   []changedFile `json:"files"`
	Notes   []string      `json:"notes,omitempty"`
	Error   string        `json:"error,omitempty"` // why it was left as it was
}

type changedFile struct {
	Path string `json:"path"`
	What string `json:"what"`
	Diff string `json:"diff"`
}

func newSetup(a *program) *cobra.Command {
	var f setupFlags
	c := &cobra.Command{
		Use:   "setup HOST…|--all",
		Short: "Connect the agents on this machine",
		Long: `Connect agents with lcm: the tools (an MCP server) and the hooks that keep the
record up to date and tell a new session what was being worked on.

Hosts: ` + strings.Join(setup.Names(), ", ") + `.

What would change is shown before anything is written. Only entries of lcm are
touched, comments and order stay, and a copy of every file is kept: ` + "`lcm remove`" + `
gives back the very bytes.

--guidance also teaches the agent in words when to recall: as a skill, which it
reads when needed, or as a section of its CLAUDE.md or AGENTS.md, which it always
sees.`,
		Example: `lcm setup claude
lcm setup --all --yes
lcm setup codex --guidance skill
lcm setup opencode --print      # only show`,
		Args: func(c *cobra.Command, args []string) error {
			if f.all == (len(args) > 0) {
				return wrongUsage(c, errors.New("name the hosts to set up, or say --all"))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return a.setup(c, args, f) },
	}
	fl := c.Flags()
	fl.BoolVar(&f.all, "all", false, "every host that is installed")
	fl.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	fl.BoolVar(&f.print, "print", false, "show what would change, and change nothing")
	fl.StringVar(&f.guidance, "guidance", string(setup.NoGuidance), "skill, file or none")
	fl.StringVar(&f.binary, "binary", "", "how hosts start lcm (default: where this program is)")
	a.jsonFlag(c)
	return c
}

func (a *program) setup(c *cobra.Command, names []string, f setupFlags) error {
	m, err := machine()
	if err != nil {
		return err
	}
	o := setup.Options{Machine: m, Guidance: setup.Guidance(f.guidance), Text: new(lcm.Engine).Session("").Guidance()}
	if !slices.Contains([]setup.Guidance{setup.NoGuidance, setup.SkillGuidance, setup.FileGuidance}, o.Guidance) {
		return wrongUsage(c, fmt.Errorf("--guidance is skill, file or none, not %q", f.guidance))
	}
	if o.Binary, err = a.binary(f.binary); err != nil {
		return err
	}
	if o.Args, err = a.databaseArgs(); err != nil {
		return err
	}
	if f.all {
		if names = installed(m); len(names) == 0 {
			return failed(exitNotFound, "hosts: "+strings.Join(setup.Names(), ", "), "no host that lcm knows is installed here")
		}
	}
	plan := func(name string) (setup.Plan, error) { return setup.For(name, o) }
	if err := a.change(c.Context(), names, plan, f, "set up", setup.Plan.Apply); err != nil {
		return err
	}
	if !f.print && !a.json {
		a.note("`lcm import` brings in the sessions that are on this disk already; `lcm doctor` says whether all is well")
	}
	return nil
}

func installed(m hosts.Machine) []string {
	return slices.DeleteFunc(setup.Names(), func(name string) bool { return !setup.Installed(m, name) })
}

// step is what is done to one host: a plan, or why there is none.
type step struct {
	setup.Plan
	report setupReport
	err    error
}

// change shows plans, asks, and carries them out. A host that cannot be changed
// keeps it from none of the others; the error at the end tells of it.
func (a *program) change(ctx context.Context, names []string, plan func(string) (setup.Plan, error), f setupFlags, done string, apply func(setup.Plan, *setup.Receipts) error) error {
	steps := make([]step, len(names))
	for i, name := range names {
		p, err := plan(name)
		if err != nil && !slices.Contains(setup.Names(), name) {
			return setupFailure(err) // a slip of the finger: nothing is done
		}
		steps[i] = step{Plan: p, report: setupReport{Host: name, Files: []changedFile{}, Notes: p.Notes}, err: err}
		for _, ch := range p.Changes {
			steps[i].report.Files = append(steps[i].report.Files, changedFile{Path: ch.Path, What: ch.What, Diff: ch.Diff()})
		}
		if !a.json && err == nil {
			a.showPlan(p)
		}
	}
	if !f.print {
		if slices.ContainsFunc(steps, func(s step) bool { return s.err == nil && len(s.Changes) > 0 }) {
			if err := a.consent(ctx, f); err != nil {
				return err
			}
		}
		kept, err := openReceipts()
		if err != nil {
			return setupFailure(err)
		}
		for i := range steps {
			a.carryOut(&steps[i], kept, done, apply)
		}
	}
	if err := a.printSteps(steps); err != nil {
		return err
	}
	return a.leftOut(steps)
}

// carryOut changes one host. Also where nothing is to be changed, it removes
// what a killed run left behind.
func (a *program) carryOut(s *step, kept *setup.Receipts, done string, apply func(setup.Plan, *setup.Receipts) error) {
	if s.err != nil {
		return
	}
	if s.err = apply(s.Plan, kept); s.err != nil || len(s.Changes) == 0 {
		return
	}
	s.report.Changed = true
	if !a.json {
		a.printf("%s %s\n", a.paint(green, "✓"), s.Title+" is "+done)
	}
}

// printSteps prints what became of each host: as JSON, or what is left for the
// user to do.
func (a *program) printSteps(steps []step) error {
	reports := make([]setupReport, len(steps))
	for i, s := range steps {
		if s.err != nil {
			s.report.Error, _ = split(s.err)
		}
		reports[i] = s.report
		for _, n := range s.Notes {
			if s.report.Changed && !a.json {
				a.note("%s", n)
			}
		}
	}
	if a.json {
		return a.printJSON(reports)
	}
	return nil
}

// leftOut is the error for the hosts that could not be changed.
func (a *program) leftOut(steps []step) error {
	var failures []error
	for _, s := range steps {
		if s.err != nil {
			failures = append(failures, setupFailure(s.err))
		}
	}
	switch len(failures) {
	case 0:
		return nil
	case 1:
		return failures[0]
	}
	for _, err := range failures {
		message, hint := split(err)
		a.warn("%s", neutralLine(message))
		if hint != "" {
			a.note("%s", neutralLine(hint))
		}
	}
	return failed(exitFailure, "see to what is said above and repeat the command; the other hosts are done",
		"%d of %d hosts were left as they were", len(failures), len(steps))
}

func (a *program) showPlan(p setup.Plan) {
	if len(p.Changes) == 0 {
		a.printf("%s: nothing to change\n", p.Title)
		return
	}
	a.printf("%s\n", a.paint(bold, p.Title))
	for _, ch := range p.Changes {
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
			a.printf("  %s\n", a.paint(style, neutral(line)))
		}
	}
}

// consent asks whether to go on. Without a terminal, --yes is the way to say
// so.
func (a *program) consent(ctx context.Context, f setupFlags) error {
	if f.yes {
		return nil
	}
	in, ok := a.in.(*os.File)
	if !ok || !isTerminal(in) {
		return failed(exitUsage, "add --yes to make these changes, or --print to only see them", "nothing was changed: there is nobody to ask")
	}
	fmt.Fprint(a.err, "Make these changes? [y/N] ")
	answer, err := bufio.NewReader(a.typed(ctx)).ReadString('\n')
	if err != nil && answer == "" {
		return fmt.Errorf("read the answer: %w", err)
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return failed(exitFailure, "", "nothing was changed")
	}
	return nil
}

// machine is where hosts are looked for: the user's home.
func machine() (hosts.Machine, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return hosts.Machine{}, failed(exitFailure, "set HOME", "find the home directory: %w", err)
	}
	return hosts.Machine{Home: home, Getenv: os.Getenv}, nil
}

// binary is the path by which hosts start this program: the one on the PATH
// where that is the same program, because an upgrade leaves it in place.
func (a *program) binary(given string) (string, error) {
	if given != "" {
		path, err := filepath.Abs(given)
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
	if strings.HasPrefix(self, os.TempDir()) {
		a.warn("this program is in a directory for temporary files, %s: install it where it stays, or say --binary", filepath.Dir(self))
	}
	return self, nil
}

func sameFile(x, y string) bool {
	one, err1 := os.Stat(x)
	two, err2 := os.Stat(y)
	return err1 == nil && err2 == nil && os.SameFile(one, two)
}

// databaseArgs are what every command of a host needs where the database is
// not the one that the settings name: hosts do not pass the environment on.
func (a *program) databaseArgs() ([]string, error) {
	cfg, err := a.settings()
	if err != nil {
		return nil, err
	}
	switch cfg.Origin("storage.database_path") {
	case config.FromFlag, config.FromEnv:
		path, err := filepath.Abs(cfg.Storage.DatabasePath)
		return []string{"--db", path}, err
	}
	return nil, nil
}

// openReceipts opens what setup remembers. It is kept beside the usual
// database, wherever this one is: the files that it is about are the user's.
func openReceipts() (*setup.Receipts, error) {
	dir := os.Getenv("XDG_DATA_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, failed(exitFailure, "set HOME", "find the home directory: %w", err)
		}
		dir = filepath.Join(home, ".local", "share")
	}
	return setup.OpenReceipts(filepath.Join(dir, "lcm", "setup"))
}

// setupFailure gives an error of setup its exit code and hint.
func setupFailure(err error) error {
	var p *setup.Problem
	if !errors.As(err, &p) {
		return err
	}
	code := exitFailure
	if errors.Is(err, setup.ErrNotInstalled) {
		code = exitNotFound
	}
	return &failure{code: code, err: err, hint: p.Hint}
}
