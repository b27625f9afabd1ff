package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/kit/guard"
	"github.com/lossless-context/lcm/internal/kit/jsonstring"
	"github.com/lossless-context/lcm/internal/mcpserver"
	"github.com/lossless-context/lcm/internal/proxy"
	"github.com/lossless-context/lcm/internal/record/project"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Protocol is the version of the protocol that this package speaks.
const Protocol = 1

// Record is an open record.
type Record struct {
	Engine *lcm.Engine // stores and recalls
	Folds  *lcm.Engine // with the options of proxy.EngineOptions
	Feed   *hosts.Feed
	Tools  []mcpserver.Tool
	Idle   func() // called when no request came for a while
	Close  func(context.Context) error
}

// Config configures Serve.
type Config struct {
	// Open opens the record. It is called when a request first needs it, and again after it failed.
	Open    func(context.Context) (Record, error)
	Run     proxy.Run // the fields that describe the run, but the host
	Version string
	// ShortenAbove is how many tokens an output of a tool may have to be handed on whole. 0 is any number.
	ShortenAbove int
	Log          *slog.Logger
}

// server serves one adapter.
type server struct {
	Config
	write sync.Mutex
	out   io.Writer

	who atomic.Pointer[identity] // nil before hello

	mu       sync.Mutex
	opened   *opened
	opening  chan struct{} // closed when an attempt to open the record has ended, or nil
	problem  error         // why the last one failed
	tried    time.Time
	sessions map[string]*session

	children sync.Map // sub-agents of the host that answer a question, by their keys: *child
}

// identity is what the adapter has said of its host.
type identity struct {
	host    string
	reads   bool // lcm reads the host's transcripts
	dir     string
	project store.Project
}

// opened is the record with the state of the sessions in it.
type opened struct {
	Record
	identity
	proxy *proxy.Server
}

// session is a session of the host.
type session struct {
	parent string
	last   chan struct{} // closed when the last ingest before is done
}

// The bounds of a server.
const (
	retry    = time.Second      // after the record could not be opened
	closing  = 5 * time.Second  // of the work that is left when the input ends
	idle     = 10 * time.Second // after which memory is returned
	parallel = 32               // requests at a time
)

// Serve answers requests until the input ends, the adapter says goodbye, or ctx ends.
func Serve(ctx context.Context, in io.Reader, out io.Writer, c Config) error {
	s := &server{Config: c, out: out, sessions: map[string]*session{}}
	work, cancel := context.WithCancel(ctx)
	lines, read := make(chan line), make(chan error, 1)
	go func() { read <- readLines(work, in, lines) }()
	var running sync.WaitGroup
	slots := make(chan struct{}, parallel)
	quiet := time.NewTimer(idle)
	defer quiet.Stop()
	err := func() error {
		for {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case err := <-read:
				return err
			case <-quiet.C:
				s.rest()
			case l := <-lines:
				quiet.Reset(idle)
				r, problem := parse(l)
				if problem == nil && r.Verb == "bye" {
					s.reply(r.ID, struct{}{}, nil)
					return nil
				}
				if problem == nil && r.Verb == "hello" {
					problem = s.meet(r)
				}
				after := s.order(r)
				running.Go(func() {
					if r.Verb != "assemble" { // which is short, and others may wait for the database
						slots <- struct{}{}
						defer func() { <-slots }()
					}
					s.handle(work, r, problem, after)
				})
			}
		}
	}()
	timer := time.AfterFunc(closing, cancel)
	running.Wait()
	timer.Stop()
	s.close(ctx)
	cancel()
	return err
}

// order puts an ingest or a compaction behind the one before it of the same session: it waits for
// the first channel of the two, and closes the second.
func (s *server) order(r request) (turn turn) {
	if r.Verb != "ingest" && r.Verb != "compact" || r.Session == "" {
		return turn
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.session(r.Session)
	turn.before, turn.done = one.last, make(chan struct{})
	one.last = turn.done
	return turn
}

// turn is the place of a request in the order of its session.
type turn struct{ before, done chan struct{} }

// session returns a session of the host. The caller holds mu.
func (s *server) session(id string) *session {
	if s.sessions[id] == nil {
		s.sessions[id] = &session{}
	}
	return s.sessions[id]
}

// handle answers one request.
func (s *server) handle(ctx context.Context, r request, problem error, t turn) {
	if t.done != nil {
		defer close(t.done)
	}
	if t.before != nil {
		select {
		case <-t.before:
		case <-ctx.Done():
		}
	}
	var answer any
	err := problem
	if err == nil {
		err = guard.Run(func() (err error) { answer, err = s.answer(ctx, r); return err })
	}
	if p := new(guard.Panic); errors.As(err, &p) {
		s.Log.Error("a request panicked", "verb", r.Verb, "panic", p.Value, "stack", string(p.Stack))
	}
	s.reply(r.ID, answer, err)
}

// reply writes an answer. An adapter that has gone reads none.
func (s *server) reply(id json.RawMessage, answer any, err error) {
	if id == nil {
		id = json.RawMessage("null")
	}
	var b bytes.Buffer
	b.WriteString(`{"id":`)
	b.Write(id)
	if err == nil {
		var data []byte
		if data, err = jsonstring.Marshal(answer); err == nil {
			b.WriteString(`,"ok":`)
			b.Write(data)
		}
	}
	if err != nil {
		data, _ := jsonstring.Marshal(problemOf(err)) // texts can always be encoded
		b.WriteString(`,"error":`)
		b.Write(data)
	}
	b.WriteString("}\n")
	s.write.Lock()
	defer s.write.Unlock()
	_, _ = s.out.Write(b.Bytes())
}

// record returns the open record, and waits for it as long as ctx allows. After a failure it is
// opened again when retry has passed.
func (s *server) record(ctx context.Context) (*opened, error) {
	who := s.who.Load()
	if who == nil {
		return nil, fail(codeOrder, "say hello first")
	}
	s.mu.Lock()
	if s.opened == nil && s.opening == nil && time.Since(s.tried) >= retry {
		s.opening = make(chan struct{})
		go s.open(context.WithoutCancel(ctx), *who)
	}
	opening := s.opening
	s.mu.Unlock()
	if opening != nil {
		select {
		case <-opening:
		case <-ctx.Done():
			return nil, fail(codeUnavailable, "the record is still being opened")
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened == nil {
		return nil, fail(codeUnavailable, "the record cannot be opened: %v", s.problem)
	}
	return s.opened, nil
}

// open opens the record.
func (s *server) open(ctx context.Context, who identity) {
	o := &opened{identity: who}
	var err error
	if o.Record, err = s.Open(ctx); err == nil {
		run := s.Run
		run.Host = who.host
		if o.proxy, err = proxy.New(ctx, proxy.Config{Engine: o.Folds, Feed: feed{o}, Run: run, Log: s.Log}); err == nil {
			o.proxy.Begin()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.problem = err; err == nil {
		s.opened = o
	}
	close(s.opening)
	s.opening, s.tried = nil, time.Now()
}

// close ends the work on the record.
func (s *server) close(ctx context.Context) {
	s.mu.Lock()
	o := s.opened
	s.mu.Unlock()
	if o == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer cancel()
	if err := errors.Join(o.proxy.Close(ctx), o.Record.Close(ctx)); err != nil {
		s.Log.Debug("the end of the engine", "error", err)
	}
}

// rest returns memory to the system.
func (s *server) rest() {
	s.mu.Lock()
	o := s.opened
	s.mu.Unlock()
	if o != nil && o.Idle != nil {
		o.Idle()
	}
}

// projectOf returns the project of a directory.
func projectOf(dir string) store.Project {
	if dir == "" {
		return store.Project{}
	}
	p, err := project.Of(dir)
	if err != nil {
		return store.Project{Root: dir}
	}
	return p
}
