// Package teamserver is `lcm team serve`: one record for many people and machines, over HTTP.
//
// A [Server] offers MCP at /mcp, searches and questions of `lcm grep --team` and `lcm ask
// --team`, the server's side of `lcm sync` (package teamsync has the protocol), /healthz,
// /readyz and /metrics. It keeps nothing that another process needs, and no sessions of
// MCP: several servers may run on one database, behind one address. Work in the
// background, folding, is done by one of them at a time, under a lease of the store;
// another one goes on when that one ends.
//
// # Who may see what
//
// Every request but those for health carries a token of package access. The token's scope
// (package scope) stands around the store, and each token has an engine and an MCP server
// of its own on that store. So a cursor or an id of another token leads nowhere. A token
// that was revoked or has expired is refused with the next request, and its calls under
// way end within a minute.
//
// # Bounds
//
// The rights of a token are checked before a body is read. The size, the time and the memory
// of requests are bounded, for each request, for each token and for all of them (bounds.go).
// Wrong tokens are answered slowly.
//
// # Draining
//
// When its context ends, the server answers /readyz with 503, finishes the requests that
// are under way, and stops.
package teamserver

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/semaphore"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/kit/httpbody"
	"github.com/lossless-context/lcm/internal/kit/tracing"
	"github.com/lossless-context/lcm/internal/mcpserver"
	"github.com/lossless-context/lcm/internal/record/scope"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/team/access"
)

// Config configures a Server. Store, Engine and NewEngine are required.
type Config struct {
	Store store.Store
	// Engine is on Store, without a restriction. It folds and erases.
	Engine *lcm.Engine
	// NewEngine returns an engine on a restricted store.
	NewEngine func(store.Store) (*lcm.Engine, error)
	// Fold folds conversations that are due, and reports what it did. Nil does not
	// fold.
	Fold func(context.Context) (lcm.FoldResult, error)
	// FoldEvery is how often it is called (a minute).
	FoldEvery time.Duration
	// CheckEvery is how often tokens are checked again, to end calls under way (30 s).
	CheckEvery time.Duration
	// MCP has the settings of the MCP servers; Engine and Feed are set here.
	MCP mcpserver.Config
	// Tracer makes the spans of requests; nil makes none.
	Tracer trace.TracerProvider
	Drain  time.Duration // how long requests may take at the end (20 s)
	// BodyTimeout is how long a client may take to send a request (30 s, and longer for
	// a large one).
	BodyTimeout time.Duration
	Clock       func() time.Time
	Log         *slog.Logger
}

// Server serves a record.
type Server struct {
	config   Config
	tokens   access.Tokens
	metrics  *metrics
	lifetime context.Context
	end      context.CancelFunc
	serving  context.Context // ends when the server drains
	drained  context.CancelFunc
	work     sync.WaitGroup
	bodies   *semaphore.Weighted // bytes of all requests
	wrong    brake

	mu      sync.Mutex
	clients map[string]*client // by token id
}

// client serves one token.
type client struct {
	*Server
	token    access.Token
	machine  string      // of a peer: the id of this machine, else empty
	peer     Peer        // which it is
	store    store.Store // restricted
	engine   *lcm.Engine
	mcp      *mcpserver.Server
	endpoint http.Handler
	pools    []*semaphore.Weighted // bytes of the token's requests, and of all
	slots    chan struct{}         // requests under way
}

// New returns a server whose background work ends with Close. ctx must outlive it.
func New(ctx context.Context, c Config) (*Server, error) {
	if c.Store == nil || c.Engine == nil || c.NewEngine == nil {
		return nil, errors.New("teamserver: a store, an engine and NewEngine are needed")
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.FoldEvery <= 0 {
		c.FoldEvery = time.Minute
	}
	if c.CheckEvery <= 0 {
		c.CheckEvery = 30 * time.Second
	}
	if c.Drain <= 0 {
		c.Drain = 20 * time.Second
	}
	s := &Server{config: c, tokens: access.Tokens{State: c.Store, Clock: c.Clock}, metrics: newMetrics(), clients: map[string]*client{}, bodies: semaphore.NewWeighted(maxBodies)}
	s.lifetime, s.end = context.WithCancel(ctx)
	s.serving, s.drained = context.WithCancel(s.lifetime)
	s.work.Go(s.sweep)
	if c.Fold != nil {
		s.work.Go(s.fold)
	}
	return s, nil
}

// Close ends the background work and every session.
func (s *Server) Close() {
	s.end()
	s.mu.Lock()
	clients := s.clients
	s.clients = nil
	s.mu.Unlock()
	for _, c := range clients {
		s.work.Go(c.close)
	}
	s.work.Wait()
}

// close ends the sessions of a token, and the work of its engine.
func (c *client) close() {
	c.mcp.EndSessions()
	c.mcp.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.lifetime), c.config.Drain)
	defer cancel()
	if err := c.engine.Close(ctx); err != nil {
		c.config.Log.Warn("folding was interrupted", "token", c.token.ID, "error", err)
	}
}

// Handler serves all paths.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.HandleFunc("GET /metrics", s.showMetrics)
	mux.Handle(mcpserver.Path, s.measured("mcp", s.authorized(func(c *client, w http.ResponseWriter, r *http.Request) {
		c.endpoint.ServeHTTP(w, r)
	})))
	for path, f := range routes {
		mux.Handle("POST "+path, s.measured(path, s.authorized(func(c *client, w http.ResponseWriter, r *http.Request) {
			answer, err := f.handle(c, w, r)
			s.answer(w, r, answer, err)
		})))
	}
	return bounded(mux)
}

// ready says whether the server takes requests: it is not draining, and the store
// answers.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	_, err := s.config.Store.Get(ctx, store.TokenSpace, "ready")
	switch {
	case s.serving.Err() != nil:
		http.Error(w, "draining", http.StatusServiceUnavailable)
	case err != nil && !errors.Is(err, store.ErrNotFound):
		s.config.Log.Error("the store does not answer", "error", err)
		http.Error(w, "the store does not answer", http.StatusServiceUnavailable)
	default:
		_, _ = w.Write([]byte("ready\n"))
	}
}

// authorized calls serve with the client of the request's token. Pages of the web are
// refused: no browser has a token.
func (s *Server) authorized(serve func(*client, http.ResponseWriter, *http.Request)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") != "" {
			refuse(w, http.StatusForbidden, "requests of web pages are refused", "")
			return
		}
		t, err := s.check(r)
		if errors.Is(err, access.ErrInvalid) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="lcm"`)
			refuse(w, http.StatusUnauthorized, err.Error(), "it may have expired or been revoked: `lcm team token list` on the server says so, and `lcm team token add` makes another")
			return
		}
		if err == nil {
			var c *client
			var release func()
			if c, err = s.client(t); err == nil {
				release, err = c.take(r.Context())
			}
			if err == nil {
				defer release()
				tracing.Of(r.Context()).Word("token.id", t.ID)
				serve(c, w, r)
				return
			}
		}
		s.answer(w, r, nil, err)
	})
}

// client returns the engine and the MCP server of a token, and makes them the first time.
func (s *Server) client(t access.Token) (*client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clients == nil {
		return nil, errors.New("the server is closed")
	}
	if c := s.clients[t.ID]; c != nil {
		return c, nil
	}
	c := &client{Server: s, token: t, store: scope.Narrow(s.config.Store, t.Scope()), slots: make(chan struct{}, maxRequests)}
	c.pools = []*semaphore.Weighted{semaphore.NewWeighted(maxTokenBodies), s.bodies}
	var err error
	if c.engine, err = s.config.NewEngine(c.store); err != nil {
		return nil, err
	}
	config := s.config.MCP
	config.Engine, config.Feed, config.ProjectOnly = c.engine, nil, len(t.Projects) == 1
	config.Tracer, config.Stateless, config.PublicError = s.config.Tracer, true, publicError
	if c.mcp, err = mcpserver.New(s.lifetime, config); err != nil {
		return nil, errors.Join(err, c.engine.Close(s.lifetime))
	}
	c.endpoint = c.mcp.Endpoint(&httpbody.Reader{Max: maxQuestion, Timeout: s.config.BodyTimeout, Pools: c.pools})
	s.clients[t.ID] = c
	return c, nil
}

// sweep ends the sessions of tokens that are no longer valid.
func (s *Server) sweep() {
	for s.pause(s.config.CheckEvery) {
		all, err := s.tokens.List(s.lifetime)
		if err != nil {
			s.config.Log.Error("checking tokens failed", "error", err)
			continue
		}
		for _, t := range all {
			if t.State(s.config.Clock()) != "valid" {
				s.forget(t.ID)
			}
		}
	}
}

// forget ends the service of a token, without waiting for it.
func (s *Server) forget(id string) {
	s.mu.Lock()
	c := s.clients[id]
	delete(s.clients, id)
	s.mu.Unlock()
	if c != nil {
		s.work.Go(c.close)
	}
}

// fold has conversations folded that are due. Only one server at a time does it.
func (s *Server) fold() {
	for s.pause(s.config.FoldEvery) {
		ctx, span := tracing.StartRemote(s.lifetime, s.config.Tracer, nil, "fold", trace.SpanKindInternal)
		done, err := s.config.Fold(ctx)
		span.Int("folds", done.Folds)
		span.End(err)
		s.metrics.add("lcm_folds_total", float64(done.Folds))
		result := "done"
		switch {
		case err != nil:
			result = "error"
			if s.lifetime.Err() == nil {
				s.config.Log.Error("folding failed", "error", err)
			}
		case done.Busy:
			result = "lease_held_elsewhere"
		}
		s.metrics.add("lcm_fold_runs_total", 1, "result", result)
	}
}

// pause waits, and reports false if the server ends.
func (s *Server) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.lifetime.Done():
		return false
	}
}

// Serve serves a listener until ctx ends, and then drains. With a certificate it speaks
// TLS.
func (s *Server) Serve(ctx context.Context, l net.Listener, cert *tls.Certificate) error {
	server := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(s.config.Log.Handler(), slog.LevelDebug),
	}
	if cert != nil {
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{*cert}, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12})
	}
	stopped := make(chan struct{})
	defer context.AfterFunc(ctx, func() {
		defer close(stopped)
		s.drain(ctx, server)
	})()
	err := server.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		<-stopped
		return nil
	}
	return err
}

// drain lets requests end, and ends those that take longer than [Config.Drain].
func (s *Server) drain(ctx context.Context, server *http.Server) {
	s.drained()
	s.config.Log.Info("draining")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.Drain)
	defer cancel()
	for s.metrics.underWay.Load() > 0 && ctx.Err() == nil {
		time.Sleep(20 * time.Millisecond)
	}
	s.Close()
	last, cancelLast := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancelLast()
	if server.Shutdown(last) != nil {
		_ = server.Close() // connections that clients hold open
	}
}
