package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/hosts/hook"
	"github.com/lossless-context/lcm/internal/hosts/setup"
	"github.com/lossless-context/lcm/internal/kit/guard"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/project"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/settings/config"
)

func newHook(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "hook HOST",
		Short: "Answer an event of a host (for hosts)",
		// A host takes an exit code for an order, also one about an unknown flag.
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			if slices.Contains(args, "--help") || slices.Contains(args, "-h") {
				return c.Help()
			}
			newHookCommand(p, args).run(c.Context())
			return nil
		},
	}
}

// hookCommand is one run of `lcm hook`.
type hookCommand struct {
	*program
	host       string
	plugin     bool                   // a plugin started it
	goOn       bool                   // this process does, in the background, the work that a hook left:
	all        bool                   // read every session of the host
	index      bool                   // update the search index
	sessions   []string               // read these to their end
	foldAll    bool                   // fold every conversation that is large enough
	sync       bool                   // push to the team's server
	fold       []store.ConversationID // fold these
	path       string                 // of the database
	cfg        *config.Config         // set when the database is opened
	begun      time.Time
	limit      time.Duration
	background func(*exec.Cmd) error
}

// newHookCommand parses the command line, and ignores unknown flags.
func newHookCommand(p *program, args []string) *hookCommand {
	h := &hookCommand{program: p, begun: time.Now(), limit: hookTime, background: startDetached}
	fl := pflag.NewFlagSet("hook", pflag.ContinueOnError)
	fl.ParseErrorsAllowlist.UnknownFlags = true
	fl.StringVar(&p.database, "db", p.database, "")
	fl.BoolVar(&h.goOn, "continue", false, "")
	fl.BoolVar(&h.all, "all", false, "")
	fl.BoolVar(&h.index, "index", false, "")
	fl.StringArrayVar(&h.sessions, "transcript", nil, "")
	fl.BoolVar(&h.foldAll, "fold-all", false, "")
	fl.BoolVar(&h.sync, "sync", false, "")
	plugin := fl.String("plugin", "", "")
	secret := fl.Bool("password", false, "")
	fold := fl.Int64Slice("fold", nil, "")
	_ = fl.Parse(args)
	for _, id := range *fold {
		h.fold = append(h.fold, store.ConversationID(id))
	}
	if h.goOn {
		h.limit = continueTime
		if *secret { // see startRest
			text, _ := io.ReadAll(io.LimitReader(p.in, 64<<10)) // without it the database says what is missing
			p.secret = string(text)
		}
	}
	h.host, h.plugin = fl.Arg(0), *plugin != ""
	return h
}

// The longest that a run may take. Hosts kill slower hooks.
const (
	hookTime     = 8 * time.Second
	continueTime = 30 * time.Minute
)

// hookPatience is how long a hook waits for a lock of the database. A merge of the index
// holds it for seconds; the process in the background waits for that.
const hookPatience = 250 * time.Millisecond

func (h *hookCommand) run(ctx context.Context) {
	if os.Getenv(childGuard) != "" && !h.goOn {
		return // an agent that lcm itself started
	}
	ctx, cancel := context.WithTimeout(ctx, h.limit)
	defer cancel()
	err := given(ctx, func(ctx context.Context) error {
		if h.goOn {
			return h.rest(ctx)
		}
		return h.answer(ctx)
	})
	if err != nil { // the log may be on the drive that does not answer
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), hookGrace)
		defer cancel()
		_ = given(end, func(context.Context) error { h.log(err); return nil })
	}
}

// hookGrace is how long a run that was told to end may take to do so.
const hookGrace = time.Second

// given runs work. It returns when ctx has ended, even if the work hangs in a system call,
// such as a read from a dead network drive.
func given(ctx context.Context, work func(context.Context) error) error {
	_, err := guard.Call(ctx, hookGrace, func(ctx context.Context) (struct{}, error) { return struct{}{}, work(ctx) })
	if p, ok := errors.AsType[*guard.Panic](err); ok {
		return fmt.Errorf("%v\n%s", p.Value, p.Stack)
	}
	if errors.Is(err, guard.ErrGivenUp) {
		return errors.New("the hook was given up: a file that it needs does not answer")
	}
	return err
}

// open opens the database with relaxed durability: a lost write is read again from the
// transcript. Only the process in the background updates the search index.
func (h *hookCommand) open(ctx context.Context) (*openRecord, *hosts.Feed, error) {
	cfg, err := h.settings()
	if err != nil {
		return nil, nil, err
	}
	h.path, h.cfg = cfg.Storage.DatabasePath, cfg
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	patience := hookPatience
	if h.goOn {
		patience = cfg.Storage.BusyTimeout
	}
	db, err := h.openDatabase(ctx, sqlite.Options{BusyTimeout: patience, Relaxed: true, DeferIndex: !h.goOn, Log: log})
	if err != nil {
		return nil, nil, err
	}
	rec, err := newOpenRecord(cfg, db, log)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	feed, err := newFeed(rec.engine, log)
	if err != nil {
		return nil, nil, errors.Join(err, rec.close(ctx))
	}
	return rec, feed, nil
}

func (h *hookCommand) openDatabase(ctx context.Context, o sqlite.Options) (database, error) {
	address := postgres.WithPassword(h.path, h.cfg.DatabasePassword)
	if wasHere(h.path) {
		h.log(errors.New("the database is gone, and a new one is made; `lcm db restore FILE` puts a backup in its place"))
	}
	db, err := openPath(ctx, address, o)
	if dbfile.Full(err) && !h.goOn {
		// Nothing can be stored, but a session is still told of earlier work.
		h.log(err)
		o.ReadOnly = true
		return openPath(ctx, address, o)
	}
	if err == nil {
		markSeen(h.path)
	}
	return db, err
}

// answer handles the event on standard input.
func (h *hookCommand) answer(ctx context.Context) (err error) {
	// The process ends before it needs much memory; collections took a sixth of its
	// processor time at the start of a session.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	host, err := all.Named[setup.Host](h.host)
	if err != nil {
		return err
	}
	if m, err := machine(); err == nil && h.plugin && setup.HasHooks(m, host) {
		return nil // the hooks of the settings do it
	}
	e, err := hook.Parse(h.host, h.typed(ctx))
	if err != nil || !hook.NeedsRecord(e) {
		return err
	}
	rec, feed, err := h.open(ctx)
	if err != nil {
		return err
	}
	handler := hook.Handler{
		Feed: feed, Record: rec.db, Project: project.Of, Clock: time.Now,
		FoldAbove: foldAbove(rec.cfg), SilentPrompts: !rec.cfg.Hooks.PromptRecall,
	}
	answer, err := handler.Handle(ctx, e)
	problems := []error{err}
	answer.Rest.Index, err = rec.db.IndexDue(ctx)
	problems = append(problems, err)
	if len(answer.Rest.Fold) > 0 {
		// The host waits, so do not start a process that could only end again.
		busy, err := rec.engine.Folding(ctx)
		problems = append(problems, err)
		if busy {
			answer.Rest.Fold = nil
		}
	}
	out, err := answer.JSON()
	if len(out) > 0 {
		_, err = h.out.Write(out)
	}
	h.sync = rec.cfg.Sync.Hook && rec.cfg.Sync.URL != ""
	problems = append(problems, err, rec.close(ctx))
	if !answer.Rest.Empty() || h.sync {
		problems = append(problems, h.leave(answer.Rest))
	}
	return errors.Join(problems...)
}

// leave starts a process that outlives this one for the rest of the work.
func (h *hookCommand) leave(r hook.Rest) error {
	var args []string
	if r.All {
		args = append(args, "--all")
	}
	if r.Index {
		args = append(args, "--index")
	}
	for _, t := range r.Transcripts {
		args = append(args, "--transcript", t.Path+"\n"+t.Session)
	}
	for _, id := range r.Fold {
		args = append(args, "--fold", strconv.FormatInt(int64(id), 10))
	}
	if h.sync {
		args = append(args, "--sync")
	}
	return startRest(h.background, h.host, h.cfg, args...)
}

// lateWrite is how long hosts that write late may take. Copilot CLI took 0.1 s.
const lateWrite = time.Second

// rest does the work that a hook left to the background.
func (h *hookCommand) rest(ctx context.Context) (err error) {
	if len(h.sessions) == 0 && !h.all && !h.index {
		lowerPriority() // nobody waits for summaries
	}
	if agent, err := all.Named[hosts.Host](h.host); err == nil && agent.About().WritesLate {
		if err := store.Wait(ctx, lateWrite); err != nil {
			return err
		}
	}
	rec, feed, err := h.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rec.close(ctx)) }()
	for _, s := range h.sessions {
		path, session, _ := strings.Cut(s, "\n")
		t, e := feed.Locate(ctx, h.host, path, session)
		if e == nil {
			var r hosts.Report
			r, e = feed.CatchUp(ctx, t, hosts.Limits{})
			if r.Conversation != 0 {
				h.fold = append(h.fold, r.Conversation)
			}
		}
		err = errors.Join(err, e)
	}
	if h.all {
		_, e := feed.All(ctx, hosts.Filter{Hosts: []string{h.host}}, nil)
		err = errors.Join(err, e)
	}
	due, e := rec.db.IndexDue(ctx)
	err = errors.Join(err, e)
	if h.index || due {
		err = errors.Join(err, rec.db.Reindex(ctx))
	}
	switch {
	case h.all || h.foldAll:
		err = errors.Join(err, rec.foldInBackground(ctx, nil))
	case len(h.fold) > 0:
		err = errors.Join(err, rec.foldInBackground(ctx, h.fold))
	}
	if h.sync {
		e := (&syncCommand{program: h.program}).unasked(ctx, rec)
		err = errors.Join(err, e, noteSync(ctx, rec.db, e))
	}
	return err
}

// hookLogSize is the size from which the log of errors is rotated.
const hookLogSize = 64 << 10

// hookLog returns the path of the log: a hook must not print errors.
func hookLog(database string) string {
	return filepath.Join(besideDatabase(database), "hook-errors.log")
}

// log appends an error to the log that `lcm doctor` reads.
func (h *hookCommand) log(problem error) {
	path := h.path
	if path == "" {
		cfg, err := h.settings()
		if err != nil {
			return
		}
		path = cfg.Storage.DatabasePath
	}
	path = hookLog(path)
	if info, err := os.Stat(path); err == nil && info.Size() > hookLogSize {
		_ = os.Rename(path, path+".old")
	}
	if f, err := openLog(path); err == nil {
		fmt.Fprintf(f, "%s %s: %s\n", h.begun.UTC().Format(time.RFC3339), safetext.Line(h.host), safetext.Line(problem.Error()))
		_ = f.Close() // there is nobody to tell
	}
}
