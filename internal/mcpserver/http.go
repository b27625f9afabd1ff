package mcpserver

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/semaphore"

	"github.com/lossless-context/lcm/internal/kit/httpbody"
)

// Path is the path of the endpoint.
const Path = "/mcp"

// minToken is the least length of a token.
const minToken = 16

// HTTPOptions say who may use a server over HTTP.
type HTTPOptions struct {
	// Token must be sent with every request as a bearer token. It is required:
	// every user of a machine can reach its loopback interface.
	Token string
	// Origins are the web origins, like https://app.example, whose pages may
	// send requests. A request without an Origin header is not from a page.
	Origins []string
	// BodyTimeout is how long a client may take to send a request (30 s).
	BodyTimeout time.Duration
}

// ListenAddress returns the address to listen on. A port alone is on the loopback
// interface.
func ListenAddress(addr string) (string, error) {
	if !strings.Contains(addr, ":") {
		addr = ":" + addr
	}
	host, port, err := net.SplitHostPort(addr)
	if _, wrong := strconv.ParseUint(port, 10, 16); err != nil || wrong != nil {
		return "", fmt.Errorf("%q is not an address to listen on: it is a port, or a host and a port like 127.0.0.1:8765", addr)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// CheckAddress is ListenAddress. It also fails if the token is too short.
func (o HTTPOptions) CheckAddress(addr string) (string, error) {
	if len(o.Token) < minToken {
		return "", fmt.Errorf("the token has %d characters: one that cannot be guessed has at least %d", len(o.Token), minToken)
	}
	return ListenAddress(addr)
}

// ServeHTTP serves clients on a listener until ctx ends.
func (s *Server) ServeHTTP(ctx context.Context, l net.Listener, o HTTPOptions) error {
	server := &http.Server{
		Handler:           s.Handler(o),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
	served, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-ctx.Done():
			s.stopHTTP(ctx, server)
		case <-served:
		}
	}()
	err := server.Serve(l)
	close(served)
	<-stopped
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// stopHTTP ends calls and sessions and then the server, within two seconds.
func (s *Server) stopHTTP(ctx context.Context, server *http.Server) {
	s.EndSessions()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		_ = server.Close() // connections that clients hold open
	}
}

// EndSessions ends calls and the sessions of clients.
func (s *Server) EndSessions() {
	s.end()
	for _, session := range slices.Collect(s.mcp.Sessions()) {
		_ = session.Close() // its client has gone, or will notice
	}
}

// Handler serves HTTP requests. It checks origin and token before it reads a
// body.
func (s *Server) Handler(o HTTPOptions) http.Handler {
	return o.guard(s.Endpoint(&httpbody.Reader{Max: maxLine, Timeout: o.BodyTimeout, Pools: []*semaphore.Weighted{semaphore.NewWeighted(2 * maxLine)}}))
}

// Endpoint serves HTTP requests whose token the caller has checked. Its sessions are
// those of this Server: a session id of another one is unknown here. With
// [Config.Stateless] it has none.
func (s *Server) Endpoint(bodies *httpbody.Reader) http.Handler {
	o := &mcp.StreamableHTTPOptions{
		Logger:              s.config.Log,
		MaxRequestBodyBytes: maxLine, // as over pipes
		Stateless:           s.config.Stateless,
		// guard checks every request.
		DisableLocalhostProtection: true,
	}
	if s.config.Stateless {
		o.PropagateRequestCancellation = true
	} else {
		o.SessionTimeout = 30 * time.Minute
		// A client whose connection breaks gets the rest of its answer when it
		// reconnects.
		o.EventStore = mcp.NewMemoryEventStore(nil)
	}
	endpoint := http.Handler(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.mcp }, o))
	if s.config.Stateless {
		endpoint = handsOutIDs(endpoint)
	}
	mux := http.NewServeMux()
	mux.Handle(Path, endpoint)
	return readingBody(bodies, mux)
}

// guard refuses requests from web pages of other origins, and requests without
// the token. A page that reaches the server through DNS rebinding lacks the token.
func (o HTTPOptions) guard(next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(o.Token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if origin := r.Header.Get("Origin"); origin != "" && !o.sameOrigin(origin, r.Host) {
			http.Error(w, "forbidden: pages of this origin may not ask; --allow-origin lets them", http.StatusForbidden)
			return
		}
		got := sha256.Sum256([]byte(Bearer(r)))
		if o.Token == "" || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="lcm"`)
			http.Error(w, "unauthorized: send the server's token as a bearer token", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (o HTTPOptions) sameOrigin(origin, host string) bool {
	if slices.Contains(o.Origins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, host)
}

// Bearer returns the bearer token of a request.
func Bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
