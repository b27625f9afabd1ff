package cli

import (
	"context"
	"errors"
	"log/slog"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/mcpserver"
	"github.com/lossless-context/lcm/internal/record/project"
	"github.com/lossless-context/lcm/internal/record/store"
)

// transcripts feeds the MCP server from the agents' transcripts on this machine.
type transcripts struct {
	feed *hosts.Feed
	log  *slog.Logger
	fold *foldStarter
}

var _ mcpserver.Feed = (*transcripts)(nil)

func newTranscripts(rec *openRecord, log *slog.Logger) (*transcripts, error) {
	feed, err := newFeed(rec.engine, log)
	return &transcripts{feed: feed, log: log, fold: &foldStarter{openRecord: rec, start: startDetached}}, err
}

// The bounds of catching up before an answer. Calls come from a transcript in use.
const (
	recently   = 10 * time.Minute
	mostRecent = 8
	mostBytes  = 32 << 20
)

// Current implements [mcpserver.Feed].
func (t *transcripts) Current(ctx context.Context, at mcpserver.Caller) error {
	found, err := t.candidates(ctx, at)
	if err != nil {
		return err
	}
	var problems []error
	for _, one := range found {
		limits := hosts.Limits{Bytes: mostBytes, Wait: true}
		if end, ok := ctx.Deadline(); ok {
			// Its own end leaves time to note how far it came.
			limits.Time = max(time.Millisecond, time.Until(end)*3/4)
		}
		r, err := t.feed.CatchUp(ctx, one, limits)
		if r.New > 0 {
			err = errors.Join(err, t.fold.ifDue(ctx, []store.ConversationID{r.Conversation}))
		}
		switch {
		case err != nil:
			problems = append(problems, err)
		case !r.Complete:
			problems = append(problems, mcpserver.ErrBehind)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(problems...)
}

// candidates are the transcripts that a call may come from: that of the session that the
// host names, and if that may be an old one, or none is named, those in use.
func (t *transcripts) candidates(ctx context.Context, at mcpserver.Caller) ([]hosts.Transcript, error) {
	var found []hosts.Transcript
	if at.Key() != "" {
		one, err := t.feed.Locate(ctx, at.Host, "", at.Session)
		if err != nil && !errors.Is(err, hosts.ErrNoTranscript) {
			return nil, err
		}
		if err == nil {
			found = append(found, one)
			if at.Call == "" {
				return found, nil
			}
		}
	}
	filter := hosts.Filter{Since: time.Now().Add(-recently)}
	if at.Host != "" {
		filter.Hosts = []string{at.Host}
	}
	projects := []*store.Project{}
	for _, dir := range at.Dirs {
		p, err := project.Of(dir)
		if err != nil {
			return nil, err
		}
		projects = append(projects, &p)
	}
	if len(projects) == 0 && at.Host != "" {
		projects = append(projects, nil) // those of the host in any project
	}
	for _, filter.Project = range projects {
		recent, err := t.feed.Recent(ctx, filter)
		if err != nil {
			return nil, err
		}
		for _, one := range recent[:min(len(recent), mostRecent)] {
			if !slices.ContainsFunc(found, func(t hosts.Transcript) bool { return t.Key() == one.Key() }) {
				found = append(found, one)
			}
		}
	}
	slices.SortStableFunc(found, hosts.ParentsFirst)
	return found, nil
}

// All implements [mcpserver.Feed]. It logs transcripts that cannot be read.
func (t *transcripts) All(ctx context.Context) error {
	sums, err := t.feed.All(ctx, hosts.Filter{}, nil)
	for _, sum := range sums {
		for _, f := range sum.Failures {
			t.log.Warn("a transcript could not be read", "host", sum.Host, "path", f.Path, "error", f.Err)
		}
	}
	return errors.Join(err, t.fold.ifDue(ctx, nil))
}

// foldStarter starts the process that folds for `lcm mcp`: the server itself must not have
// a low priority.
type foldStarter struct {
	*openRecord
	start func(*exec.Cmd) error

	mu   sync.Mutex
	last time.Time // when it was started
}

// foldPause is how long a server waits before it starts the process again.
const foldPause = time.Minute

// ifDue starts it if one of the given conversations, nil for all, is large enough.
func (f *foldStarter) ifDue(ctx context.Context, of []store.ConversationID) error {
	if foldAbove(f.cfg) == 0 {
		return nil
	}
	due, err := f.engine.Due(ctx, of)
	if err != nil || len(due) == 0 {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.Sub(f.last) >= foldPause {
		f.last = now
		return startRest(f.start, "mcp", f.cfg, "--fold-all")
	}
	return nil
}
