package cli

import (
	"context"
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
	"github.com/lossless-context/lcm/internal/settings/config"
)

type setupCommand struct {
	hostChange
	remove bool
	skill  bool
	binary string
}

func newSetup(p *program) *cobra.Command {
	cmd := &setupCommand{hostChange: hostChange{program: p, done: "set up", apply: setup.Plan.Apply}}
	c := &cobra.Command{
		Use:   "setup HOST…|--all",
		Short: "Connect the agents on this machine, or --remove lcm from them",
		Args:  cobra.MatchAll(cmd.named, exclude("remove", "skill"), exclude("remove", "binary")),
		RunE: func(c *cobra.Command, names []string) error {
			if cmd.remove {
				return cmd.takeOut(c.Context(), names)
			}
			return cmd.setup(c.Context(), names)
		},
	}
	c.Flags().BoolVar(&cmd.remove, "remove", false, "give the settings of the agents back as they were")
	c.Flags().BoolVar(&cmd.skill, "skill", false, "add a skill that tells the agent when to recall")
	c.Flags().StringVar(&cmd.binary, "binary", "", "how hosts start lcm (default: where this program is)")
	return cmd.flags(c)
}

func (cmd *setupCommand) setup(ctx context.Context, names []string) error {
	m, err := machine()
	if err != nil {
		return err
	}
	o := setup.Options{Machine: m}
	if cmd.skill {
		o.Skill = new(lcm.Engine).Session("").Guidance(lcm.WithProjectScope())
	}
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
			return failed(exitNotFound, "hosts: "+strings.Join(all.Names[setup.Host](), ", "), "no host that lcm knows is installed here")
		}
	}
	cmd.plan = func(h setup.Host, _ *setup.Receipts) (setup.Plan, error) { return setup.For(h, o) }
	if err := cmd.change(ctx, names); err != nil {
		return err
	}
	if !cmd.print {
		cmd.note("`lcm import` brings in the sessions that are on this disk already; `lcm doctor` says whether all is well")
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
	if strings.HasPrefix(self, os.TempDir()) {
		cmd.warn("this program is in a directory for temporary files, %s: install it where it stays, or say --binary", filepath.Dir(self))
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
