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
			if cmd.dryRun {
				return err
			}
			return cmd.foldImported(c.Context(), err)
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

// importAny imports the hosts or paths that the arguments name.
func (cmd *importCommand) importAny(c *cobra.Command, args []string) error {
	filter, err := cmd.filter()
	if err != nil {
		return wrongUsage(c, err)
	}
	known := all.Names[hosts.Host]()
	var paths []string
	for _, arg := range args {
		if slices.Contains(known, arg) {
			filter.Hosts = append(filter.Hosts, arg)
		} else {
			paths = append(paths, arg)
		}
	}
	forFiles := cmd.session != "" || cmd.agent != "" || cmd.title != ""
	switch {
	case len(paths) > 0 && len(filter.Hosts) > 0:
		return wrongUsage(c, fmt.Errorf("name agents (%s), or paths", strings.Join(known, ", ")))
	case len(paths) == 0 && forFiles:
		return wrongUsage(c, errors.New("--session, --agent and --title are for a file of messages"))
	case len(paths) == 0:
		return cmd.importHosts(c.Context(), filter)
	case len(paths) == 1:
		return cmd.importPath(c, paths[0], filter)
	case cmd.session != "" || cmd.title != "":
		return wrongUsage(c, errors.New("--session and --title are for one file of messages"))
	}
	return cmd.importEach(c, paths, func(path string) error { return cmd.importPath(c, path, filter) })
}

// importEach imports several paths. One that fails stops no other.
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

// importPath imports a file or a directory.
func (cmd *importCommand) importPath(c *cobra.Command, path string, filter hosts.Filter) error {
	known := all.Names[hosts.Host]()
	if path == "-" || path == "/dev/stdin" {
		return cmd.importMessages(c, "-")
	}
	info, err := os.Stat(path)
	if err != nil {
		return missingPath(err, path, known)
	}
	if err := isFile(path, info); err != nil {
		return err
	}
	switch {
	case info.IsDir() && (cmd.session != "" || cmd.title != ""):
		return wrongUsage(c, errors.New("--session and --title are for one file of messages"))
	case !info.IsDir() && (cmd.session != "" || cmd.agent != "" || cmd.title != ""):
		return cmd.importMessages(c, path)
	case !info.IsDir() && isArchive(path):
		return cmd.importArchive(c.Context(), path)
	}
	if info.IsDir() { // links below it are not followed, but the one that was named is
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return missingPath(err, path, known)
		}
	}
	filter.Path = path
	in, err := cmd.lookInto(c.Context(), path)
	switch {
	case err != nil:
		return err
	case in.transcripts > 0 && cmd.agent != "":
		return wrongUsage(c, fmt.Errorf("--agent is for files of messages, and %s holds agents' transcripts", path))
	case in.transcripts > 0:
		err := cmd.importHosts(c.Context(), filter)
		if info.IsDir() {
			cmd.noteSkipped(path, append(in.messages, in.others...))
		}
		return err
	case !info.IsDir():
		return cmd.importMessages(c, path)
	case len(in.messages) == 0:
		return failed(exitNotFound, "transcripts of agents, .json and .jsonl files are read", "%s is a directory without any agent's sessions or files of messages", path)
	}
	err = cmd.importEach(c, in.messages, func(file string) error { return cmd.importMessages(c, file) })
	cmd.noteSkipped(path, in.others)
	return err
}

// noteSkipped names files of a directory that were not read.
func (cmd *importCommand) noteSkipped(dir string, files []string) {
	const most = 3
	if len(files) == 0 {
		return
	}
	names := make([]string, 0, most)
	for _, file := range files[:min(most, len(files))] {
		if rel, err := filepath.Rel(dir, file); err == nil {
			file = rel
		}
		names = append(names, safetext.Line(file))
	}
	if len(files) > most {
		names = append(names, "…")
	}
	cmd.note("%s: skipped %s without a transcript: %s", safetext.Line(dir), prose.Count(len(files), "file", "files"), strings.Join(names, ", "))
}

func missingPath(err error, path string, known []string) error {
	hint := "check the path and that you may read it"
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(path, `/\.`) {
		hint = "the agents are " + strings.Join(known, ", ") + "; anything else is a path"
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

// contents are the files of a path.
type contents struct {
	transcripts int
	messages    []string // files that may hold messages, by their names
	others      []string
}

// lookInto lists the files of a path by kind.
func (cmd *importCommand) lookInto(ctx context.Context, path string) (contents, error) {
	var in contents
	err := filepath.WalkDir(path, func(file string, e fs.DirEntry, err error) error {
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
		switch strings.ToLower(filepath.Ext(file)) {
		case ".json", ".jsonl":
			in.messages = append(in.messages, file)
		default:
			in.others = append(in.others, file)
		}
		return ctx.Err()
	})
	return in, err
}

// importMessages imports a file of messages.
func (cmd *importCommand) importMessages(c *cobra.Command, path string) error {
	if cmd.dryRun || cmd.since != "" || cmd.project != "" {
		return wrongUsage(c, errors.New("--dry-run, --since and --project are for the sessions of agents"))
	}
	r, err := cmd.importFile(c.Context(), path)
	if err != nil {
		return err
	}
	return cmd.printImport(path, r)
}
