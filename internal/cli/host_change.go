package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/hosts/setup"
	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/kit/safetext"
)

// hostChange changes the settings of hosts, for setup and remove.
type hostChange struct {
	*program
	all, yes, print bool
	plan            func(h setup.Host, kept *setup.Receipts) (setup.Plan, error)
	apply           func(setup.Plan, *setup.Receipts) error
	done            string // the state of a host afterwards
}

func (h *hostChange) flags(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&h.all, "all", false, "every host that is installed")
	c.Flags().BoolVarP(&h.yes, "yes", "y", false, "do not ask")
	c.Flags().BoolVar(&h.print, "print", false, "show the changes, and make none")
	return h.jsonFlag(c)
}

// named refuses a command line that has neither hosts nor --all, or both.
func (h *hostChange) named(c *cobra.Command, args []string) error {
	if h.all == (len(args) > 0) {
		return wrongUsage(c, errors.New("name the hosts ("+strings.Join(all.Names[setup.Host](), ", ")+"), or say --all"))
	}
	return nil
}

// setupReport is the outcome for a host.
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

// step is the change of one host: a plan, or the error of making it.
type step struct {
	setup.Plan
	host   setup.Host
	report setupReport
	err    error
}

// change prints the plans, asks, and carries them out. A host that fails stops no other.
func (h *hostChange) change(ctx context.Context, names []string) error {
	dir, err := receiptsDir()
	if err != nil {
		return err
	}
	kept, err := setup.OpenReceipts(dir)
	if err != nil {
		return setupFailure(err)
	}
	steps := make([]step, len(names))
	for i, name := range names {
		host, err := all.Named[setup.Host](name)
		if err != nil {
			return &failure{exitUsage, err} // a slip of the finger: nothing is done
		}
		steps[i] = h.step(host, kept)
		if steps[i].err == nil {
			h.showPlan(steps[i].Plan)
		}
	}
	if !h.print {
		if err := h.carryOut(ctx, dir, steps); err != nil {
			return err
		}
	}
	reports := make([]setupReport, len(steps))
	for i, s := range steps {
		if s.err != nil {
			s.report.Error, _ = split(s.err)
		}
		reports[i] = s.report
		for _, n := range s.Notes {
			if s.report.Changed {
				h.note("%s", n)
			}
		}
	}
	if err := h.emit(reports); err != nil {
		return err
	}
	return h.leftOut(steps)
}

// step plans the change of one host.
func (h *hostChange) step(host setup.Host, kept *setup.Receipts) step {
	p, err := h.plan(host, kept)
	s := step{Plan: p, host: host, report: setupReport{Host: host.About().Name, Files: []changedFile{}, Notes: p.Notes}, err: err}
	for _, ch := range p.Changes {
		s.report.Files = append(s.report.Files, changedFile{Path: ch.Path, What: ch.What, Diff: ch.Diff()})
	}
	return s
}

// carryOut asks, and changes the hosts while no other setup does. A host may have written to
// its files since they were shown, so the same change is planned again. It also removes
// temporary files of a killed run.
func (h *hostChange) carryOut(ctx context.Context, dir string, steps []step) error {
	if slices.ContainsFunc(steps, func(s step) bool { return s.err == nil && len(s.Changes) > 0 }) {
		if err := h.confirm(ctx, h.yes, "Make these changes?", "add --yes to make these changes, or --print to only see them", "nothing was changed"); err != nil {
			return err
		}
	}
	err := setup.Exclusively(ctx, dir, func(kept *setup.Receipts) error {
		for i := range steps {
			s := &steps[i]
			if s.err == nil {
				*s = h.step(s.host, kept)
			}
			if s.err == nil {
				s.err = h.apply(s.Plan, kept)
			}
			s.report.Changed = s.err == nil && len(s.Changes) > 0
			if s.report.Changed {
				h.printf("%s %s is %s\n", h.paint(green, "✓"), s.Title, h.done)
			}
		}
		return nil
	})
	if err != nil {
		return setupFailure(err)
	}
	return nil
}

// leftOut is the error for the hosts that could not be changed.
func (h *hostChange) leftOut(steps []step) error {
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
		message, advice := split(err)
		h.warn("%s", safetext.Line(message))
		if advice != "" {
			h.note("%s", safetext.Line(advice))
		}
	}
	return failed(exitFailure, "see to what is said above and repeat the command; the other hosts are done",
		"%d of %d hosts were left as they were", len(failures), len(steps))
}

func (h *hostChange) showPlan(p setup.Plan) {
	if len(p.Changes) == 0 {
		h.printf("%s: nothing to change\n", p.Title)
		return
	}
	h.printf("%s\n", h.paint(bold, p.Title))
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
			h.printf("  %s\n", h.paint(style, safetext.Text(line)))
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
