package teamserver_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/mcpserver"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/team/access"
	"github.com/lossless-context/lcm/internal/team/teamserver"
	"github.com/lossless-context/lcm/internal/team/teamsync"
)

// olderAgent is a client of a version of MCP that has sessions.
type olderAgent struct {
	t                   *testing.T
	url, token, session string
}

func (f *fixture) olderAgent(url, token, name string) olderAgent {
	f.t.Helper()
	a := olderAgent{t: f.t, url: url, token: token}
	got := a.send(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"`+name+`","version":"1"}}}`, "/mcp")
	if a.session = got.Header.Get("Mcp-Session-Id"); got.StatusCode != http.StatusOK || a.session == "" {
		f.t.Fatalf("initialize: %s, session %q", got.Status, a.session)
	}
	if code, text := a.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); code != http.StatusAccepted {
		f.t.Fatalf("initialized: %d %s", code, text)
	}
	return a
}

func (a olderAgent) send(method, body, path string) *http.Response {
	a.t.Helper()
	r, err := http.NewRequestWithContext(a.t.Context(), method, a.url+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+a.token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if a.session != "" {
		r.Header.Set("Mcp-Session-Id", a.session)
		r.Header.Set("Mcp-Protocol-Version", "2025-06-18")
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { got.Body.Close() })
	return got
}

func (a olderAgent) post(body string) (code int, text string) {
	a.t.Helper()
	got := a.send(http.MethodPost, body, "/mcp")
	raw, err := io.ReadAll(got.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return got.StatusCode, string(raw)
}

// Servers over one database stand behind one address: each request of a client may go to
// another one. A host is known in each of them, so that it gets texts and no JSON.
func TestServersBehindOneAddress(t *testing.T) {
	f := newFixture(t)
	token := f.token(access.Token{Append: true})
	bob := f.laptop("bobs", token)
	bob.say("s", acme, "the kangaroo lives in Vienna")
	bob.push()
	servers := []http.Handler{f.newServer(nil).Handler(), f.newServer(nil).Handler()}
	var next atomic.Int64
	address := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		servers[next.Add(1)%2].ServeHTTP(w, r)
	}))
	t.Cleanup(address.Close)
	for name, structured := range map[string]bool{"claude-code": false, "other": true} {
		agent := f.olderAgent(address.URL, token, name)
		for range 3 {
			if code, text := agent.post(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); code != http.StatusOK || strings.Contains(text, "outputSchema") != structured {
				t.Errorf("%s lists: %d %s", name, code, text)
			}
			code, text := agent.post(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"lcm_grep","arguments":{"pattern":"kangaroo"}}}`)
			if code != http.StatusOK || !strings.Contains(text, "Vienna") || strings.Contains(text, "structuredContent") != structured {
				t.Errorf("%s searches: %d %s", name, code, text)
			}
		}
		for _, method := range []string{http.MethodGet, http.MethodDelete} { // a client takes that for "not offered"
			if got := agent.send(method, "", "/mcp"); got.StatusCode != http.StatusMethodNotAllowed {
				t.Errorf("%s: %s", method, got.Status)
			}
		}
	}
	mine := f.laptop("mine", token)
	session := mine.local(&mcpserver.Team{URL: address.URL, Token: token}, "test")
	for range 3 {
		text, refused := say(t, session, lcm.GrepName, map[string]any{"pattern": "kangaroo", "team": true})
		if refused || !strings.Contains(text, "Vienna") {
			t.Errorf("a search with team: %s", text)
		}
		if text, refused = say(t, session, lcm.DescribeName, map[string]any{"id": regexp.MustCompile(`msg_\d+`).FindString(text), "team": true}); refused || !strings.Contains(text, "Vienna") {
			t.Errorf("an id with team: %s", text)
		}
	}
}

// A call that is under way ends when its token is revoked.
func TestRevokedTokenEndsItsCalls(t *testing.T) {
	f := newFixture(t)
	asked := make(chan struct{})
	s := f.newServer(func(c *teamserver.Config) {
		c.CheckEvery = 5 * time.Millisecond
		c.NewEngine = func(s store.Store) (*lcm.Engine, error) {
			return lcm.New(hangingStore{s, asked}, lcm.WithoutBackground())
		}
	})
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	revoked := f.token(access.Token{})
	agent := f.olderAgent(web.URL, revoked, "test")
	ended := make(chan struct{})
	go func() { // a call that goes on runs into the time limit of the tests
		defer close(ended)
		agent.post(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"lcm_grep","arguments":{"pattern":"kangaroo"}}}`)
	}()
	<-asked
	tokens := access.Tokens{State: f.db, Clock: time.Now}
	k, err := tokens.Check(t.Context(), revoked)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.Revoke(t.Context(), k.ID, "test"); err != nil {
		t.Fatal(err)
	}
	<-ended
}

// Errors of the database reach the log. Clients, of which some have no token, learn that
// they may try again and nothing of the database's address.
func TestDatabaseErrorsStayInTheLog(t *testing.T) {
	f := newFixture(t)
	valid := f.token(access.Token{Append: true})
	var log bytes.Buffer
	var away atomic.Bool
	s := f.newServer(func(c *teamserver.Config) {
		c.Store, c.Log = awayStore{f.db, &away}, slog.New(slog.NewTextHandler(&log, nil))
	})
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	agent := f.olderAgent(web.URL, valid, "test")
	away.Store(true)
	for _, token := range []string{valid, "lcm_" + strings.Repeat("0", 40)} {
		for _, path := range []string{"/mcp", teamsync.StatusPath} {
			agent.token = token
			got := agent.send(http.MethodPost, `{}`, path)
			text, err := io.ReadAll(got.Body)
			if err != nil || got.StatusCode != http.StatusServiceUnavailable || got.Header.Get("Retry-After") == "" || !strings.Contains(string(text), "try again") || strings.Contains(string(text), "db.internal") {
				t.Errorf("%s: %s %s, %v", path, got.Status, text, err)
			}
		}
	}
	// A client tries again by itself.
	client := teamsync.Client{URL: web.URL, Token: valid, HTTP: &http.Client{Transport: onceMore{&away}}}
	var a teamsync.StatusAnswer
	if err := client.Post(t.Context(), teamsync.StatusPath, teamsync.StatusRequest{}, &a); err != nil || a.User != "alice" {
		t.Errorf("%+v, %v", a, err)
	}
	web.Close()
	if !strings.Contains(log.String(), "db.internal") {
		t.Errorf("the log lacks the error: %s", log.String())
	}
}

// onceMore brings a store back after the first request.
type onceMore struct{ away *atomic.Bool }

func (o onceMore) RoundTrip(r *http.Request) (*http.Response, error) {
	got, err := http.DefaultTransport.RoundTrip(r)
	o.away.Store(false)
	return got, err
}

// awayStore is a store whose state cannot be read while the database is away.
type awayStore struct {
	store.Store
	away *atomic.Bool
}

func (s awayStore) Get(ctx context.Context, space, key string) (store.Value, error) {
	if s.away.Load() {
		err := &sqldb.Error{Message: "failed to connect to user=lcm at db.internal:5432", Lost: true}
		return store.Value{}, &hint.Error{Err: fmt.Errorf("database postgres://lcm@db.internal:5432/lcm: %w", err), Hint: "check that db.internal runs"}
	}
	return s.Store.Get(ctx, space, key)
}

// hangingStore is a store whose searches last until they are cancelled.
type hangingStore struct {
	store.Store
	asked chan struct{}
}

// Search implements [store.Searcher].
func (s hangingStore) Search(ctx context.Context, _ store.Search) (store.Found, error) {
	close(s.asked)
	<-ctx.Done()
	return store.Found{}, ctx.Err()
}
