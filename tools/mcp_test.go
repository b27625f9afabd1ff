package tools_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/tools"
)

const serverVariable = "LCM_TOOLS_TEST_SERVER"

// TestMain lets the test binary be an MCP server as well.
func TestMain(m *testing.M) {
	if os.Getenv(serverVariable) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if err := testServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		os.Exit(1)
	}
}

type echoArgs struct {
	Text string `json:"text" jsonschema:"what to repeat"`
}

func testServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Repeats a text.\nIn detail.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, in echoArgs) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}, &mcp.ImageContent{MIMEType: "image/png", Data: []byte("dot")}}}, nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "env", Description: "Lists its environment."},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Join(os.Environ(), "\n")}}}, nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "die", Description: "Ends the server."},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			os.Exit(1)
			return nil, nil, nil
		})
	return s
}

// connected returns a connection to the test binary as a server.
func connected(t *testing.T, s tools.MCPServer) *tools.MCP {
	t.Helper()
	if s.URL == "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		s.Command, s.Env = []string{self}, []string{serverVariable + "=1"}
	}
	s.Name = "test"
	m, err := tools.ConnectMCP(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Log(err)
		}
	})
	return m
}

func toolNamed(t *testing.T, m *tools.MCP, name string) core.Tool {
	t.Helper()
	all := m.Tools()
	i := slices.IndexFunc(all, func(t core.Tool) bool { return t.GetName() == name })
	if i < 0 {
		t.Fatalf("there is no tool %s among %d", name, len(all))
	}
	return all[i]
}

// A server gets the variables that its caller names and those that any program needs.
func TestAnMCPServerGetsNoKeys(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-secret")
	t.Setenv("LC_ALL", "C.UTF-8")
	r, err := toolNamed(t, connected(t, tools.MCPServer{}), "test_env").Run(t.Context(), nil)
	if err != nil || strings.Contains(r.Text, "sk-secret") {
		t.Errorf("it has %q, %v", r.Text, err)
	}
	for _, want := range []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", serverVariable + "=1"} {
		if !slices.Contains(strings.Split(r.Text, "\n"), want) {
			t.Errorf("%s is missing in %q", want, r.Text)
		}
	}
}

func TestMCPToolsOfAnAgent(t *testing.T) {
	m := connected(t, tools.MCPServer{})
	echo := toolNamed(t, m, "test_echo")
	if b := core.BehaviorOf(echo); !b.ReadOnly || core.BehaviorOf(toolNamed(t, m, "test_die")).ReadOnly {
		t.Errorf("echo declares %+v", b)
	}
	if got := tools.Expand([]core.Tool{echo}, nil, tools.SubjectTool, "test_echo", false).Text; !strings.Contains(got, "In detail.") {
		t.Errorf("expand says %q", got)
	}
	engine := llmtest.New(llmtest.Script(llmtest.Call("test_echo", `{"text":"hello"}`), llmtest.Say("done")))
	agent := agents.NewAgent(agents.AgentConfig{LLMEngine: engine, AgentName: "main", Tools: m.Tools()})
	if _, err := agent.ChatStream("go").StartContext(t.Context()).Text(); err != nil {
		t.Fatal(err)
	}
	last := engine.Requests()[1].Messages[2].ToolResults()[0]
	if last.Output[0].Text != "hello" || last.Output[1].Kind != llms.PartBlob {
		t.Errorf("the model reads %+v", last.Output)
	}
	if strings.Contains(agent.SystemPrompt(), "In detail.") {
		t.Error("the prompt has more than the first line")
	}
}

func TestAnMCPServerThatDiesIsStartedAgain(t *testing.T) {
	m := connected(t, tools.MCPServer{})
	if _, err := toolNamed(t, m, "test_die").Run(t.Context(), map[string]any{}); err == nil || !strings.Contains(err.Error(), "ended during the call") {
		t.Errorf("its death is reported as %v", err)
	}
	got, err := toolNamed(t, m, "test_echo").Run(t.Context(), map[string]any{"text": "back"})
	if err != nil || got.Text != "back" {
		t.Errorf("%q, %v", got.Text, err)
	}
}

func TestMCPOverHTTP(t *testing.T) {
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return testServer() }, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer x" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	if _, err := tools.ConnectMCP(t.Context(), tools.MCPServer{Name: "test", URL: server.URL}); err == nil {
		t.Error("it connects without the header")
	}
	m := connected(t, tools.MCPServer{URL: server.URL, Header: http.Header{"Authorization": {"Bearer x"}}, MaxResult: 10})
	got, err := toolNamed(t, m, "test_echo").Run(t.Context(), map[string]any{"text": strings.Repeat("long ", 10)})
	if err != nil || got.Text != "long long \n[cut: 10 of 50 bytes]" {
		t.Errorf("%q, %v", got.Text, err)
	}
}
