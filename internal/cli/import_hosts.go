package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/config"
	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/prose"
	"github.com/lossless-context/lcm/internal/safetext"
)

// hostImport is what an import of agents' sessions prints as JSON.
type hostImport struct {
	DryRun  bool         `json:"dryRun,omitempty"`
	Hosts   []hostReport `json:"hosts"`
	Seconds float64      `json:"seconds"`
}

type hostReport struct {
	Host      string          `json:"host"`
	Found     bool            `json:"found"`
	Sessions  int             `json:"sessions"`
	Unchanged int             `json:"unchanged"`
	Ignored   int             `json:"ignored,omitempty"`
	Records   int             `json:"records"`
	New       int             `json:"new"`
	Known     int             `json:"known"`
	Hidden    int             `json:"hidden"`
	Bytes     int64           `json:"bytes"`
	Unknown   map[string]int  `json:"unknown,omitempty"`
	Failures  []failureReport `json:"failures,omitempty"`
}

type failureReport struct {
	Path  string `json:"path"`
	Error string `json:"error"`
}

// importMemory is what the collector of garbage aims to keep an import within.
// What is in use is far less, but while much comes in at once as much again
// would lie about.
const importMemory = 112 << 20

// standIn has the settings name an empty database for a dry run where there is
// none yet: a run that stores nothing makes nothing. away removes it.
func standIn(cfg *config.Config) (away func(), err error) {
	if _, err := os.Stat(cfg.Storage.DatabasePath); !errors.Is(err, fs.ErrNotExist) {
		return func() {}, nil // opening it tells of any other error
	}
	dir, err := os.MkdirTemp("", "lcm-dry-run-")
	if err != nil {
		return nil, fmt.Errorf("make a place for the dry run: %w", err)
	}
	cfg.Storage.DatabasePath = filepath.Join(dir, "lcm.db")
	return func() { _ = os.RemoveAll(dir) }, nil // it holds nothing
}

// importHosts catches up with the transcripts that a filter selects.
func (cmd *importCommand) importHosts(ctx context.Context, filter hosts.Filter) error {
	begun := time.Now()
	if os.Getenv("GOMEMLIMIT") == "" {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(importMemory))
	}
	cfg, err := cmd.settings()
	if err != nil {
		return err
	}
	if filter.DryRun {
		away, err := standIn(cfg)
		if err != nil {
			return err
		}
		defer away()
	}
	ar, err := cmd.openWith(ctx, cfg, toWrite)
	if err != nil {
		return err
	}
	sums, err := cmd.feedAll(ctx, ar, filter)
	if err = errors.Join(err, ar.close(ctx)); err != nil {
		return err
	}
	missing := notFound(sums, filter)
	if len(missing) == len(sums) {
		return nothingFound(missing, filter)
	}
	if err := cmd.printHosts(sums, filter, time.Since(begun)); err != nil {
		return err
	}
	if len(missing) > 0 && len(filter.Hosts) > 0 { // the others were read all the same
		return nothingFound(missing, filter)
	}
	failures := 0
	for _, s := range sums {
		failures += len(s.Failures)
	}
	if failures > 0 {
		hint := "everything else is stored; mend what is said above and repeat the command"
		if filter.DryRun {
			hint = "mend what is said above; everything else can be imported"
		}
		return failed(exitFailure, hint, "%s could not be read", prose.Count(failures, "transcript or part of one", "transcripts or parts of them"))
	}
	return nil
}

func (cmd *importCommand) feedAll(ctx context.Context, ar *archive, filter hosts.Filter) ([]hosts.Summary, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, failed(exitFailure, "set HOME", "find the home directory: %w", err)
	}
	feed, err := hosts.New(ar.engine, all.Hosts(), hosts.Machine{Home: home, Getenv: os.Getenv}, hosts.Options{Log: cmd.logger(ar.cfg)})
	if err != nil {
		return nil, err
	}
	bar := cmd.newBar("importing")
	defer bar.clear()
	return feed.All(ctx, filter, func(p hosts.Progress) {
		bar.set(p.Bytes, p.Total, fmt.Sprintf("%s of %s, %s", prose.Number(p.Sessions), prose.Count(p.SessionTotal, "session", "sessions"), prose.Count(p.Records, "record", "records")))
	})
}

// notFound lists the agents that were looked for on this machine, and of which
// there is no sign.
func notFound(sums []hosts.Summary, filter hosts.Filter) (titles []string) {
	for _, s := range sums {
		if !s.Present && filter.Path == "" {
			titles = append(titles, s.Title)
		}
	}
	return titles
}

// nothingFound says what to do where there is nothing to import.
func nothingFound(missing []string, filter hosts.Filter) error {
	hint := "name a file or directory that holds sessions"
	if len(filter.Hosts) > 0 {
		hint = "`lcm import` without a name imports what there is"
	}
	return failed(exitNotFound, hint, "there is no sign of %s on this machine", strings.Join(missing, " or "))
}

func (cmd *importCommand) printHosts(sums []hosts.Summary, filter hosts.Filter, took time.Duration) error {
	out := hostImport{DryRun: filter.DryRun, Hosts: []hostReport{}, Seconds: took.Seconds()}
	t := newTable("agent", ">sessions", ">unchanged", ">records", ">new", ">known", ">hidden", ">read")
	for _, s := range sums {
		if filter.Path != "" && s.Sessions == 0 && len(s.Failures) == 0 {
			continue
		}
		r := hostReport{Host: s.Host, Found: s.Present, Sessions: s.Sessions, Unchanged: s.Unchanged, Ignored: s.Ignored, Records: s.Records,
			New: s.New, Known: s.Known, Hidden: s.Hidden, Bytes: s.Bytes, Unknown: s.Unknown}
		for _, f := range s.Failures {
			r.Failures = append(r.Failures, failureReport{f.Path, f.Err.Error()})
			why := strings.ReplaceAll(f.Err.Error(), "read "+f.Path+": ", "") // it is said before
			cmd.warn("%s: %s", safetext.Line(f.Path), safetext.Line(plain(why)))
		}
		out.Hosts = append(out.Hosts, r)
		if !s.Present && filter.Path == "" {
			t.add(s.Title, "not found", "", "", "", "", "", "")
			continue
		}
		t.add(s.Title, prose.Number(s.Sessions), prose.Number(s.Unchanged), prose.Number(s.Records), prose.Number(s.New), prose.Number(s.Known), prose.Number(s.Hidden), prose.Size(s.Bytes))
	}
	if cmd.json {
		return cmd.printJSON(out)
	}
	cmd.printTable(t)
	for _, r := range out.Hosts {
		for _, kind := range slices.Sorted(maps.Keys(r.Unknown)) {
			cmd.note("%s: %s of a type that this version does not know, %q: kept, hidden, and searchable",
				r.Host, prose.Count(r.Unknown[kind], "record", "records"), safetext.Line(kind))
		}
		if r.Ignored > 0 {
			cmd.note("%s: %s not stored, as the settings say (ingest.ignore_…_patterns)", r.Host, prose.Count(r.Ignored, "session was", "sessions were"))
		}
	}
	if filter.DryRun {
		cmd.note("nothing was stored; without --dry-run this would be")
	}
	return nil
}
