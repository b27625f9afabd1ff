package mcpserver

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/trace"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

//go:embed instructions.md
var instructions string

// Instructions returns the text by which the server introduces itself. Claude
// Code cuts it off at 2 KB, and may show nothing else of the server until the
// model looks for tools.
func Instructions() string { return strings.TrimSpace(instructions) }

// instructions adds a sentence where the server is restricted to one project, and where
// there is a team.
func (c *Config) instructions() string {
	text := Instructions()
	if c.ProjectOnly {
		text += "\n\nThis server answers from one project only: allConversations means all conversations of that project."
	}
	if c.Team != nil {
		text += "\n\nteam: true looks in the record of the whole team instead, and the answer says who said it: use it for work of colleagues or other machines."
	}
	return text
}

// The bounds of [Config.MaxTokens].
const (
	DefaultMaxTokens = 6_000
	MinMaxTokens     = 1_000
)

// Config configures a Server. Only Engine is required.
type Config struct {
	// Engine holds the record.
	Engine *lcm.Engine
	// Feed brings the record up to date; it may be nil.
	Feed Feed
	// Dir is the directory that the server was started in, and Getenv reads its
	// environment. Both tell the project and the session.
	Dir    string
	Getenv func(string) string
	// Local says that the host that asks started this process, so that its directory is on
	// this machine: answers then name the quoted files of the project that are gone.
	Local bool
	// ProjectOnly says that the engine's store is restricted to one project; the
	// instructions say so.
	ProjectOnly bool
	// Stateless answers each HTTP request of [Server.Endpoint] without a session, so that
	// several processes can serve one address. The server then cannot ask a client for its
	// roots.
	Stateless bool
	// PublicError returns the error that clients see in place of another one, and whether
	// it changed; nil shows errors as they are.
	PublicError func(error) (public error, changed bool)
	// Team is the server of the team; it may be nil.
	Team *Team
	// MaxTokens bounds the text and the structured content of one answer
	// (6,000).
	MaxTokens int
	Counter   llms.Counter // estimates where nil
	// Model says that lcm_expand_query may send passages to a model.
	Model   bool
	Version string
	Log     *slog.Logger     // slog.Default where nil
	Clock   func() time.Time // time.Now where nil
	// Tick is how often a long call reports progress (2 seconds).
	Tick time.Duration
	// Patience is how long a call may take whose client asks for no progress (55 seconds): such
	// clients give up after a minute.
	Patience time.Duration
	// Idle is called when no request has come for five seconds. A host runs a server
	// for each of its windows, and most of them wait: such a process releases memory.
	// It may be nil.
	Idle func()
	// Tracer makes the spans of calls; nil makes none.
	Tracer trace.TracerProvider
}

func (c *Config) complete() error {
	if c.Engine == nil {
		return errors.New("mcpserver: no engine was given")
	}
	c.MaxTokens = cmp.Or(c.MaxTokens, DefaultMaxTokens)
	if c.MaxTokens < MinMaxTokens {
		return fmt.Errorf("mcpserver: answers of %d tokens are too short to be useful: at least %d", c.MaxTokens, MinMaxTokens)
	}
	if c.Counter == nil {
		c.Counter = llms.Estimate
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Getenv == nil {
		c.Getenv = func(string) string { return "" }
	}
	c.Log = cmp.Or(c.Log, slog.Default())
	c.Patience = cmp.Or(max(c.Patience, 0), 55*time.Second)
	c.Tick = cmp.Or(max(c.Tick, 0), 2*time.Second)
	c.Version = cmp.Or(c.Version, "dev")
	return nil
}

// Server answers MCP clients. It may serve several at a time.
type Server struct {
	config   Config
	mcp      *mcp.Server
	offered  []Tool
	store    store.Store
	lifetime context.Context // ends with Close
	end      context.CancelFunc
	started  sync.Once
	running  sync.WaitGroup // background work
	idle     *time.Timer    // calls Config.Idle; nil without one
}

// idleTime is how long no request has to come before Config.Idle is called.
const idleTime = 5 * time.Second

// New returns a server whose background work ends with ctx. It must be closed.
func New(ctx context.Context, c Config) (*Server, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	s := &Server{config: c, store: c.Engine.Store()}
	s.lifetime, s.end = context.WithCancel(ctx)
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "lcm", Title: "Lossless context memory", Version: c.Version}, &mcp.ServerOptions{
		Instructions: c.instructions(),
		Logger:       c.Log,
		// The record is private: no proxy may cache it.
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" },
		// The tools never change, so no client need subscribe.
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	s.mcp.AddReceivingMiddleware(s.traced, s.afterHandshake, s.textForHosts)
	if c.Idle != nil {
		s.idle = time.AfterFunc(idleTime, c.Idle)
		s.mcp.AddReceivingMiddleware(s.thenIdle)
	}
	if err := s.addTools(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close stops the background work and waits for it.
func (s *Server) Close() {
	s.end()
	if s.idle != nil {
		s.idle.Stop()
	}
	s.running.Wait()
}

// afterHandshake starts the background work with the first request that is not
// part of a handshake: a host that only probes the server should not pay for it.
func (s *Server) afterHandshake(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch method {
		case "initialize", "ping", "server/discover":
		default:
			s.started.Do(s.catchUpInBackground)
		}
		return next(ctx, method, req)
	}
}

// thenIdle starts the time until Config.Idle again after each request.
func (s *Server) thenIdle(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		defer s.idle.Reset(idleTime)
		return next(ctx, method, req)
	}
}
