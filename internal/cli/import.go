package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/project"
)

type importCommand struct {
	*program
	session, agent, title string
	since, project        string
	dryRun                bool
	stored                int // new records of agents' sessions
}

func newImport(p *program) *cobra.Command {
	cmd := &importCommand{program: p}
	c := &cobra.Command{
		Use:   "import [HOST…|PATH…|-]",
		Short: "Import agent sessions, files of messages or archives",
		Args:  cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			err := cmd.importAny(c, args)
			if !cmd.dryRun && c.Context().Err() == nil && exitCode(err) <= exitFailure {
				if problem := cmd.foldDue(c.Context()); problem != nil {
					cmd.warn("what was imported is stored, and could not be folded: %v", problem)
				}
			}
			if !cmd.dryRun && cmd.stored > 0 {
				cmd.printNext()
			}
			return err
		},
	}
	fl := c.Flags()
	fl.StringVar(&cmd.since, "since", "", "only sessions written to since this time, like 2026-02-19 or 30d")
	fl.StringVar(&cmd.project, "project", "", "only sessions of the project of this directory")
	fl.BoolVar(&cmd.dryRun, "dry-run", false, "list the sessions that would be read, and store nothing")
	fl.StringVar(&cmd.session, "session", "", "session key of a file of messages (default: import: and the file's path)")
	fl.StringVar(&cmd.agent, "agent", "", "name of the agent that speaks in a file of messages")
	fl.StringVar(&cmd.title, "title", "", "title of the conversation of a file of messages")
	return cmd.jsonFlag(c)
}

// importAny imports the hosts or paths that the arguments name. A path that fails stops no
// other.
func (cmd *importCommand) importAny(c *cobra.Command, args []string) error {
	filter, err := cmd.filter()
	if err != nil {
		return wrongUsage(c, err)
	}
	var paths []string
	for _, arg := range args {
		if slices.Contains(all.Names[hosts.Host](), arg) {
			filter.Hosts = append(filter.Hosts, arg)
		} else {
			paths = append(paths, arg)
		}
	}
	switch named := cmd.session != "" || cmd.title != ""; {
	case len(paths) > 0 && len(filter.Hosts) > 0:
		return wrongUsage(c, fmt.Errorf("name agents (%s), or paths", strings.Join(all.Names[hosts.Host](), ", ")))
	case len(paths) != 1 && named, len(paths) == 0 && cmd.agent != "":
		return wrongUsage(c, errors.New("--session, --agent and --title are for a file of messages"))
	case len(paths) == 0:
		return cmd.importHosts(c.Context(), filter)
	case len(paths) == 1:
		return cmd.importPath(c, paths[0], filter)
	}
	failures := 0
	for _, path := range paths {
		err := cmd.importPath(c, path, filter)
		if err == nil {
			continue
		}
		if c.Context().Err() != nil || exitCode(err) == exitUsage || exitCode(err) >= exitConfig {
			return err // it would be the same for every path
		}
		failures++
		message, hint := split(err)
		cmd.warn("%s: %s; %s", safetext.Line(path), safetext.Line(plain(message)), hint)
	}
	if failures > 0 {
		return failed(exitFailure, "what is wrong with each is said above", "%d of %s could not be imported",
			failures, prose.Count(len(paths), "path", "paths"))
	}
	return nil
}

// importPath imports what a path is found to hold: an archive, transcripts or messages.
func (cmd *importCommand) importPath(c *cobra.Command, path string, filter hosts.Filter) error {
	if path == "-" || path == "/dev/stdin" {
		return cmd.importMessages(c.Context(), "-")
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() { // links below it are not followed, but the one that was named is
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return missingPath(err, path)
	}
	named := cmd.session != "" || cmd.agent != "" || cmd.title != ""
	filter.Path = path
	switch {
	case info.IsDir() && named:
		return wrongUsage(c, errors.New("--session, --agent and --title are for a file of messages"))
	case info.IsDir():
	case !info.Mode().IsRegular(): // opening one may wait for ever
		return failed(exitFailure, "name a file, or pipe the messages into `lcm import -`", "%s is a pipe or a device; nothing was stored", path)
	case named: // the flags say that it holds messages
		return cmd.importMessages(c.Context(), path)
	case isArchive(path):
		return cmd.importArchive(c.Context(), path)
	}
	if ofAgents(c.Context(), path) {
		return cmd.importHosts(c.Context(), filter)
	}
	if info.IsDir() {
		return failed(exitNotFound, "files of messages are named one by one, as in `lcm import DIRECTORY/*.jsonl`", "%s is a directory without any agent's sessions", path)
	}
	if cmd.dryRun || cmd.since != "" || cmd.project != "" {
		return wrongUsage(c, errors.New("--dry-run, --since and --project are for the sessions of agents"))
	}
	return cmd.importMessages(c.Context(), path)
}

// ofAgents reports whether a file, or one below a directory, is a transcript of an agent.
func ofAgents(ctx context.Context, path string) (found bool) {
	_ = filepath.WalkDir(path, func(file string, e fs.DirEntry, err error) error { // the import reports files that cannot be read
		if err != nil || e.IsDir() || file != path && !e.Type().IsRegular() {
			return ctx.Err()
		}
		for _, h := range all.Hosts() {
			in, err := h.In(ctx, file)
			if err == nil && len(in) > 0 || file == path && err != nil && !errors.Is(err, hosts.ErrNoTranscript) { // then the import reports why
				found = true
				return fs.SkipAll
			}
		}
		return ctx.Err()
	})
	return found
}

func missingPath(err error, path string) error {
	hint := "check the path and that you may read it"
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(path, `/\.`) {
		hint = "the agents are " + strings.Join(all.Names[hosts.Host](), ", ") + "; anything else is a path"
	}
	return failed(exitFailure, hint, "%w", err)
}

// filter returns the sessions that the flags select.
func (cmd *importCommand) filter() (hosts.Filter, error) {
	filter := hosts.Filter{DryRun: cmd.dryRun}
	var err error
	if filter.Since, err = readTime("since", cmd.since, time.Now()); err != nil || cmd.project == "" {
		return filter, err
	}
	if info, err := os.Stat(cmd.project); err != nil || !info.IsDir() {
		return filter, fmt.Errorf("--project takes a directory, and %q is none", cmd.project)
	}
	in, err := project.Of(cmd.project)
	filter.Project = &in
	return filter, err
}

// importFoldTime is how long an import folds. The rest is folded in the background.
const importFoldTime = 20 * time.Second

// foldDue folds large conversations after an import.
func (cmd *importCommand) foldDue(ctx context.Context) error {
	cfg, err := cmd.settings()
	if err != nil || foldAbove(cfg) == 0 || missingFile(cfg) {
		return err
	}
	return cmd.useWith(ctx, cfg, toWrite, func(rec *openRecord) error {
		engine, err := rec.foldingEngine()
		if err != nil {
			return err
		}
		due, err := engine.Due(ctx, nil)
		if err != nil || len(due) == 0 {
			return err
		}
		bar := cmd.newBar("folding")
		f, err := engine.FoldDue(ctx, lcm.FoldOptions{Time: importFoldTime, OnFold: bar.folds()})
		bar.clear()
		if f.Folds > 0 {
			cmd.note("%s folded into %s: `lcm show --tree` shows them", prose.Count(f.Conversations, "long conversation was", "long conversations were"), prose.Count(f.Folds, "summary", "summaries"))
		}
		if err != nil || f.Left == 0 {
			return err
		}
		cmd.note("%s longer than can be folded at once: this goes on in the background, and `lcm compact --all` does it now",
			prose.Count(f.Left, "conversation is", "conversations are"))
		return startRest(startDetached, "import", cfg, "--fold-all")
	})
}
