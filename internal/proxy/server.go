package proxy

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/launch"
	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Feed is the part of [hosts.Feed] that the proxy uses.
type Feed interface {
	Locate(ctx context.Context, host, path, session string) (hosts.Transcript, error)
	CatchUp(ctx context.Context, t hosts.Transcript, l hosts.Limits) (hosts.Report, error)
	Recent(ctx context.Context, f hosts.Filter) ([]hosts.Transcript, error)
}

// Config configures a Server.
type Config struct {
	Engine *lcm.Engine
	Feed   Feed
	// Routes are the model APIs, by the second part of the path. One called after another
	// with [launch.Login] is for the requests of that route with a subscription login.
	Routes map[string]*url.URL
	// Budget returns the budget for a model with the given window, in tokens; nil is the
	// default. The project is that of the session, and empty until its transcript was read.
	Budget func(model string, window int, of store.Project) int
	// Windows are the windows of models as the host's settings name them, with the name
	// "" for all models.
	Windows map[string]int
	// ByCalls says that the requests of the host do not name their session.
	ByCalls bool
	// Observe records and measures, and changes nothing.
	Observe bool
	// Subscription allows requests with a subscription login to be changed.
	Subscription bool
	// CheckpointBytes is the size of the history in a request from which on the host
	// is made to compact; 0 is never. The history begins with the first answer.
	CheckpointBytes int
	// TLS is how to connect to the model APIs; nil is the system's way.
	TLS *tls.Config
	// Tell tells the user why the agent waits; nil tells the log.
	Tell  func(text string)
	Run   Run // the fields that describe the run
	Clock func() time.Time
	Log   *slog.Logger
}

// Server is the proxy. It is made by New, and ends with the context of Serve.
type Server struct {
	Config
	store     store.Store
	secret    string
	transport http.RoundTripper
	patience  time.Duration // how long a request waits for a fold
	beat      time.Duration // how often a request that is held is looked after
	cal       *calibration
	runLog    *runLog

	warned   sync.Map                        // the messages that were logged once
	unnamed  atomic.Pointer[apiform.Request] // the last request that did not name its session
	mu       sync.Mutex
	sessions map[string]*session
	work     sync.WaitGroup
	ctx      context.Context // of the background work
	stop     context.CancelFunc
	addr     string
}

// New returns a server. Its background work ends with ctx or Close.
func New(ctx context.Context, c Config) (*Server, error) {
	if c.Engine == nil || c.Feed == nil {
		return nil, errors.New("proxy: no engine or no feed was given")
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	c.Log = cmp.Or(c.Log, slog.Default())
	if c.Tell == nil {
		c.Tell = func(text string) { c.Log.Warn(text) }
	}
	var secret [16]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return nil, fmt.Errorf("make a secret: %w", err)
	}
	s := &Server{Config: c, store: c.Engine.Store(), secret: hex.EncodeToString(secret[:]), sessions: map[string]*session{}, transport: transport(c.TLS)}
	s.patience, s.beat = patience, time.Second
	s.ctx, s.stop = context.WithCancel(ctx)
	s.cal = newCalibration(s.store)
	s.runLog = newRunLog(s.store, c.Run, c.Clock)
	return s, nil
}

// Begin starts the work of the run itself.
func (s *Server) Begin() {
	s.work.Go(func() {
		s.runLog.keep(s.ctx, s.cal.save, func(err error) {
			s.warnOnce("the record of the run could not be written; this is said once", "error", err)
			s.runLog.problem(err)
		})
	})
}

// warnOnce logs a warning the first time, else a message for debugging: the log may go to
// the agent's terminal.
func (s *Server) warnOnce(text string, args ...any) {
	level := slog.LevelWarn
	if _, again := s.warned.LoadOrStore(text, true); again {
		level = slog.LevelDebug
	}
	s.Log.Log(s.ctx, level, text, args...)
}

// transport connects to the APIs. It leaves bodies as they are.
func transport(c *tls.Config) http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = c
	t.DisableCompression = true
	return t
}

// Listen listens on a loopback address, at a random port if the address has port 0. The
// run begins with it.
func (s *Server) Listen(address string) (net.Listener, error) {
	if len(s.Routes) == 0 {
		return nil, errors.New("proxy: no model API was given")
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	if a, ok := l.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		return nil, errors.Join(errors.New("the proxy listens on loopback only"), l.Close())
	}
	c, err := net.DialTimeout("tcp", l.Addr().String(), time.Second)
	if err != nil { // loopback is down, or a filter blocks it
		return nil, errors.Join(fmt.Errorf("connect to %s: %w", l.Addr(), err), l.Close())
	}
	_ = c.Close() // nothing was sent
	s.addr = l.Addr().String()
	s.Begin()
	return l, nil
}

// URL returns the base URL of a route for a client.
func (s *Server) URL(route string) string { return "http://" + s.addr + "/" + s.secret + "/" + route }

// ownPath is the path of a base URL of a proxy: the secret and the route.
var ownPath = lazyregexp.New(`^/[0-9a-f]{32}/[^/]+/?$`)

// IsOwnURL reports whether a base URL looks like that of a proxy of lcm.
func IsOwnURL(u *url.URL) bool {
	return (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()) && ownPath().MatchString(u.Path)
}

// BareURL returns the base URL of a route for a client that sends the secret as a
// header.
func (s *Server) BareURL(route string) string { return "http://" + s.addr + "/-/" + route }

// Secret returns the secret, for [launch.SecretHeader].
func (s *Server) Secret() string { return s.secret }

// Serve answers requests until ctx ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-ctx.Done()
		_ = server.Close() // the client has gone
	}()
	err := server.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		<-ended
		return nil
	}
	return err
}

// Stop ends the work in the background and writes the record of the run. Its error says
// that the store cannot be written, so Close would wait for it.
func (s *Server) Stop(ctx context.Context) error {
	s.stop()
	return s.runLog.close(ctx)
}

// Close reads the transcripts of the sessions to their ends, and writes the record of the run.
func (s *Server) Close(ctx context.Context) error {
	s.stop()
	s.work.Wait()
	if s.ByCalls {
		s.discover(ctx)
	}
	var problems []error
	var messages int64
	for _, one := range s.all() {
		if one.host == "" || one.id == "" {
			continue
		}
		if err := one.catchUp(ctx); whyBehind(err) == RecordBehind {
			problems = append(problems, err)
		}
		if id := one.conversation(); id != 0 {
			if c, err := s.store.Conversation(ctx, id); err == nil {
				messages += c.Messages - c.Erased
			}
		}
	}
	s.runLog.verbatim(messages)
	s.cal.save(ctx)
	return errors.Join(append(problems, s.runLog.close(ctx))...)
}

// Result returns the record of the run so far.
func (s *Server) Result() Run { return s.runLog.snapshot() }

func (s *Server) all() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := make([]*session, 0, len(s.sessions))
	for _, one := range s.sessions {
		found = append(found, one)
	}
	return found
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	route, escaped, ok := s.admit(r)
	if !ok {
		http.Error(w, "forbidden", http.StatusForbidden)
		return
	}
	upstream, ok := s.Routes[route]
	if !ok {
		http.Error(w, "no such route", http.StatusNotFound)
		return
	}
	if login, ok := s.Routes[route+launch.Login]; ok && subscription(r.Header) {
		upstream = login
	}
	path, err := url.PathUnescape(escaped)
	if err != nil {
		http.Error(w, "bad path", http.StatusBadRequest)
		return
	}
	r.Header.Del(launch.SecretHeader)
	open := &keptOpen{ResponseWriter: w, form: apiform.FormOf(path)}
	w = open
	defer open.end()
	call := s.prepare(open, r, path)
	if call != nil && call.answer != nil {
		call.answer.write(w)
		call.done(apiUsage{})
		return
	}
	if call != nil {
		call.traced(r.Context(), path)
	}
	p := httputil.ReverseProxy{
		Transport: s.transport,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = upstream.Scheme, upstream.Host, upstream.Host
			p.Out.URL.Path = strings.TrimSuffix(upstream.Path, "/") + path
			p.Out.URL.RawPath = strings.TrimSuffix(upstream.EscapedPath(), "/") + escaped
			asSent(p)
			if call != nil {
				p.Out.Header.Set("Accept-Encoding", "identity") // so that the usage can be read
			}
		},
		ModifyResponse: func(resp *http.Response) error {
			// The server must not add them to an answer that lacks them.
			w.Header()["Content-Type"], w.Header()["Date"] = nil, nil
			if call != nil {
				call.watch(resp)
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if call != nil {
				call.done(apiUsage{})
			}
			if !errors.Is(err, context.Canceled) {
				s.warnOnce("the model API cannot be reached; this is said once", "route", route, "error", err)
			}
			apiError(path, http.StatusBadGateway, "api_error", fmt.Sprintf("lcm cannot reach the model API at %s: %v", upstream.Host, err)).write(w)
		},
		FlushInterval: -1,
		ErrorLog:      slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
	p.ServeHTTP(w, r)
}

// apiError is an error in the form of the API's.
func apiError(path string, status int, kind, message string) *answer {
	body := object{"error": object{"type": kind, "message": message}} // as OpenAI
	if strings.Contains(path, "/messages") {
		body["type"] = "error" // as Anthropic
	}
	return jsonAnswer(status, body)
}

// asSent restores the parts of a request that ReverseProxy removes because another kind
// of proxy has to: query parameters that Go does not parse, the client's own forwarding
// headers, and the values of trailers, which arrive after the body.
func asSent(p *httputil.ProxyRequest) {
	p.Out.URL.RawQuery, p.Out.URL.ForceQuery = p.In.URL.RawQuery, p.In.URL.ForceQuery
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values, ok := p.In.Header[name]; ok {
			p.Out.Header[name] = values
		}
	}
	p.Out.Trailer = p.In.Trailer
}

// admit checks that a request comes from the run's own client, and splits its escaped
// path.
func (s *Server) admit(r *http.Request) (route, escaped string, ok bool) {
	host, port, err := net.SplitHostPort(r.Host)
	_, own, _ := net.SplitHostPort(s.addr)
	if err != nil || port != own || host != "localhost" && !net.ParseIP(host).IsLoopback() {
		return "", "", false
	}
	if r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "" {
		return "", "", false
	}
	given, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	if given == "-" {
		given = r.Header.Get(launch.SecretHeader)
	}
	if subtle.ConstantTimeCompare([]byte(given), []byte(s.secret)) != 1 {
		return "", "", false
	}
	route, escaped, _ = strings.Cut(rest, "/")
	return route, "/" + escaped, true
}
