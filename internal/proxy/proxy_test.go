package proxy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/claude"
	"github.com/lossless-context/lcm/internal/hosts/launch"
	"github.com/lossless-context/lcm/internal/proxy"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
)

const (
	sessionID = "11111111-2222-4333-8444-555555555555"
	apiKey    = "sk-ant-api03-do-not-keep-me"
)

// bed is a proxy with a model behind it and a session of Claude Code before it.
type bed struct {
	t      *testing.T
	dir    string
	db     *sqlite.DB
	server *proxy.Server
	log    *syncBuffer

	upstream *url.URL

	mu       sync.Mutex
	received [][]byte // the bodies that reached the model
	headers  []http.Header

	unnamed  bool // requests do not name the session
	perToken int  // bytes, as the model counts
	window   int  // of the model, in tokens; 0 is none
	tools    []any
	lines    []string // of the transcript
	flushed  int      // lines that are in its file
	messages []any    // of the host's request
	last     string   // uuid
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func newBed(t *testing.T, change func(*proxy.Config), options ...lcm.Option) *bed {
	t.Helper()
	b := &bed{t: t, dir: t.TempDir(), log: &syncBuffer{}, perToken: 4, tools: []any{object{"name": "Bash"}}}
	upstream := httptest.NewServer(http.HandlerFunc(b.model))
	t.Cleanup(upstream.Close)
	var err error
	if b.db, err = sqlite.Open(t.Context(), filepath.Join(b.dir, "lcm.db"), sqlite.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.db.Close() })
	if b.upstream, err = url.Parse(upstream.URL); err != nil {
		t.Fatal(err)
	}
	b.serve(change, options...)
	return b
}

// serve starts a proxy. The one before, if any, is one of an earlier run.
func (b *bed) serve(change func(*proxy.Config), options ...lcm.Option) {
	t := b.t
	t.Helper()
	log := slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	engine, err := lcm.New(b.db, slices.Concat(proxy.EngineOptions(), []lcm.Option{lcm.WithoutBackground(), lcm.WithLogger(log)}, options)...)
	if err != nil {
		t.Fatal(err)
	}
	feed, err := hosts.New(engine, []hosts.Host{claude.Host{}}, hosts.Machine{Home: b.dir, Getenv: func(string) string { return "" }}, hosts.Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	c := proxy.Config{
		Engine: engine, Feed: feed, Routes: map[string]*url.URL{"anthropic": b.upstream}, Log: log,
		Budget: func(string, int, store.Project) int { return 40_000 }, Run: proxy.Run{ID: "run_test", Host: "claude"},
	}
	if change != nil {
		change(&c)
	}
	if b.server, err = proxy.New(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	b.server.SetPatience(time.Hour) // a busy machine folds late
	l, err := b.server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	server := b.server
	go func() { done <- server.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := server.Close(context.WithoutCancel(t.Context())); err != nil && !strings.Contains(err.Error(), "closed") && !strings.Contains(err.Error(), "was removed") {
			t.Error(err)
		}
	})
}

// model answers like Anthropic's API.
func (b *bed) model(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		b.t.Error(err)
	}
	b.mu.Lock()
	b.received, b.headers = append(b.received, body), append(b.headers, r.Header.Clone())
	b.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, "/echo") {
		w.Header().Set("X-Own", "kept")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL.RequestURI(), body)
		return
	}
	if tokens := len(body) / b.perToken; b.window > 0 && tokens > b.window {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: %d tokens > %d maximum"}}`, tokens, b.window)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":%d,\"output_tokens\":1}}}\n\n", len(body)/b.perToken)
	w.(http.Flusher).Flush()
	fmt.Fprint(w, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
}

// write adds a line to the transcript.
func (b *bed) write(kind string, message any, more ...object) {
	uuid := fmt.Sprintf("00000000-0000-4000-8000-%012d", len(b.lines)+1)
	var parent any
	if b.last != "" {
		parent = b.last
	}
	record := object{
		"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": sessionID, "cwd": b.dir, "message": message,
		"timestamp": time.Date(2026, 1, 1, 0, 0, len(b.lines), 0, time.UTC).Format(time.RFC3339),
	}
	for _, fields := range more {
		maps.Copy(record, fields)
	}
	line, err := json.Marshal(record)
	if err != nil {
		b.t.Fatal(err)
	}
	b.last = uuid
	b.lines = append(b.lines, string(line))
}

// flush appends the new lines to the file, as a host does: one that is written anew is empty
// for a moment.
func (b *bed) flush() {
	b.t.Helper()
	dir := filepath.Join(b.dir, ".claude", "projects", "p")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		b.t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, sessionID+".jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		b.t.Fatal(err)
	}
	defer f.Close()
	for ; b.flushed < len(b.lines); b.flushed++ {
		if _, err := f.WriteString(b.lines[b.flushed] + "\n"); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *bed) send(body []byte, header ...string) (int, string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.server.URL("anthropic")+"/v1/messages?beta=true", bytes.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	if !b.unnamed {
		r.Header.Set("X-Claude-Code-Session-Id", sessionID)
	}
	r.Header.Set("X-Api-Key", apiKey)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// got returns the last body that the model received.
func (b *bed) got() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.received) == 0 {
		return nil
	}
	return b.received[len(b.received)-1]
}

// play sends the requests of a session of n steps, as a host does.
func (b *bed) play(n int) {
	b.t.Helper()
	b.prompt("Read the logs. The code is TANGERINE.")
	for i := range n {
		b.step(i)
		b.flush()
		if status, text := b.send(b.body()); status != http.StatusOK {
			b.t.Fatalf("step %d: %d %s", i, status, text)
		}
	}
}

// TestPassThrough: a request for another path keeps its bytes, those of the escaped path too.
func TestPassThrough(t *testing.T) {
	b := newBed(t, nil)
	const target = "/v1/files/a%2Fb%2f%20c/(d)%28/echo?x=%2F1"
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		r, err := http.NewRequestWithContext(t.Context(), method, b.server.URL("anthropic")+target, strings.NewReader(`{"messages":`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Claude-Code-Session-Id", sessionID)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if want := method + " " + target + ` {"messages":`; resp.StatusCode != http.StatusTeapot || string(text) != want || resp.Header.Get("X-Own") != "kept" {
			t.Errorf("%d %q, want %q", resp.StatusCode, text, want)
		}
	}
}

// TestAdmission: a foreign Host, a web page and a wrong secret are refused.
func TestAdmission(t *testing.T) {
	b := newBed(t, nil)
	own := b.server.URL("anthropic")
	for name, c := range map[string]struct {
		url    string
		change func(*http.Request)
		want   int
	}{
		"the client":    {own, func(*http.Request) {}, http.StatusTeapot},
		"wrong secret":  {strings.Replace(own, b.server.Secret(), strings.Repeat("0", len(b.server.Secret())), 1), func(*http.Request) {}, http.StatusForbidden},
		"no secret":     {b.server.BareURL("anthropic"), func(*http.Request) {}, http.StatusForbidden},
		"secret header": {b.server.BareURL("anthropic"), func(r *http.Request) { r.Header.Set(launch.SecretHeader, b.server.Secret()) }, http.StatusTeapot},
		"foreign host":  {own, func(r *http.Request) { r.Host = "evil.example" }, http.StatusForbidden},
		"rebound host":  {own, func(r *http.Request) { r.Host = "evil.example:" + strings.Split(r.URL.Host, ":")[1] }, http.StatusForbidden},
		"a web page":    {own, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, http.StatusForbidden},
		"another route": {b.server.URL("other"), func(*http.Request) {}, http.StatusNotFound},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url+"/v1/echo", nil)
		if err != nil {
			t.Fatal(err)
		}
		c.change(r)
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("%s: %d, want %d", name, resp.StatusCode, c.want)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, h := range b.headers {
		if h.Get(launch.SecretHeader) != "" {
			t.Error("the secret was passed on")
		}
	}
}

// TestLongSession: requests below the budget are not changed, later ones stay below it,
// and no credential is kept. It is the same where requests do not name their session.
func TestLongSession(t *testing.T) {
	for _, unnamed := range []bool{false, true} {
		t.Run(fmt.Sprintf("unnamed=%v", unnamed), func(t *testing.T) { longSession(t, unnamed) })
	}
}

func longSession(t *testing.T, unnamed bool) {
	b := newBed(t, func(c *proxy.Config) { c.ByCalls = unnamed })
	b.unnamed = unnamed
	b.play(120)
	changed := 0
	b.mu.Lock()
	received := b.received
	for _, h := range b.headers {
		if h.Get("X-Api-Key") != apiKey {
			t.Error("the key did not arrive")
		}
	}
	b.mu.Unlock()
	for i, body := range received {
		if bytes.Contains(body, []byte("<lcm-context>")) {
			changed++
			if !bytes.Contains(body, []byte("TANGERINE")) {
				t.Errorf("request %d has lost the first prompt", i)
			}
		} else if i == 0 && changed > 0 {
			t.Error("the first request was changed")
		}
		// The first estimate is made before any answer was counted.
		if i > 2 && len(body)/4 > 40_000 {
			t.Errorf("request %d has %d tokens", i, len(body)/4)
		}
	}
	if changed < 60 {
		t.Errorf("%d of %d requests were changed", changed, len(received))
	}
	if err := b.server.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	run := b.server.Result()
	if run.Requests != 120 || run.Changed != changed || run.Largest > 40_000 || run.PassedUnchanged() > 0 || len(run.Problems) > 0 {
		t.Errorf("%+v", run)
	}
	for _, name := range []string{"lcm.db", "lcm.db-wal"} {
		raw, err := os.ReadFile(filepath.Join(b.dir, name))
		if err == nil && (bytes.Contains(raw, []byte(apiKey)) || bytes.Contains(raw, []byte(b.server.Secret()))) {
			t.Errorf("%s holds a credential", name)
		}
	}
	if text := b.log.String(); strings.Contains(text, apiKey) || strings.Contains(text, b.server.Secret()) || text == "" {
		t.Error("the log holds a credential, or nothing")
	}
	runs, err := proxy.Runs(t.Context(), b.db)
	if err != nil || len(runs) != 1 || runs[0].Requests != 120 {
		t.Errorf("%+v, %v", runs, err)
	}
	made, err := proxy.Requests(t.Context(), b.db, "claude:"+sessionID)
	if err != nil || len(made) == 0 || len(made[len(made)-1].Summaries) == 0 {
		t.Errorf("%d requests, %v", len(made), err)
	}
}

// TestUnchanged: each of these requests passes unchanged.
func TestUnchanged(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*proxy.Config)
		header []string
	}{
		"observed":          {func(c *proxy.Config) { c.Observe = true }, nil},
		"a subscription":    {nil, []string{"Authorization", "Bearer sk-ant-oat01-x"}},
		"no session":        {nil, []string{"X-Claude-Code-Session-Id", ""}},
		"no transcript":     {nil, []string{"X-Claude-Code-Session-Id", "another"}},
		"a huge budget":     {func(c *proxy.Config) { c.Budget = func(string, int, store.Project) int { return 1 << 30 } }, nil},
		"the first request": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, c.change)
			b.prompt("Read the logs.")
			for i := range 60 {
				b.step(i)
			}
			times := 4
			if name == "the first request" {
				times = 1 // there is no transcript yet
			} else {
				b.flush()
			}
			for range times {
				body := b.body()
				if status, text := b.send(body, c.header...); status != http.StatusOK {
					t.Fatalf("%d %s", status, text)
				}
				if !bytes.Equal(b.got(), body) {
					t.Fatal("the request was changed")
				}
			}
		})
	}
}

// TestStoreFails: without the database every request passes unchanged and counts as a
// failure. The log says each problem once: it goes to the agent's terminal.
func TestStoreFails(t *testing.T) {
	b := newBed(t, nil)
	b.play(5)
	if err := b.db.Close(); err != nil {
		t.Fatal(err)
	}
	for i := 5; i < 60; i++ {
		b.step(i)
	}
	b.flush()
	// A busy machine may need more than a request to see that the database is gone.
	for i, deadline := 0, time.Now().Add(time.Minute); i < 3 || b.server.Result().PassedUnchanged() < 3; i++ {
		body := b.body()
		if status, _ := b.send(body); status != http.StatusOK || !bytes.Equal(b.got(), body) {
			t.Fatalf("%d, or the request was changed", status)
		}
		if time.Now().After(deadline) {
			t.Fatalf("nothing tells of it: %+v", b.server.Result())
		}
	}
	if run := b.server.Result(); len(run.Problems) == 0 {
		t.Errorf("nothing tells of it: %+v", run)
	}
	if n := strings.Count(b.log.String(), "a session could not be brought up to date"); n < 3 || strings.Count(b.log.String(), "level=WARN") > 2 {
		t.Errorf("%d problems: %s", n, b.log.String())
	}
}

// TestUnknownShape: a body that is not understood passes unchanged, and is counted.
func TestUnknownShape(t *testing.T) {
	b := newBed(t, nil)
	for _, body := range []string{`{`, `{"messages":{}}`, `[]`, strings.Repeat("x", 200_000)} {
		b.send([]byte(body))
		if string(b.got()) != body {
			t.Errorf("%.20q was changed", body)
		}
	}
	if run := b.server.Result(); run.PassedUnchanged() != 4 {
		t.Errorf("%+v", run)
	}
}
