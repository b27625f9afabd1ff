package hosts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/hosts/internal/lines"
	"github.com/lossless-context/lcm/internal/kit/process"
	"github.com/lossless-context/lcm/internal/record/project"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Feed keeps the record up to date with transcripts. It is safe for concurrent use,
// also by several processes on one store.
type Feed struct {
	engine  *lcm.Engine
	store   store.Store
	hosts   []Host
	machine Machine
	options Options

	mu       sync.Mutex
	projects map[string]store.Project // by directory
}

// Options configure a Feed. The zero value is a good default.
type Options struct {
	// Clock returns the time (time.Now).
	Clock func() time.Time
	// Log receives unusual events (slog.Default).
	Log *slog.Logger
	// Owner names this feed in leases (a name of its process).
	Owner string
}

// New returns a Feed of the given hosts on a machine.
func New(engine *lcm.Engine, known []Host, m Machine, o Options) (*Feed, error) {
	switch {
	case engine == nil:
		return nil, errors.New("hosts: no engine was given")
	case m.Home == "":
		return nil, errors.New("hosts: no home directory was given")
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	o.Log = cmp.Or(o.Log, slog.Default())
	o.Owner = cmp.Or(o.Owner, process.Owner())
	return &Feed{engine: engine, store: engine.Store(), hosts: known, machine: m, options: o, projects: map[string]store.Project{}}, nil
}

// Host returns the host with a name.
func (f *Feed) Host(name string) (Host, error) {
	for _, h := range f.hosts {
		if h.About().Name == name {
			return h, nil
		}
	}
	return nil, fmt.Errorf("hosts: no host is called %q", name)
}

// Locate finds the transcript of a hook event, by its path or by the session's id. An
// event must not make lcm read any file: the path must lie among the host's transcripts,
// or have the name of the session or of one of its sub-agents.
func (f *Feed) Locate(ctx context.Context, host, path, session string) (Transcript, error) {
	h, err := f.Host(host)
	if err != nil {
		return Transcript{}, err
	}
	in := h.Find(f.machine)
	if path == "" {
		return FindSession(ctx, h, in, session)
	}
	t, err := one(ctx, h, path, session)
	if err != nil {
		return Transcript{}, err
	}
	if err := lines.Within(in.Data, t.Path); err != nil && (session == "" || t.Session != session && t.Parent != session) {
		return Transcript{}, fmt.Errorf("the transcript %s is not read for session %q: it leads %w", t.Path, session, err)
	}
	return t, nil
}

// one returns the transcript of a session in a file, or the only one.
func one(ctx context.Context, h Host, path, session string) (Transcript, error) {
	found, err := h.In(ctx, path)
	if err != nil {
		return Transcript{}, err
	}
	for _, t := range found {
		if len(found) == 1 || t.Session == session {
			return t, nil
		}
	}
	return Transcript{}, fmt.Errorf("%w: path %q, session %q", ErrNoTranscript, path, session)
}

// projectOf returns the project of a directory. If that fails, the path names it.
func (f *Feed) projectOf(dir string) store.Project {
	if dir == "" {
		return store.Project{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	p, ok := f.projects[dir]
	if !ok {
		var err error
		if p, err = project.Of(dir); err != nil {
			f.options.Log.Debug("the project of a transcript cannot be determined", "dir", dir, "error", err)
			p = store.Project{Root: dir}
		}
		f.projects[dir] = p
	}
	return p
}
