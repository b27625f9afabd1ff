package teamserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/mcpserver"
	"github.com/lossless-context/lcm/internal/team/access"
	"github.com/lossless-context/lcm/llms"
)

// local connects a client of a name to an `lcm mcp` of a laptop.
func (l *laptop) local(team *mcpserver.Team, client string) *mcp.ClientSession {
	l.t.Helper()
	s, err := mcpserver.New(l.t.Context(), mcpserver.Config{Engine: l.engine, Dir: l.t.TempDir(), Team: team, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(s.Close)
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- s.ServeStdio(l.t.Context(), in, out) }()
	session, err := mcp.NewClient(&mcp.Implementation{Name: client}, nil).Connect(l.t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { session.Close(); <-served })
	return session
}

// say calls a tool and returns its text.
func say(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) (text string, refused bool) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s %v: %v", tool, args, err)
	}
	return r.Content[0].(*mcp.TextContent).Text, r.IsError
}

// The MCP server of a laptop asks the team's server when a call says so.
func TestMCPOfALaptopSearchesTheTeam(t *testing.T) {
	f := newFixture(t)
	token := f.token(access.Token{Append: true})
	bob := f.laptop("bobs", token)
	bob.say("s", acme, "the kangaroo lives in Vienna")
	bob.push()
	mine := f.laptop("mine", f.token(access.Token{}))
	mine.say("own", acme, "a kangaroo of this machine")
	session := mine.local(&mcpserver.Team{URL: f.url, Token: mine.Client.Token}, "test")

	text, _ := say(t, session, lcm.GrepName, map[string]any{"pattern": "kangaroo", "allConversations": true})
	if strings.Contains(text, "Vienna") || !strings.Contains(text, "of this machine") {
		t.Errorf("without team: %s", text)
	}
	text, _ = say(t, session, lcm.GrepName, map[string]any{"pattern": "kangaroo", "team": true})
	if !strings.Contains(text, "Vienna") || strings.Contains(text, "of this machine") || !strings.Contains(text, "claude (alice@bobs)") || !strings.Contains(text, "team: true") {
		t.Errorf("with team: %s", text)
	}
	found, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: lcm.GrepName, Arguments: map[string]any{"pattern": "kangaroo", "team": true}})
	if err != nil || !strings.Contains(fmt.Sprint(found.StructuredContent.(map[string]any)["notes"]), "pass team: true") {
		t.Errorf("the notes of the structured answer do not say that ids need team: %v, %v", found, err)
	}
	id := regexp.MustCompile(`msg_\d+`).FindString(text)
	if text, refused := say(t, session, lcm.DescribeName, map[string]any{"id": id, "team": "true"}); refused || !strings.Contains(text, "Vienna") || !strings.Contains(text, "claude (alice@bobs)") {
		t.Errorf("%s: %s", id, text)
	}
	if text, refused := say(t, session, lcm.ExpandQueryName, map[string]any{"prompt": "Where does the kangaroo live?", "team": true}); refused || !strings.Contains(text, "Vienna") {
		t.Errorf("ask: %s", text)
	}
	if text, refused := say(t, session, lcm.DescribeName, map[string]any{"id": "msg_99", "team": true}); !refused || !strings.Contains(text, "msg_99") {
		t.Errorf("an unknown id: %s", text)
	}
}

// Without an answer of the server, a search gets that of the machine and a note. An id of
// the team's record is not looked up in the record of the machine, where it is another's.
func TestMCPOfALaptopWithoutTheServer(t *testing.T) {
	f := newFixture(t)
	mine := f.laptop("mine", "lcm_wrong")
	mine.say("own", acme, "a kangaroo of this machine")
	for name, team := range map[string]*mcpserver.Team{
		"away":          {URL: "http://127.0.0.1:1", Token: "lcm_x"},
		"a wrong token": {URL: f.url, Token: "lcm_wrong"},
	} {
		session := mine.local(team, "test")
		for tool, args := range map[string]map[string]any{
			lcm.GrepName:        {"pattern": "kangaroo", "team": true, "allConversations": true},
			lcm.ExpandQueryName: {"prompt": "kangaroo", "team": true, "allConversations": true},
		} {
			text, refused := say(t, session, tool, args)
			if refused || !strings.Contains(text, "of this machine") || !strings.Contains(text, "the team's server could not be asked") || strings.Contains(text, "lcm_wrong") {
				t.Errorf("%s, %s: %s", name, tool, text)
			}
		}
		if text, refused := say(t, session, lcm.DescribeName, map[string]any{"id": "msg_1", "team": true}); !refused || strings.Contains(text, "kangaroo") || strings.Contains(text, "ask again later") != (name == "away") || strings.Contains(text, "sync.token") != (name != "away") {
			t.Errorf("%s: %s", name, text)
		}
	}
	tools, err := mine.local(nil, "test").ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		if schema, ok := tool.InputSchema.(map[string]any); ok && strings.Contains(strings.Join(keys(schema["properties"]), " "), "team") {
			t.Errorf("%s takes team without a team", tool.Name)
		}
	}
}

// A team's server may be of another version, or hostile: its answers are within the bound
// of this one, and its refusals are short and without control characters.
func TestMCPOfALaptopBoundsTheTeam(t *testing.T) {
	f := newFixture(t)
	mine := f.laptop("mine", f.token(access.Token{}))
	const end = "next page: cursor 7"
	long := strings.Repeat("a kangaroo. ", 200_000) + end
	answers := map[string]*mcp.CallToolResult{
		"text":       {Content: []mcp.Content{&mcp.TextContent{Text: long}}, StructuredContent: map[string]any{"matches": []any{}}},
		"structured": {Content: []mcp.Content{&mcp.TextContent{Text: "a kangaroo. " + end}}, StructuredContent: map[string]any{"found": long}},
		"refusal":    {Content: []mcp.Content{&mcp.TextContent{Text: "\x1b[31mno\u202e " + long}}, IsError: true},
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "other"}, nil)
	server.AddTool(&mcp.Tool{Name: lcm.GrepName, InputSchema: map[string]any{"type": "object"}}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var args struct{ Pattern string }
		err := json.Unmarshal(r.Params.Arguments, &args)
		return answers[args.Pattern], err
	})
	mux := http.NewServeMux()
	mux.Handle(mcpserver.Path, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	for _, client := range []string{"test", "claude-code"} {
		session := mine.local(&mcpserver.Team{URL: web.URL, Token: "lcm_x"}, client)
		for kind := range answers {
			r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: lcm.GrepName, Arguments: map[string]any{"pattern": kind, "team": true}})
			if err != nil {
				t.Fatal(err)
			}
			text := r.Content[0].(*mcp.TextContent).Text
			if n := llms.Estimate.Count(text); n > mcpserver.DefaultMaxTokens || r.StructuredContent != nil {
				t.Errorf("%s, %s: %d tokens, structured content %.80v", client, kind, n, r.StructuredContent)
			}
			if kind == "refusal" {
				if !r.IsError || !strings.HasPrefix(text, `\x1b[31mno\u202e `) || len(text) > 3000 {
					t.Errorf("%s: a refusal of %d bytes: %.80q", client, len(text), text)
				}
				continue
			}
			// A client with an output schema takes no answer without structured content.
			if r.IsError != (client == "test") || !strings.Contains(text, "a kangaroo. ") || !strings.HasSuffix(text, end) {
				t.Errorf("%s, %s: error %v, %.200q", client, kind, r.IsError, text)
			}
			if cut := strings.Contains(text, "A part is left out"); cut != (kind == "text") {
				t.Errorf("%s, %s: %.200q", client, kind, text)
			}
		}
	}
}

func keys(properties any) (all []string) {
	m, _ := properties.(map[string]any)
	for name := range m {
		all = append(all, name)
	}
	return all
}
