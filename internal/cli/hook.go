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

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/hosts/hook"
	"github.com/lossless-context/lcm/internal/hosts/setup"
	"github.com/lossless-context/lcm/internal/project"
	"github.com/lossless-context/lcm/internal/safetext"
	"github.com/lossless-context/lcm/internal/sqlite"
	"github.com/lossless-context/lcm/internal/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/store"
)

func newHook(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "hook HOST",
		Short: "Answer an event of a host (for hosts)",
		Long: `What hosts run on their events once ` + "`lcm setup`" + ` has told them to: it reads the
event from standard input, stores what is new in the session's transcript, and
gives a session that starts or was compacted the block that
` + "`lcm brief --block`" + ` prints. A prompt that clearly refers to earlier work is given
up to three cited lines of the record, unless hooks.prompt_recall is false.

It always exits with 0 and prints nothing that a host does not expect; what goes
wrong is kept for ` + "`lcm doctor`" + `. What takes longer goes on in the background:
reading a long transcript, and folding a session that is larger than a context
window (see compaction.background in docs/CONFIG.md).

Hosts: ` + strings.Join(setup.Names(), ", ") + `.`,
		Example: `echo '{"hook_event_name":"SessionStart","session_id":"x","cwd":"."}' | lcm hook claude`,
		// A host takes an exit code for an order: even flags that this
		// version does not know are no reason for one.
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
	goOn       bool                   // in the background, with what a hook left
	all        bool                   // likewise: every session of the host
	index      bool                   // likewise: the search index
	sessions   []string               // likewise: those to read to their end
	foldAll    bool                   // likewise: fold every conversation that is large enough
	fold       []store.ConversationID // likewise: fold these
	path       string                 // of the database
	begun      time.Time
	limit      time.Duration
	background func(*exec.Cmd) error
}

// newHookCommand reads the command line. What it does not know it leaves alone.
func newHookCommand(p *program, args []string) *hookCommand {
	h := &hookCommand{program: p, begun: time.Now(), limit: hookTime, background: startDetached}
	for i := 0; i < len(args); i++ {
		name, value, has := strings.Cut(args[i], "=")
		next := func() string {
			if !has && i+1 < len(args) {
				i++
				value = args[i]
			}
			return value
		}
		switch name {
		case "--db":
			p.database = next()
		case "--continue":
			h.goOn, h.limit = true, continueTime
		case "--all":
			h.all = true
		case "--index":
			h.index = true
		case "--transcript":
			h.sessions = append(h.sessions, next())
		case "--fold-all":
			h.foldAll = true
		case "--fold":
			if id, err := strconv.ParseInt(next(), 10, 64); err == nil {
				h.fold = append(h.fold, store.ConversationID(id))
			}
		default:
			if h.host == "" && !strings.HasPrefix(name, "-") {
				h.host = args[i]
			}
		}
	}
	return h
}

// The most that a run may take: hosts kill what takes longer than they allow.
const (
	hookTime     = 8 * time.Second
	continueTime = 30 * time.Minute
)

// hookPatience is how long a hook waits for another process that is writing:
// while the search index is merged that may take seconds, which is for the
// process in the background to wait.
const hookPatience = 250 * time.Millisecond

func (h *hookCommand) run(ctx context.Context) {
	if os.Getenv(childGuard) != "" && !h.goOn {
		return // an agent that lcm itself started
	}
	ctx, cancel := context.WithTimeout(ctx, h.limit)
	defer cancel()
	h.within(ctx, func() error {
		if h.goOn {
			return h.rest(ctx)
		}
		return h.answer(ctx)
	})
}

// hookGrace is how long a run that was told to end may take to do so.
const hookGrace = time.Second

// within runs work and logs its error. It returns when ctx has ended, also
// where the work hangs in a system call: on a network drive that does not
// answer, say, which no context reaches.
func (h *hookCommand) within(ctx context.Context, work func() error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer h.end()
		if err := work(); err != nil {
			h.log(err)
		}
	}()
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	select {
	case <-done:
	case <-time.After(hookGrace):
		logged := make(chan struct{})
		go func() {
			defer close(logged)
			defer h.end()
			h.log(errHookHangs)
		}()
		select {
		case <-logged:
		case <-time.After(hookGrace):
		}
	}
}

// errHookHangs is logged where a hook was given up.
var errHookHangs = errors.New("the hook was given up: a file that it needs does not answer")

// end keeps a defect of lcm from becoming the host's.
func (h *hookCommand) end() {
	if r := recover(); r != nil {
		h.log(fmt.Errorf("%v\n%s", r, debug.Stack()))
	}
}

// open opens the database for what is repeated if it is lost: the transcript
// is still there. The search index is left to the process in the background.
func (h *hookCommand) open(ctx context.Context) (*archive, *hosts.Feed, error) {
	cfg, err := h.settings()
	if err != nil {
		return nil, nil, err
	}
	h.path = cfg.Storage.DatabasePath
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	patience := hookPatience
	if h.goOn {
		patience = cfg.Storage.BusyTimeout
	}
	o := sqlite.Options{BusyTimeout: patience, Relaxed: true, DeferIndex: true, Log: log}
	db, err := sqlite.Open(ctx, h.path, o)
	if dbfile.Full(err) && !h.goOn {
		// Nothing can be stored, but a session is still told of earlier work.
		h.log(err)
		o.ReadOnly = true
		db, err = sqlite.Open(ctx, h.path, o)
	}
	if err != nil {
		return nil, nil, err
	}
	if !o.ReadOnly {
		reserveLog(hookLog(h.path))
	}
	ar, err := assembleArchive(cfg, db, log)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	m, err := machine()
	if err != nil {
		return nil, nil, errors.Join(err, ar.close(ctx))
	}
	feed, err := hosts.New(ar.engine, all.Hosts(), m, hosts.Options{Log: log})
	if err != nil {
		return nil, nil, errors.Join(err, ar.close(ctx))
	}
	return ar, feed, nil
}

// answer handles the event on standard input.
func (h *hookCommand) answer(ctx context.Context) (err error) {
	e, err := hook.Parse(h.host, h.typed(ctx))
	if err != nil || !hook.NeedsRecord(e) {
		return err
	}
	ar, feed, err := h.open(ctx)
	if err != nil {
		return err
	}
	handler := hook.Handler{
		Feed: feed, Record: ar.db, Project: project.Of, Clock: time.Now,
		FoldAbove: foldAbove(ar.cfg), SilentPrompts: !ar.cfg.Hooks.PromptRecall,
	}
	answer, err := handler.Handle(ctx, e)
	due, indexErr := ar.db.IndexDue(ctx)
	answer.Rest.Index, err = due, errors.Join(err, indexErr)
	if len(answer.Rest.Fold) > 0 {
		// A process that could only end again is not started: a host waits
		// for that.
		busy, e := ar.engine.Folding(ctx)
		if err = errors.Join(err, e); busy {
			answer.Rest.Fold = nil
		}
	}
	if out, e := answer.JSON(); e != nil {
		err = errors.Join(err, e)
	} else if len(out) > 0 {
		_, e := h.out.Write(out)
		err = errors.Join(err, e)
	}
	err = errors.Join(err, ar.close(ctx))
	if !answer.Rest.Empty() {
		err = errors.Join(err, h.leave(answer.Rest))
	}
	return err
}

// leave starts a process that outlives this one to do the rest.
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
	return startRest(h.background, h.host, h.path, args...)
}

// rest does what a hook left.
func (h *hookCommand) rest(ctx context.Context) (err error) {
	if len(h.sessions) == 0 && !h.all && !h.index {
		lowerPriority() // nobody waits for summaries
	}
	ar, feed, err := h.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ar.close(ctx)) }()
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
	due, e := ar.db.IndexDue(ctx)
	err = errors.Join(err, e)
	if h.index || due {
		err = errors.Join(err, ar.db.Reindex(ctx))
	}
	switch {
	case h.all || h.foldAll:
		err = errors.Join(err, ar.foldInBackground(ctx, nil))
	case len(h.fold) > 0:
		err = errors.Join(err, ar.foldInBackground(ctx, h.fold))
	}
	return err
}

// hookLogSize is how much is kept of what went wrong.
const hookLogSize = 64 << 10

// hookLog is where hooks write what they could not tell anybody.
func hookLog(database string) string { return filepath.Join(filepath.Dir(database), "hook-errors.log") }

// log notes what went wrong where `lcm doctor` finds it. There is nobody to
// tell if that fails too.
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
	appendToLog(path, fmt.Sprintf("%s %s: %s\n", h.begun.UTC().Format(time.RFC3339), safetext.Line(h.host), safetext.Line(problem.Error())))
}
