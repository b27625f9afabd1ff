package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/hosts/setup"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
)

// hostImport is the JSON output of an import of agents' sessions.
type hostImport struct {
	DryRun  bool            `json:"dryRun,omitempty"`
	Hosts   []hosts.Summary `json:"hosts"`
	deleted []example       // sessions, some of those that the hosts have deleted
	Seconds float64         `json:"seconds"`
}

// example is something that the record has and an agent lacked.
type example struct {
	ID   string `json:"id"` // of a conversation or a message
	Text string `json:"text"`
}

// importMemory limits the heap during an import: garbage of large batches would double it.
const importMemory = 112 << 20

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
	missing, present, err := absent(filter)
	if err != nil {
		return err
	}
	if !present { // no database is made for nothing
		return nothingFound(missing, filter)
	}
	open := cmd.openWith
	if filter.DryRun && missingFile(cfg) {
		open = cmd.openMemory
	}
	rec, err := open(ctx, cfg, toWrite)
	if err != nil {
		return err
	}
	out := hostImport{DryRun: filter.DryRun, Hosts: []hosts.Summary{}}
	sums, err := cmd.feedAll(ctx, rec, filter)
	if err == nil && !filter.DryRun {
		cmd.lookBack(ctx, rec, sums, &out)
	}
	if err = errors.Join(err, rec.close(ctx)); err != nil {
		return err
	}
	out.Seconds = time.Since(begun).Seconds()
	if err := cmd.printHosts(out, sums, filter); err != nil {
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
		return failed(exitFailure, "mend what is said above and repeat the command; everything else was read", "%s could not be read", prose.Count(failures, "transcript or part of one", "transcripts or parts of them"))
	}
	return nil
}

// absent returns the titles of the agents that were asked for and of which there is no sign,
// and whether there is any other.
func absent(filter hosts.Filter) (missing []string, present bool, err error) {
	m, err := machine()
	if err != nil || filter.Path != "" {
		return nil, true, err
	}
	for _, h := range all.Hosts() {
		switch {
		case len(filter.Hosts) > 0 && !slices.Contains(filter.Hosts, h.About().Name):
		case h.Find(m).Present:
			present = true
		default:
			missing = append(missing, h.About().Title)
		}
	}
	return missing, present, nil
}

func (cmd *importCommand) feedAll(ctx context.Context, rec *openRecord, filter hosts.Filter) ([]hosts.Summary, error) {
	feed, err := newFeed(rec.engine, cmd.logger(rec.cfg))
	if err != nil {
		return nil, err
	}
	bar := cmd.newBar("importing")
	defer bar.clear()
	return feed.All(ctx, filter, func(p hosts.Progress) {
		bar.set(p.Bytes, p.Total, fmt.Sprintf("%s of %s, %s", prose.Number(p.Sessions), prose.Count(p.SessionTotal, "session", "sessions"), prose.Count(p.Records, "record", "records")))
	})
}

// nothingFound returns the error for hosts that are not installed.
func nothingFound(missing []string, filter hosts.Filter) error {
	hint := "`lcm import FILE` stores a file of messages, or what is in a directory; `lcm demo` shows lcm without any"
	if len(filter.Hosts) > 0 {
		hint = "`lcm import` without a name imports what there is"
	}
	return failed(exitNotFound, hint, "there is no sign of %s on this machine", strings.Join(missing, " or "))
}

// What is looked back at after an import: no longer than a user waits for it.
const (
	lookBackTime = 10 * time.Second
	maxExamples  = 3
)

// lookBack finds titles of sessions that the agents have deleted. What cannot be found in time is
// left out.
func (cmd *importCommand) lookBack(ctx context.Context, rec *openRecord, sums []hosts.Summary, out *hostImport) {
	ctx, cancel := context.WithTimeout(ctx, lookBackTime)
	defer cancel()
	for _, s := range sums {
		for _, l := range hosts.Resumable(s.Lost) {
			if title, err := titleOf(ctx, rec.db, l.Conversation); err == nil && len(out.deleted) < maxExamples {
				out.deleted = append(out.deleted, example{strconv.FormatInt(int64(l.Conversation.ID), 10), title})
			}
		}
	}
}

// found says what was found, with examples.
func (cmd *importCommand) found(some []example, what string) {
	for _, e := range some[:min(len(some), maxExamples)] {
		what += "\n  " + e.ID + "  " + clip(e.Text, 160)
	}
	cmd.note("%s", what)
}

func (cmd *importCommand) printHosts(out hostImport, sums []hosts.Summary, filter hosts.Filter) error {
	var missing []string
	t := newTable("agent", ">sessions", ">unchanged", ">records", ">new", ">known", ">bookkeeping", ">read")
	for _, s := range sums {
		if filter.Path != "" && s.Sessions == 0 && len(s.Failures) == 0 {
			continue
		}
		for _, f := range s.Failures {
			why := strings.ReplaceAll(f.Err.Error(), "read "+f.Path+": ", "") // it is said before
			cmd.warn("%s: %s", safetext.Line(f.Path), safetext.Line(plain(why)))
		}
		out.Hosts = append(out.Hosts, s)
		if !s.Present && filter.Path == "" {
			missing = append(missing, s.Title)
			continue
		}
		cmd.stored += s.New
		t.add(s.Title, prose.Number(s.Sessions), prose.Number(s.Unchanged), prose.Number(s.Records), prose.Number(s.New), prose.Number(s.Known), prose.Number(s.Hidden), prose.Size(s.Bytes))
	}
	cmd.printTable(t)
	deleted := 0
	if len(missing) > 0 && len(filter.Hosts) == 0 { // the error names those that were asked for
		cmd.note("not on this machine: %s", strings.Join(missing, ", "))
	}
	for _, r := range out.Hosts {
		deleted += r.Deleted
		for _, kind := range slices.Sorted(maps.Keys(r.Unknown)) {
			if kind == hosts.NotJSON {
				cmd.note("%s: %s no JSON, or was cut off: kept as bookkeeping, and searchable", r.Host, prose.Count(r.Unknown[kind], "record that is", "records, each of which is"))
				continue
			}
			cmd.note("%s: %s of a type that this version does not know, %q: kept as bookkeeping, and searchable",
				r.Host, prose.Count(r.Unknown[kind], "record", "records"), safetext.Line(kind))
		}
		if r.Summaries > 0 {
			cmd.note("%s: %s with their links", r.Host, prose.Count(r.Summaries, "summary was taken", "summaries were taken"))
		}
		for _, kind := range slices.Sorted(maps.Keys(r.Left)) {
			cmd.note("%s: no place for %s %s%s", r.Host, prose.Number(r.Left[kind]), safetext.Line(kind), map[string]string{hosts.LeftSummaries: ": their messages are folded otherwise here, or not stored"}[kind])
		}
		if r.Ignored > 0 {
			cmd.note("%s: %s not stored, as the settings say (ingest.ignore_…_patterns)", r.Host, prose.Count(r.Ignored, "session was", "sessions were"))
		}
	}
	if deleted > 0 {
		cmd.found(out.deleted, prose.Count(deleted, "stored session was", "stored sessions were")+" deleted since by the agents: `lcm undelete` lists them and writes them back")
	}
	if filter.DryRun {
		cmd.note("nothing was stored; without --dry-run these sessions would be read")
	}
	return cmd.emit(out)
}

// printNext says what to do after an import that stored something.
func (cmd *importCommand) printNext() {
	step := "`lcm ui` shows what was stored"
	if m, err := machine(); err == nil {
		if connected, installed := setup.Connected(m, all.Those[setup.Host]()); len(connected) == 0 && len(installed) > 0 {
			step = "`lcm setup --all` connects the agents of this machine, and " + step
		}
	}
	cmd.note("next: %s", step)
}
