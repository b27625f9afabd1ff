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
	"github.com/lossless-context/lcm/internal/project"
)

type importFlags struct {
	session, agent, title string
	since, project        string
	dryRun                bool
	archive               archiveFlags
}

func newImport(a *program) *cobra.Command {
	var f importFlags
	names := hostNames()
	c := &cobra.Command{
		Use:   "import [HOST…|PATH…|-]",
		Short: "Keep the sessions of the agents on this machine, or of a file",
		Long: `Keep what agents have written down: every record of a session, word for word.
Without an argument that is everything found on this machine, else what the
named agents have (` + strings.Join(names, ", ") + `), or what files and directories
hold. A path that has an agent's name is written as ./` + names[0] + `.
Of a directory the agents' transcripts are read, or where there are none its
files of messages (.json, .jsonl); what was skipped is said.
An archive of ` + "`lcm export`" + ` is proved before anything is added. What does not
prove is named, and only its place is kept unless --damaged is given; all the
rest is added, and the exit code is then 6.

A conversation that is larger than a context window is folded into summaries, as
far as twenty seconds suffice; the rest goes on in the background. No model is
asked (see compaction.background in docs/CONFIG.md).

Importing again reads only what has changed, and what is stored already is not
stored twice. A file that cannot be read stops nothing else. With --json several
paths print an object each.

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
lcm import monday.jsonl tuesday.jsonl exports/
echo '[{"role":"user","content":"Hi"}]' | lcm import - --session notes
lcm import --session support/42 --agent support-bot messages.json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			err := a.importAny(cmd, args, f)
			if f.dryRun {
				return err
			}
			return a.foldImported(cmd.Context(), err)
		},
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
func (a *program) importAny(cmd *cobra.Command, args []string, f importFlags) error {
	filter, err := f.filter()
	if err != nil {
		return wrongUsage(cmd, err)
	}
	known := hostNames()
	var paths []string
	for _, arg := range args {
		if slices.Contains(known, arg) {
			filter.Hosts = append(filter.Hosts, arg)
		} else {
			paths = append(paths, arg)
		}
	}
	forFiles := f.session != "" || f.agent != "" || f.title != ""
	switch {
	case len(paths) > 0 && len(filter.Hosts) > 0:
		return wrongUsage(cmd, fmt.Errorf("name agents (%s), or paths", strings.Join(known, ", ")))
	case len(paths) == 0 && forFiles:
		return wrongUsage(cmd, errors.New("--session, --agent and --title are for a file of messages"))
	case len(paths) == 0:
		return a.importHosts(cmd.Context(), filter)
	case len(paths) == 1:
		return a.importPath(cmd, paths[0], filter, f)
	case f.session != "" || f.title != "":
		return wrongUsage(cmd, errors.New("--session and --title are for one file of messages"))
	}
	return a.importEach(cmd, paths, func(path string) error { return a.importPath(cmd, path, filter, f) })
}

// importEach imports several paths. One that fails stops no other.
func (a *program) importEach(cmd *cobra.Command, paths []string, one func(path string) error) error {
	failures := 0
	for _, path := range paths {
		err := one(path)
		switch {
		case err == nil:
		case cmd.Context().Err() != nil || exitCode(err) == exitUsage || exitCode(err) >= exitConfig:
			return err // it would be the same for every path
		default:
			failures++
			message, hint := split(err)
			if hint != "" {
				message += "; " + hint
			}
			a.warn("%s: %s", neutralLine(path), neutralLine(plain(message)))
		}
	}
	if failures > 0 {
		return failed(exitFailure, "what is wrong with each is said above", "%d of %s could not be imported",
			failures, counted(len(paths), "path", "paths"))
	}
	return nil
}

// importPath imports what a file or a directory holds.
func (a *program) importPath(cmd *cobra.Command, path string, filter hosts.Filter, f importFlags) error {
	known := hostNames()
	if path == "-" {
		return a.importMessages(cmd, path, f)
	}
	info, err := os.Stat(path)
	if err != nil {
		return missingPath(err, path, known)
	}
	switch {
	case info.IsDir() && (f.session != "" || f.title != ""):
		return wrongUsage(cmd, errors.New("--session and --title are for one file of messages"))
	case !info.IsDir() && (f.session != "" || f.agent != "" || f.title != ""):
		return a.importMessages(cmd, path, f)
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
	in, err := a.lookInto(cmd.Context(), path)
	switch {
	case err != nil:
		return err
	case in.transcripts > 0 && f.agent != "":
		return wrongUsage(cmd, fmt.Errorf("--agent is for files of messages, and %s holds agents' transcripts", path))
	case in.transcripts > 0:
		err := a.importHosts(cmd.Context(), filter)
		if info.IsDir() {
			a.noteSkipped(path, append(in.messages, in.others...))
		}
		return err
	case !info.IsDir():
		return a.importMessages(cmd, path, f)
	case len(in.messages) == 0:
		return failed(exitNotFound, "transcripts of agents, .json and .jsonl files are read", "%s is a directory without any agent's sessions or files of messages", path)
	}
	err = a.importEach(cmd, in.messages, func(file string) error { return a.importMessages(cmd, file, f) })
	a.noteSkipped(path, in.others)
	return err
}

// noteSkipped names files of a directory that were not read.
func (a *program) noteSkipped(dir string, files []string) {
	const most = 3
	if len(files) == 0 {
		return
	}
	names := make([]string, 0, most)
	for _, file := range files[:min(most, len(files))] {
		if rel, err := filepath.Rel(dir, file); err == nil {
			file = rel
		}
		names = append(names, neutralLine(file))
	}
	if len(files) > most {
		names = append(names, "…")
	}
	a.note("%s: skipped %s without a transcript: %s", neutralLine(dir), counted(len(files), "file", "files"), strings.Join(names, ", "))
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
	if filter.Since, err = readTime("since", f.since, time.Now()); err != nil || f.project == "" {
		return filter, err
	}
	if info, err := os.Stat(f.project); err != nil || !info.IsDir() {
		return filter, fmt.Errorf("--project takes a directory, and %q is none", f.project)
	}
	in, err := project.Of(f.project)
	filter.Project = &in
	return filter, err
}

// contents is what a path holds.
type contents struct {
	transcripts int
	messages    []string // files that may hold messages, by their names
	others      []string
}

// lookInto finds out what a path holds.
func (a *program) lookInto(ctx context.Context, path string) (contents, error) {
	var in contents
	err := filepath.WalkDir(path, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil // what cannot be looked at is told by the import
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

func (a *program) importMessages(cmd *cobra.Command, path string, f importFlags) error {
	if f.dryRun || f.since != "" || f.project != "" {
		return wrongUsage(cmd, errors.New("--dry-run, --since and --project are for the sessions of agents"))
	}
	r, err := a.importFile(cmd.Context(), path, f)
	if err != nil {
		return err
	}
	return a.printImport(path, r)
}
