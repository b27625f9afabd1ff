package teamserver_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/proof/scopetest"
	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/postgres/pgtest"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/team/access"
	"github.com/lossless-context/lcm/internal/team/teamserver"
	"github.com/lossless-context/lcm/internal/team/teamsync"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// fixture is a server over a database.
type fixture struct {
	t      *testing.T
	db     store.Store
	engine *lcm.Engine
	server *teamserver.Server
	url    string
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t}
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "lcm.db"), sqlite.Options{Relaxed: true})
	if err != nil {
		t.Fatal(err)
	}
	return f.over(db)
}

// newPostgresFixture is a server over PostgreSQL.
func newPostgresFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t}
	db, err := postgres.Open(t.Context(), pgtest.URL(t), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f.over(db)
}

// over starts the server over a store.
func (f *fixture) over(db store.Store) *fixture {
	t := f.t
	t.Helper()
	f.db = db
	t.Cleanup(func() { f.db.Close() })
	f.engine = f.newEngine(f.db)
	f.server = f.newServer(nil)
	s := httptest.NewServer(f.server.Handler())
	t.Cleanup(func() { f.server.Close(); s.Close() })
	f.url = s.URL
	return f
}

func (f *fixture) newEngine(s store.Store) *lcm.Engine {
	f.t.Helper()
	e, err := lcm.New(s, lcm.WithoutBackground(), lcm.WithLargeContent(500))
	if err != nil {
		f.t.Fatal(err)
	}
	return e
}

func (f *fixture) newServer(change func(*teamserver.Config)) *teamserver.Server {
	f.t.Helper()
	c := teamserver.Config{
		Store: f.db, Engine: f.engine, Log: slog.New(slog.DiscardHandler),
		NewEngine: func(s store.Store) (*lcm.Engine, error) { return f.newEngine(s), nil },
	}
	c.MCP.Log = c.Log
	if change != nil {
		change(&c)
	}
	s, err := teamserver.New(f.t.Context(), c)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(s.Close)
	return s
}

// token adds a token.
func (f *fixture) token(t access.Token) string {
	f.t.Helper()
	t.User = cmp.Or(t.User, "alice")
	text, _, err := access.Tokens{State: f.db, Clock: time.Now}.Add(f.t.Context(), t, "test")
	if err != nil {
		f.t.Fatal(err)
	}
	return text
}

// get returns the status and the text of a page.
func (f *fixture) get(url, token string) (int, string) {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, url, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return got.StatusCode, string(text)
}

func TestHealthAndMetrics(t *testing.T) {
	f := newFixture(t)
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, text := f.get(f.url+path, ""); code != http.StatusOK {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	token := f.token(access.Token{})
	client := f.connect(token)
	client.call(scopetest.Call{Tool: lcm.GrepName, Args: map[string]any{"pattern": "x", "allConversations": true}})
	for _, want := range []string{`lcm_requests_total{route="mcp",code="200"}`, `lcm_request_seconds_count{route="mcp"} `, "# TYPE lcm_request_seconds summary", "lcm_folds_total 0"} {
		code, text := f.get(f.url+"/metrics", token)
		for end := time.Now().Add(10 * time.Second); code == http.StatusOK && !strings.Contains(text, want) && time.Now().Before(end); { // a request counts after its response
			time.Sleep(10 * time.Millisecond)
			code, text = f.get(f.url+"/metrics", token)
		}
		if code != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("metrics, %d, lack %s:\n%s", code, want, text)
		}
	}
	// A proxy on this machine brings requests from anywhere, whichever headers it adds.
	for _, wrong := range []string{"", "lcm_wrong"} {
		if code, text := f.get(f.url+"/metrics", wrong); code != http.StatusUnauthorized || strings.Contains(text, "lcm_requests") {
			t.Errorf("metrics with the token %q: %d\n%s", wrong, code, text)
		}
	}
}

func TestRequestsNeedAToken(t *testing.T) {
	f := newFixture(t)
	valid := f.token(access.Token{})
	for _, c := range []struct {
		token, origin string
		want          int
	}{
		{"", "", http.StatusUnauthorized}, {"lcm_wrong", "", http.StatusUnauthorized}, {valid, "https://evil.example", http.StatusForbidden}, {valid, "", http.StatusOK},
	} {
		for _, path := range []string{"/mcp", teamsync.GrepPath, teamsync.StatusPath, teamsync.PushPath, teamsync.ErasePath, teamsync.VerifyPath, teamsync.AskPath, teamsync.DescribePath} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url+path, strings.NewReader(`{"pattern":"x","sources":[]}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+c.token)
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			got, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			got.Body.Close()
			if got.StatusCode != c.want && (c.want != http.StatusOK || got.StatusCode == http.StatusUnauthorized) {
				t.Errorf("%s with %q from %q: %d", path, c.token, c.origin, got.StatusCode)
			}
		}
	}
}

// Scopes, pushes and erasures are the same over PostgreSQL.
func TestPostgres(t *testing.T) {
	f := newPostgresFixture(t)
	w := scopetest.Fill(t, f.db)
	client := f.connect(f.token(access.Token{Projects: []string{w.Mine.Origin}}))
	for _, c := range w.Refused() {
		answer, refused := client.call(c)
		if shown := w.Shown(answer, c); len(shown) > 0 || !refused && !c.Searches {
			t.Errorf("%s shows %q: %s", c, shown, answer)
		}
	}
	a := f.laptop("one", f.token(access.Token{Append: true, Erase: true}))
	a.say("s", acme, "first", "the second must go", "last")
	if r := a.push(); r.Messages != 3 {
		t.Errorf("%+v", r)
	}
	order, err := a.engine.Order(t.Context(), lcm.EraseQuery{Pattern: "must go"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.engine.Erase(t.Context(), order, nil); err != nil {
		t.Fatal(err)
	}
	if r := a.push(); r.Erased != 1 {
		t.Errorf("%+v", r)
	}
	if got := f.texts()["alice/s"]; got != "first|last" {
		t.Errorf("the server has %q", got)
	}
}

// A session id of MCP gives nothing of the token that it was given to, and a token that
// is revoked is refused with its next call.
func TestSessionIDsGiveNoRights(t *testing.T) {
	f := newFixture(t)
	wide, narrow := f.token(access.Token{Append: true}), f.token(access.Token{Projects: []string{"x"}})
	l := f.laptop("one", wide)
	l.say("s", acme, "the kangaroo lives in Vienna")
	l.push()
	agent := f.olderAgent(f.url, wide, "claude-code")
	search := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"lcm_grep","arguments":{"pattern":"kangaroo","allConversations":true}}}`
	if code, text := agent.post(search); code != http.StatusOK || !strings.Contains(text, "Vienna") {
		t.Errorf("its own token: %d %s", code, text)
	}
	other := agent
	other.token = narrow
	if code, text := other.post(search); code != http.StatusOK || strings.Contains(text, "Vienna") {
		t.Errorf("with the session id of another token: %d %s", code, text)
	}
	first := f.connect(wide)
	tokens := access.Tokens{State: f.db, Clock: time.Now}
	all, err := tokens.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range all {
		if _, err := tokens.Revoke(t.Context(), k.ID, "test"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := first.CallTool(t.Context(), &mcp.CallToolParams{Name: lcm.GrepName, Arguments: map[string]any{"pattern": "x"}}); err == nil {
		t.Error("a revoked token was answered")
	}
}

// blocking is a summariser that waits for the end of its context.
type blocking struct{ began, ended chan struct{} }

func (b blocking) Summarise(ctx context.Context, _ summary.Request) (summary.Result, error) {
	close(b.began)
	<-ctx.Done()
	close(b.ended)
	return summary.Result{}, ctx.Err()
}

// The engine of a token ends its work in the background when the token is revoked.
func TestRevokedTokenClosesItsEngine(t *testing.T) {
	f := newFixture(t)
	sum := blocking{make(chan struct{}), make(chan struct{})}
	made := make(chan *lcm.Engine, 1)
	s := f.newServer(func(c *teamserver.Config) {
		c.CheckEvery, c.Drain = 5*time.Millisecond, time.Millisecond
		c.NewEngine = func(s store.Store) (*lcm.Engine, error) {
			e, err := lcm.New(s, lcm.WithBudget(4_000), lcm.WithSummariser(sum), lcm.WithLogger(c.Log))
			made <- e
			return e, err
		}
	})
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	token := f.token(access.Token{Append: true})
	f.get(web.URL+"/mcp", token)
	engine := <-made
	for i := range 100 {
		if err := engine.Session("long").Append(t.Context(), llms.User(strings.Repeat(fmt.Sprint("word ", i), 40)), llms.Assistant("Noted.")); err != nil {
			t.Fatal(err)
		}
	}
	<-sum.began
	tokens := access.Tokens{State: f.db, Clock: time.Now}
	k, err := tokens.Check(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.Revoke(t.Context(), k.ID, "test"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-sum.ended:
	case <-time.After(time.Minute):
		t.Error("the engine of a revoked token still folds")
	}
}

// A server that ends finishes the requests that are under way.
func TestDrain(t *testing.T) {
	f := newFixture(t)
	begun, release := make(chan struct{}), make(chan struct{})
	s := f.newServer(func(c *teamserver.Config) {
		c.NewEngine = func(s store.Store) (*lcm.Engine, error) {
			close(begun)
			<-release
			return f.newEngine(s), nil
		}
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l, nil) }()
	client := teamsync.Client{URL: "http://" + l.Addr().String(), Token: f.token(access.Token{})}
	asked := make(chan error, 1)
	go func() {
		var a teamsync.StatusAnswer
		asked <- client.Post(t.Context(), teamsync.StatusPath, teamsync.StatusRequest{}, &a)
	}()
	<-begun
	cancel()
	for { // it still answers, and says that it takes no more
		if code, _ := f.get("http://"+l.Addr().String()+"/readyz", ""); code == http.StatusServiceUnavailable {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	select {
	case err := <-served:
		t.Fatalf("it ended with a request under way: %v", err)
	case <-asked:
		t.Fatal("the request was cut off")
	default:
	}
	close(release)
	if err := <-asked; err != nil {
		t.Errorf("the request: %v", err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// Folding runs in one of several servers, and its work is counted.
func TestFoldingInTheBackground(t *testing.T) {
	f := newFixture(t)
	folder, err := lcm.New(f.db, lcm.WithoutBackground(), lcm.WithBudget(2000))
	if err != nil {
		t.Fatal(err)
	}
	session := f.engine.Session("long", lcm.WithProject(store.Project{Root: "/x"}))
	for i := range 200 {
		if err := session.Append(t.Context(), llms.User(fmt.Sprintf("message %d with some words that fill the window of a model", i))); err != nil {
			t.Fatal(err)
		}
	}
	s := f.newServer(func(c *teamserver.Config) {
		c.FoldEvery = 10 * time.Millisecond
		c.Fold = func(ctx context.Context) (lcm.FoldResult, error) { return folder.FoldDue(ctx, lcm.FoldOptions{}) }
	})
	web := httptest.NewServer(s.Handler())
	defer web.Close()
	token := f.token(access.Token{})
	for end := time.Now().Add(30 * time.Second); ; {
		_, text := f.get(web.URL+"/metrics", token)
		if !strings.Contains(text, "lcm_folds_total 0\n") && strings.Contains(text, `lcm_fold_runs_total{result="done"}`) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("nothing was folded:\n%s", text)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
