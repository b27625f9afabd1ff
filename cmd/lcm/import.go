package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/hosts"
	"github.com/lossless-context/lcm/hosts/all"
	"github.com/lossless-context/lcm/project"
)

type importFlags struct {
	session, agent, title string
	since, project        string
	dryRun                bool
	archive               archiveFlags
}

func newImport(a *app) *cobra.Command {
	var f importFlags
	names := hostNames()
	c := &cobra.Command{
		Use:   "import [HOST…|PATH|-]",
		Short: "Keep the sessions of the agents on this machine, or of a file",
		Long: `Keep what agents have written down: every record of a session, word for word.
Without an argument that is everything found on this machine, else what the
named agents have (` + strings.Join(names, ", ") + `), or what a file or directory
holds. A path that has an agent's name is written as ./` + names[0] + `.
An archive of ` + "`lcm export`" + ` is proved before anything is added. What does not
prove is named, and only its place is kept unless --damaged is given; all the
rest is added, and the exit code is then 6.

Importing again reads only what has changed, and what is stored already is not
stored twice. A file that cannot be read stops nothing else.

A file that no agent wrote may hold a message a line (JSONL), one JSON array of
messages, or an object with "messages", in the shape of OpenAI's or Anthropic's
API. A message may have an "id" and a "timestamp"; without ids its place in the
history tells what is new. The whole of such a file is checked before anything
is stored; one that was cut off in the middle of a message is stored up to
there. Its session is named by --session, else by the file's path, and standard
input by its first four messages.`,
		Example: `lcm import
lcm import claude codex --since 30d
lcm import --project . --dry-run
lcm import ~/backup/.claude/projects
lcm import session.jsonl
echo '[{"role":"user","content":"Hi"}]' | lcm import - --session notes
lcm import --session support/42 --agent support-bot messages.json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.importAny(cmd, args, f) },
	}
	fl := c.Flags()
	fl.StringVar(&f.since, "since", "", "only sessions written to since this time, like 2026-02-19 or 30d")
	fl.StringVar(&f.project, "project", "", "only sessions of the project of this directory")
	fl.BoolVar(&f.dryRun, "dry-run", false, "say what would be read, and store nothing")
	fl.StringVar(&f.session, "session", "", "session key of a file of messages (default: import: and the file's path)")
	fl.StringVar(&f.agent, "agent", "", "name of the agent that speaks in a file of messages")
	fl.StringVar(&f.title, "title", "", "title of the conversation of a file of messages")
	fl.BoolVar(&f.archive.skipConflicts, "skip-conflicts", false, "of an archive, leave out conversations that are here and different")
	fl.BoolVar(&f.archive.damaged, "damaged", false, "of an archive, take what does not match its hash as well, marked as damaged")
	fl.BoolVar(&f.archive.large, "large", false, "of an archive, believe that it unpacks to thousands of times its size")
	a.jsonFlag(c)
	return c
}

func hostNames() []string {
	var names []string
	for _, h := range all.Hosts() {
		names = append(names, h.Name())
	}
	return names
}

// importAny finds out what is to be imported.
func (a *app) importAny(cmd *cobra.Command, args []string, f importFlags) error {
	filter, err := f.filter()
	if err != nil {
		return wrongUsage(cmd, err)
	}
	known := hostNames()
	path := ""
	for _, arg := range args {
		if slices.Contains(known, arg) {
			filter.Hosts = append(filter.Hosts, arg)
		} else {
			path = arg
		}
	}
	forFiles := f.session != "" || f.agent != "" || f.title != ""
	switch {
	case path != "" && len(args) > 1:
		return wrongUsage(cmd, fmt.Errorf("name agents (%s), or one path", strings.Join(known, ", ")))
	case path == "" && forFiles:
		return wrongUsage(cmd, errors.New("--session, --agent and --title are for a file of messages"))
	case path == "":
		return a.importHosts(cmd.Context(), filter)
	case path == "-" || forFiles:
		return a.importMessages(cmd, path, f)
	}
	info, err := os.Stat(path)
	if err != nil {
		return missingPath(err, path, known)
	}
	if isArchive(path) {
		return a.importArchive(cmd.Context(), path, f.archive)
	}
	if info.IsDir() { // links below it are not followed, but the one that was named is
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return missingPath(err, path, known)
		}
	}
	filter.Path = path
	if found, err := a.holds(cmd.Context(), path); err != nil || found {
		if err != nil {
			return err
		}
		return a.importHosts(cmd.Context(), filter)
	}
	if info.IsDir() {
		return failed(exitNotFound, "name one file of messages; a shell loop imports many", "%s is a directory without any agent's sessions", path)
	}
	return a.importMessages(cmd, path, f)
}

func missingPath(err error, path string, known []string) error {
	hint := "check the path and that you may read it"
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(path, `/\.`) {
		hint = "the agents are " + strings.Join(known, ", ") + "; anything else is a path"
	}
	return failed(exitFailure, hint, "%w", err)
}

// filter is what the flags select.
func (f importFlags) filter() (hosts.Filter, error) {
	filter := hosts.Filter{DryRun: f.dryRun}
	var err error
	if filter.Since, err = parseSince(f.since, time.Now()); err != nil || f.project == "" {
		return filter, err
	}
	if info, err := os.Stat(f.project); err != nil || !info.IsDir() {
		return filter, fmt.Errorf("--project takes a directory, and %q is none", f.project)
	}
	in, err := project.Of(f.project)
	filter.Project = &in
	return filter, err
}

// parseSince reads a time, or how long ago it is.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, fmt.Errorf("--since takes a time like 2026-02-19, 2026-02-19T08:30:00Z or 30d, not %q", text)
}

// holds reports whether a path holds an agent's transcript.
func (a *app) holds(ctx context.Context, path string) (bool, error) {
	found := false
	err := filepath.WalkDir(path, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil // what cannot be looked at is told by the import
		}
		for _, h := range all.Hosts() {
			if ts, err := h.In(ctx, file); err == nil && len(ts) > 0 {
				found = true
				return fs.SkipAll
			}
		}
		return ctx.Err()
	})
	return found, err
}

func (a *app) importMessages(cmd *cobra.Command, path string, f importFlags) error {
	if f.dryRun || f.since != "" || f.project != "" {
		return wrongUsage(cmd, errors.New("--dry-run, --since and --project are for the sessions of agents"))
	}
	r, err := a.importFile(cmd.Context(), path, f)
	if err != nil {
		return err
	}
	return a.printImport(path, r)
}
