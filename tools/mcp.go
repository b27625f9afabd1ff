package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lossless-context/lcm/core"
)

// MCPServer is an MCP server whose tools an agent shall have. Set Command or URL.
type MCPServer struct {
	// Name begins the names of its tools, so that those of two servers differ: files_read. It must
	// not be empty.
	Name    string
	Command []string // program and arguments of a server over standard input and output
	// Env are variables of the program, as KEY=value. It gets these and the ones that any program
	// needs (PATH, HOME, the locale, a directory for temporary files), and no other of this process:
	// those may be keys.
	Env    []string
	URL    string      // of a server over HTTP
	Header http.Header // sent with each HTTP request
	// MaxResult is how many bytes of text a result has at most. Default 64 KiB.
	MaxResult int
}

// DefaultMaxResult is the default of MCPServer.MaxResult.
const DefaultMaxResult = 64 << 10

// MCP is a connection to an MCP server. It is safe for concurrent use.
type MCP struct {
	server MCPServer
	tools  []core.Tool

	mu      sync.Mutex
	session *mcp.ClientSession // nil after a failure: the next call starts it again
	closed  bool
}

// ConnectMCP starts an MCP server, or connects to one, and reads the list of its tools. To have
// calls that may change something wait for a person, let AgentConfig.NeedsApproval of package agents return
// true for tools of which [core.BehaviorOf] does not say ReadOnly.
func ConnectMCP(ctx context.Context, s MCPServer) (*MCP, error) {
	if s.Name == "" || (len(s.Command) == 0) == (s.URL == "") {
		return nil, fmt.Errorf("MCP server %q: it needs a name, and a command or a URL", s.Name)
	}
	s.MaxResult = cmp.Or(max(s.MaxResult, 0), DefaultMaxResult)
	m := &MCP{server: s}
	session, err := m.open(ctx)
	if err != nil {
		return nil, err
	}
	for t, err := range session.Tools(ctx, nil) {
		var tool core.Tool
		if err == nil {
			tool, err = m.tool(t)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("MCP server %q: %w", s.Name, err), m.Close())
		}
		m.tools = append(m.tools, tool)
	}
	return m, nil
}

// Tools returns the tools of the server. They are [core.Discoverable], and declare that they read
// only or may be repeated where the server says so.
func (m *MCP) Tools() []core.Tool { return append([]core.Tool(nil), m.tools...) }

// Close ends the connection and, with it, a server that was started.
func (m *MCP) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return m.endLocked()
}

func (m *MCP) endLocked() error {
	if m.session == nil {
		return nil
	}
	err := m.session.Close()
	m.session = nil
	return err
}

// open returns the session with the server, and starts it if there is none.
func (m *MCP) open(ctx context.Context) (*mcp.ClientSession, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, fmt.Errorf("the connection to MCP server %q was closed", m.server.Name)
	}
	if m.session != nil {
		return m.session, nil
	}
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: m.server.URL, HTTPClient: &http.Client{Transport: withHeader{m.server.Header}}}
	if len(m.server.Command) > 0 {
		// The server lives longer than the call that starts it.
		cmd := exec.CommandContext(context.WithoutCancel(ctx), m.server.Command[0], m.server.Command[1:]...)
		cmd.Env = append(environment(), m.server.Env...)
		transport = &mcp.CommandTransport{Command: cmd}
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "lcm", Version: "0.1.0"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		return nil, fmt.Errorf("MCP server %q cannot be reached: %w", m.server.Name, err)
	}
	m.session = session
	return session, nil
}

// needed are the variables that any program needs; those of Windows are at the end.
var needed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "LANG", "LANGUAGE",
	"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR",
}

// environment returns the variables of this process that any program needs.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		if runtime.GOOS == "windows" {
			name = strings.ToUpper(name)
		}
		return !slices.Contains(needed, name) && !strings.HasPrefix(name, "LC_")
	})
}

// withHeader adds a header to requests.
type withHeader struct{ header http.Header }

func (w withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range w.header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	return http.DefaultTransport.RoundTrip(r)
}

// mcpTool is a tool of an MCP server.
type mcpTool struct {
	*MCP
	name, remote string
	description  string
	behavior     core.Behavior
	parameters   json.RawMessage
}

func (m *MCP) tool(t *mcp.Tool) (core.Tool, error) {
	schema, err := json.Marshal(t.InputSchema)
	if err != nil {
		return nil, err
	}
	tool := &mcpTool{MCP: m, name: m.server.Name + "_" + t.Name, remote: t.Name, description: strings.TrimSpace(t.Description), parameters: schema}
	if a := t.Annotations; a != nil {
		tool.behavior = core.Behavior{ReadOnly: a.ReadOnlyHint, Repeatable: a.IdempotentHint}
	}
	return tool, core.CheckTool(tool)
}

func (t *mcpTool) GetName() string             { return t.name }
func (t *mcpTool) Parameters() json.RawMessage { return t.parameters }
func (t *mcpTool) Behavior() core.Behavior     { return t.behavior }
func (t *mcpTool) AdvanceDescription() string  { return t.description }
func (t *mcpTool) Troubleshooting() string {
	return fmt.Sprintf("The tool is %s of the MCP server %s. A server that ended is started again at the next call.", t.remote, t.server.Name)
}

// BasicDescription is the first line of the server's description.
func (t *mcpTool) BasicDescription() string {
	line, _, _ := strings.Cut(t.description, "\n")
	return strings.TrimSpace(line)
}

func (t *mcpTool) Call(ac core.AgentContext, args map[string]any) string {
	return core.CallText(t, ac, args)
}

// Run calls the server. After a failure of the connection the next call starts it again: this one may
// have taken effect.
func (t *mcpTool) Run(ctx context.Context, args map[string]any) (core.Result, error) {
	session, err := t.open(ctx)
	if err != nil {
		return core.Result{}, err
	}
	got, err := session.CallTool(ctx, &mcp.CallToolParams{Name: t.remote, Arguments: args})
	if err != nil {
		if ctx.Err() == nil && session.Ping(ctx, nil) != nil {
			t.mu.Lock()
			defer t.mu.Unlock()
			if t.session == session {
				_ = t.endLocked() // it is gone
			}
			return core.Result{}, fmt.Errorf("MCP server %q ended during the call: %w", t.server.Name, err)
		}
		return core.Result{}, err
	}
	return t.result(got), nil
}

// result converts a result. Its text is bounded.
func (t *mcpTool) result(got *mcp.CallToolResult) core.Result {
	out := core.Result{IsError: got.IsError, Data: got.StructuredContent}
	var texts []string
	for _, c := range got.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			texts = append(texts, c.Text)
		case *mcp.ImageContent:
			out.Blobs = append(out.Blobs, core.Blob{MIME: c.MIMEType, Data: c.Data})
		case *mcp.AudioContent:
			out.Blobs = append(out.Blobs, core.Blob{MIME: c.MIMEType, Data: c.Data})
		case *mcp.EmbeddedResource:
			texts = append(texts, c.Resource.Text)
		case *mcp.ResourceLink:
			texts = append(texts, c.URI)
		}
	}
	out.Text = strings.Join(texts, "\n")
	if limit := t.server.MaxResult; len(out.Text) > limit {
		out.Text = strings.ToValidUTF8(out.Text[:limit], "") + fmt.Sprintf("\n[cut: %d of %d bytes]", limit, len(out.Text))
	}
	return out
}
