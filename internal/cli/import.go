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
	"github.com/lossless-context/lcm/internal/record/store"
)

type importCommand struct {
	*program
	session, agent, title string
	since, project        string
	dryRun                bool
	archive               archiveFlags
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
	fl.BoolVar(&cmd.archive.skipConflicts, "skip-conflicts", false, "of an archive, leave out conversations that are here and different")
	fl.BoolVar(&cmd.archive.damaged, "damaged", false, "of an archive, also take messages that do not match their hash, marked as damaged")
	fl.BoolVar(&cmd.archive.large, "large", false, "of an archive, believe that it unpacks to thousands of times its size")
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
	return cmd.importEach(c, paths, func(path string) error { return cmd.importPath(c, path, filter) })
}

// importEach imports several paths.
func (cmd *importCommand) importEach(c *cobra.Command, paths []string, one func(path string) error) error {
	failures := 0
	for _, path := range paths {
		err := one(path)
		if err == nil {
			continue
		}
		if c.Context().Err() != nil || exitCode(err) == exitUsage || exitCode(err) >= exitConfig {
			return err // it would be the same for every path
		}
		failures++
		message, hint := split(err)
		if hint != "" {
			message += "; " + hint
		}
		cmd.warn("%s: %s", safetext.Line(path), safetext.Line(plain(message)))
	}
	if failures > 0 {
		return failed(exitFailure, "what is wrong with each is said above", "%d of %s could not be imported",
			failures, prose.Count(len(paths), "path", "paths"))
	}
	return nil
}

// importPath imports what a path is found to hold: an archive, transcripts or messages.
func (cmd *importCommand) importPath(c *cobra.Command, path string, filter hosts.Filter) error {
	in, err := cmd.lookInto(c.Context(), path)
	if err != nil {
		return err
	}
	filter.Path = in.path
	ofAgents := cmd.dryRun || cmd.since != "" || cmd.project != ""
	switch {
	case in.archive:
		return cmd.importArchive(c.Context(), path)
	case in.transcripts > 0 && cmd.agent != "", in.dir && (cmd.session != "" || cmd.title != ""):
		return wrongUsage(c, errors.New("--session, --agent and --title are for a file of messages"))
	case in.transcripts > 0:
		err := cmd.importHosts(c.Context(), filter)
		cmd.noteSkipped(in, append(in.messages, in.others...))
		return err
	case ofAgents:
		return wrongUsage(c, errors.New("--dry-run, --since and --project are for the sessions of agents"))
	case !in.dir:
		return cmd.importMessages(c.Context(), in.path)
	case len(in.messages) == 0:
		return failed(exitNotFound, "transcripts of agents, .json and .jsonl files are read", "%s is a directory without any agent's sessions or files of messages", path)
	}
	err = cmd.importEach(c, in.messages, func(file string) error { return cmd.importMessages(c.Context(), file) })
	cmd.noteSkipped(in, in.others)
	return err
}

// contents are what a path holds.
type contents struct {
	path         string
	dir, archive bool
	transcripts  int
	messages     []string // files that may hold messages, by their names
	others       []string
}

// lookInto finds out what a path holds.
func (cmd *importCommand) lookInto(ctx context.Context, path string) (in contents, err error) {
	if path == "-" || path == "/dev/stdin" {
		return contents{path: "-"}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return in, missingPath(err, path)
	}
	in.path, in.dir = path, info.IsDir()
	switch {
	case in.dir: // links below it are not followed, but the one that was named is
		if in.path, err = filepath.EvalSymlinks(path); err != nil {
			return in, missingPath(err, path)
		}
	case !info.Mode().IsRegular(): // opening one may wait for ever
		return in, failed(exitFailure, "name a file, or pipe the messages into `lcm import -`", "%s is a pipe or a device; nothing was stored", path)
	case cmd.session != "" || cmd.agent != "" || cmd.title != "":
		return in, nil // the flags say that it holds messages
	case isArchive(path):
		in.archive = true
		return in, nil
	}
	err = filepath.WalkDir(in.path, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil // the import reports files that cannot be read
		}
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
			in.others = append(in.others, file)
			return nil
		}
		for _, h := range all.Hosts() {
			if ts, err := h.In(ctx, file); err == nil && len(ts) > 0 {
				in.transcripts++
				return ctx.Err()
			}
		}
		if ext := strings.ToLower(filepath.Ext(file)); ext == ".json" || ext == ".jsonl" {
			in.messages = append(in.messages, file)
		} else {
			in.others = append(in.others, file)
		}
		return ctx.Err()
	})
	return in, err
}

// noteSkipped names files of a directory that were not read.
func (cmd *importCommand) noteSkipped(in contents, files []string) {
	const most = 3
	if len(files) == 0 || !in.dir {
		return
	}
	names := make([]string, 0, most)
	for _, file := range files[:min(most, len(files))] {
		if rel, err := filepath.Rel(in.path, file); err == nil {
			file = rel
		}
		names = append(names, safetext.Line(file))
	}
	if len(files) > most {
		names = append(names, "…")
	}
	cmd.note("%s: skipped %s without a transcript: %s", safetext.Line(in.path), prose.Count(len(files), "file", "files"), strings.Join(names, ", "))
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
		total := int64(0)
		for _, c := range due {
			total += int64(c.ViewTokens - foldAbove(cfg))
		}
		bar := newFoldBar(cmd.program, "folding", total)
		f, err := engine.FoldDue(ctx, lcm.FoldOptions{Time: importFoldTime, OnFold: bar.folded,
			OnStart: func(c store.Conversation, _ int) { bar.start(c) }})
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
