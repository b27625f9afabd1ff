package teamserver_test

import (
	"io"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/access"
	"github.com/lossless-context/lcm/internal/mcpserver"
)

// local connects to an `lcm mcp` of a laptop.
func (l *laptop) local(team *mcpserver.Team) *mcp.ClientSession {
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
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(l.t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
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
	session := mine.local(&mcpserver.Team{URL: f.url, Token: mine.Client.Token})

	text, _ := say(t, session, lcm.GrepName, map[string]any{"pattern": "kangaroo", "allConversations": true})
	if strings.Contains(text, "Vienna") || !strings.Contains(text, "of this machine") {
		t.Errorf("without team: %s", text)
	}
	text, _ = say(t, session, lcm.GrepName, map[string]any{"pattern": "kangaroo", "team": true})
	if !strings.Contains(text, "Vienna") || strings.Contains(text, "of this machine") || !strings.Contains(text, "claude (alice@bobs)") || !strings.Contains(text, "team: true") {
		t.Errorf("with team: %s", text)
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
		session := mine.local(team)
		for tool, args := range map[string]map[string]any{
			lcm.GrepName:        {"pattern": "kangaroo", "team": true, "allConversations": true},
			lcm.ExpandQueryName: {"prompt": "kangaroo", "team": true, "allConversations": true},
		} {
			text, refused := say(t, session, tool, args)
			if refused || !strings.Contains(text, "of this machine") || !strings.Contains(text, "the team's server could not be asked") || strings.Contains(text, "lcm_wrong") {
				t.Errorf("%s, %s: %s", name, tool, text)
			}
		}
		if text, refused := say(t, session, lcm.DescribeName, map[string]any{"id": "msg_1", "team": true}); !refused || strings.Contains(text, "kangaroo") {
			t.Errorf("%s: %s", name, text)
		}
	}
	tools, err := mine.local(nil).ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		if schema, ok := tool.InputSchema.(map[string]any); ok && strings.Contains(strings.Join(keys(schema["properties"]), " "), "team") {
			t.Errorf("%s takes team without a team", tool.Name)
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
