package teamserver_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/record/store"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/proof/scopetest"
	"github.com/lossless-context/lcm/internal/team/access"
	"github.com/lossless-context/lcm/internal/team/teamsync"
	"github.com/lossless-context/lcm/recall"
)

// session is an MCP client with a token.
type session struct {
	*mcp.ClientSession
	t testing.TB
}

// connect connects a client of MCP.
func (f *fixture) connect(token string) session {
	f.t.Helper()
	transport := &mcp.StreamableClientTransport{Endpoint: f.url + "/mcp", HTTPClient: &http.Client{Transport: bearer{token, http.DefaultTransport}}}
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(f.t.Context(), transport, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { s.Close() })
	return session{s, f.t}
}

// bearer sends a token with every request.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// call makes a call. answer is everything that the client gets.
func (s session) call(c scopetest.Call) (answer string, refused bool) {
	s.t.Helper()
	got, err := s.CallTool(s.t.Context(), &mcp.CallToolParams{Name: c.Tool, Arguments: c.Args})
	if err != nil {
		return err.Error(), true
	}
	raw, err := json.Marshal(got)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(raw), got.IsError
}

// A token of one project gets nothing of another one, whatever tool, id or
// cursor it tries.
func TestTokensSeeTheirProjectsOnly(t *testing.T) {
	f := newFixture(t)
	w := scopetest.Fill(t, f.db)
	tokens := map[string]access.Token{
		"read":   {Projects: []string{w.Mine.Origin}},
		"append": {Projects: []string{w.Mine.Origin}, Append: true},
		"erase":  {Projects: []string{w.Mine.Origin}, Append: true, Erase: true},
		"none":   {Projects: []string{"git.example/nothing"}, Erase: true},
	}
	for name, token := range tokens {
		t.Run(name, func(t *testing.T) {
			client := f.connect(f.token(token))
			for _, c := range w.Refused() {
				answer, refused := client.call(c)
				if shown := w.Shown(answer, c); len(shown) > 0 {
					t.Errorf("%s shows %q: %s", c, shown, answer)
				}
				if !refused && !c.Searches {
					t.Errorf("%s was not refused: %s", c, answer)
				}
				if c.Searches && (refused || !strings.Contains(answer, `"total":0`) && !strings.Contains(answer, `"citedIds":[]`)) {
					t.Errorf("%s found something: %s", c, answer)
				}
			}
		})
	}
	mine := f.connect(f.token(tokens["read"]))
	if answer, refused := mine.call(scopetest.Call{Tool: lcm.GrepName, Args: map[string]any{"pattern": "needle number", "allConversations": true}}); refused || !strings.Contains(answer, `"total":39`) {
		t.Errorf("its own project: %s", answer)
	}
	if answer, refused := f.connect(f.token(access.Token{})).call(scopetest.Call{Tool: lcm.GrepName, Args: map[string]any{"pattern": "s3c", "allConversations": true}}); refused || len(w.Leaks(answer)) == 0 {
		t.Errorf("a token of all projects: %s", answer)
	}
	f.testRequests(w, tokens["read"])
}

// testRequests does the same with the requests of `lcm grep --team`, `lcm describe --team`
// and `lcm ask --team`.
func (f *fixture) testRequests(w *scopetest.World, token access.Token) {
	t := f.t
	c := teamsync.Client{URL: f.url, Token: f.token(token)}
	described := 0
	for _, call := range w.Refused() {
		id, ok := call.Args["id"].(string)
		if call.Tool != lcm.DescribeName || !ok {
			continue
		}
		described++
		cursor, _ := call.Args["cursor"].(string)
		parsed, err := store.ParseID(id)
		if err != nil {
			continue
		}
		a, err := c.Describe(t.Context(), recall.DescribeRequest{ID: parsed, Cursor: cursor})
		var refused *teamsync.RequestError
		if shown := w.Shown(a.Text+string(a.Answer), call); len(shown) > 0 || !errors.As(err, &refused) {
			t.Errorf("describe %s shows %q, %v", id, shown, err)
		}
	}
	if described == 0 {
		t.Error("no id was tried")
	}
	for _, where := range []recall.Where{{}, {AllConversations: true}, {ConversationID: w.Conversations[0]}, {ConversationID: w.Mixed}} {
		for _, pattern := range []string{"qzforeign", "s3c[0-9a-f]+", "needle", "."} {
			for _, cursor := range append([]string{""}, w.Cursors[lcm.GrepName]...) {
				a, err := c.Grep(t.Context(), recall.GrepRequest{Pattern: pattern, Where: where, Everything: true, Limit: 200, Cursor: cursor})
				raw, _ := json.Marshal(a)
				if shown := w.Shown(string(raw), scopetest.Call{}); len(shown) > 0 {
					t.Errorf("grep %q in %+v shows %q", pattern, where, shown)
				}
				var refused *teamsync.RequestError
				if (where.ConversationID == w.Conversations[0] || cursor != "") && !errors.As(err, &refused) {
					t.Errorf("grep %q in %+v after %q: %v", pattern, where, cursor, err)
				}
			}
		}
		a, err := c.Ask(t.Context(), recall.Question{Prompt: "What is the needle?", Query: "qzforeign needle", Where: where})
		if leaks := w.Leaks(a.Answer); len(leaks) > 0 || where.ConversationID == w.Conversations[0] && err == nil {
			t.Errorf("ask in %+v: %q, %v", where, leaks, err)
		}
	}
}

// Random requests of a narrow token return no text of another project.
func TestRandomRequestsLeakNothing(t *testing.T) { randomRequests(t, 400) }

func TestRandomRequestsLeakNothing_Long(t *testing.T) { randomRequests(t, 10_000) }

func randomRequests(t *testing.T, n int) {
	f := newFixture(t)
	w := scopetest.Fill(t, f.db)
	client := f.connect(f.token(access.Token{Projects: []string{w.Mine.Origin}}))
	r := rand.New(rand.NewPCG(3, 20))
	answers := 0
	for range n {
		c := w.Random(r)
		answer, refused := client.call(c)
		if !refused {
			answers++
		}
		if shown := w.Shown(answer, c); len(shown) > 0 {
			t.Fatalf("%s shows %q: %s", c, shown, answer)
		}
	}
	if answers < n*3/10 {
		t.Errorf("only %d requests were answered", answers)
	}
}

// A token learns nothing of a source that another token of its user has pushed into a project
// outside of its own: every answer is that of a source that nobody has pushed.
func TestSourcesOfOtherProjects(t *testing.T) {
	f := newFixture(t)
	app := f.token(access.Token{Projects: []string{"github.com/acme/app"}, Append: true, Erase: true})
	lib := f.token(access.Token{Projects: []string{"github.com/acme/lib"}, Append: true, Erase: true})
	web := f.token(access.Token{Projects: []string{"github.com/acme/web"}, Append: true, Erase: true})
	in := func(project, body string) string { return strings.Replace(body, "acme/app", "acme/"+project, 1) }
	said := batch(`{"role":"user","content":"one"}`, `{"role":"user","content":"two"}`)
	ask := func(token string) string {
		var all []string
		source := fmt.Sprintf(`{"machine":%q,"key":"s","segment":1}`, strings.Repeat("a", 32))
		for path, body := range map[string]string{teamsync.StatusPath: `{"sources":[` + source + `]}`, teamsync.VerifyPath: source, teamsync.ErasePath: strings.Replace(source, "{", `{"seqs":[7],`, 1)} {
			code, text := f.post(path, token, body, false)
			all = append(all, fmt.Sprint(path, code, text))
		}
		slices.Sort(all)
		return strings.Join(all, "\n")
	}
	nobody := ask(lib)
	if code, text := f.post(teamsync.PushPath, app, said, true); code != http.StatusOK {
		t.Fatalf("%d %s", code, text)
	}
	first := ask(app)
	if got := ask(lib); got != nobody {
		t.Errorf("after the push of another token:\n%s\nwant\n%s", got, nobody)
	}
	for project, token := range map[string]string{"lib": lib, "web": web} {
		if code, text := f.post(teamsync.PushPath, token, in(project, said), true); code != http.StatusOK {
			t.Errorf("a push of the same source into %s: %d %s", project, code, text)
		}
		if got := ask(token); got == nobody {
			t.Errorf("the push into %s does not show:\n%s", project, got)
		}
	}
	if got := ask(app); got != first {
		t.Errorf("after pushes of other tokens:\n%s\nwant\n%s", got, first)
	}
}
