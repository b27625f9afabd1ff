package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/mcpserver"
	"github.com/lossless-context/lcm/internal/record/project"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// now is when the tests take place.
var now = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// record is a database with an engine over it, and directories to work in.
type record struct {
	t      testing.TB
	path   string // of the database
	db     *sqlite.DB
	engine *lcm.Engine
	dir    string // of the project that the server works in
	other  string // of another project
}

func newRecord(t testing.TB, options ...lcm.Option) *record {
	t.Helper()
	r := &record{t: t, path: filepath.Join(t.TempDir(), "lcm.db"), dir: t.TempDir(), other: t.TempDir()}
	var err error
	r.db, err = sqlite.Open(t.Context(), r.path, sqlite.Options{Relaxed: true, Clock: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.db.Close(); err != nil {
			t.Errorf("close the database: %v", err)
		}
	})
	r.engine = r.newEngine(r.db, options...)
	return r
}

func (r *record) newEngine(s store.Store, options ...lcm.Option) *lcm.Engine {
	r.t.Helper()
	e, err := lcm.New(s, append(options, lcm.WithoutBackground(), lcm.WithLargeContent(500))...)
	if err != nil {
		r.t.Fatal(err)
	}
	return e
}

// say appends messages to a session of a project, the last of them said some
// time ago.
func (r *record) say(key, dir string, ago time.Duration, ms ...llms.Message) store.ConversationID {
	r.t.Helper()
	p, err := project.Of(dir)
	if err != nil {
		r.t.Fatal(err)
	}
	agent, _, _ := strings.Cut(key, ":")
	s := r.engine.Session(key, lcm.WithProject(p), lcm.WithAgent(agent))
	for i := range ms {
		ms[i].Time = now.Add(-ago - time.Duration(len(ms)-1-i)*time.Second)
	}
	if err := s.Append(r.t.Context(), ms...); err != nil {
		r.t.Fatal(err)
	}
	c, err := s.Conversation(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return c.ID
}

// first returns the id of the first message of a conversation.
func (r *record) first(c store.ConversationID) string {
	r.t.Helper()
	for m, err := range r.db.Messages(r.t.Context(), store.MessageQuery{Conversation: c, Limit: 1}) {
		if err != nil {
			r.t.Fatal(err)
		}
		return m.ID.String()
	}
	r.t.Fatalf("conversation %d is empty", c)
	return ""
}

// config is that of a server in the record's project.
func (r *record) config() mcpserver.Config {
	return mcpserver.Config{
		Engine: r.engine, Dir: r.dir, Clock: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler),
	}
}

func (r *record) serve(c mcpserver.Config) *mcpserver.Server {
	r.t.Helper()
	s, err := mcpserver.New(r.t.Context(), c)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(s.Close)
	return s
}

// client is a client of a server over pipes.
type client struct {
	*mcp.ClientSession
	t       testing.TB
	schemas map[string]*jsonschema.Resolved
}

type clientOptions struct {
	name    string
	options *mcp.ClientOptions
	roots   []string
	newest  bool // speaks the newest protocol; today's hosts speak 2025-11-25
}

// connect starts a client of a server over a pair of pipes.
func (r *record) connect(s *mcpserver.Server, o clientOptions) *client {
	r.t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- s.ServeStdio(r.t.Context(), fromClient, toClient)
		toClient.Close()
	}()
	if o.name == "" {
		o.name = "test"
	}
	c := mcp.NewClient(&mcp.Implementation{Name: o.name, Version: "1"}, o.options)
	for _, dir := range o.roots {
		//lint:ignore SA1019 roots are deprecated, and what today's hosts send
		c.AddRoots(&mcp.Root{URI: "file://" + filepath.ToSlash(dir)})
	}
	version := &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"}
	if o.newest {
		version = nil
	}
	session, err := c.Connect(r.t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, version)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		session.Close()
		if err := <-served; err != nil {
			r.t.Errorf("serve: %v", err)
		}
	})
	return newClient(r.t, session)
}

func newClient(t testing.TB, session *mcp.ClientSession) *client {
	t.Helper()
	c := &client{ClientSession: session, t: t, schemas: map[string]*jsonschema.Resolved{}}
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		if tool.OutputSchema == nil {
			continue
		}
		raw, err := json.Marshal(tool.OutputSchema)
		if err != nil {
			t.Fatal(err)
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal(raw, &schema); err != nil {
			t.Fatal(err)
		}
		if c.schemas[tool.Name], err = schema.Resolve(nil); err != nil {
			t.Fatalf("the output schema of %s: %v", tool.Name, err)
		}
	}
	return c
}

type args = map[string]any

// call calls a tool and checks every answer: it has a text, and structured content that the
// tool's own schema accepts, and neither exceeds the default bound.
func (c *client) call(name string, a args) *mcp.CallToolResult {
	c.t.Helper()
	return c.callWith(&mcp.CallToolParams{Name: name, Arguments: a})
}

func (c *client) callWith(p *mcp.CallToolParams) *mcp.CallToolResult {
	c.t.Helper()
	result, err := c.CallTool(c.t.Context(), p)
	if err != nil {
		c.t.Fatalf("%s: %v", p.Name, err)
	}
	if n := llms.Estimate.Count(text(result)); n > mcpserver.DefaultMaxTokens {
		c.t.Errorf("%s: the text has %d tokens", p.Name, n)
	}
	if result.IsError {
		if result.StructuredContent != nil {
			c.t.Errorf("%s: an error with structured content", p.Name)
		}
		return result
	}
	schema := c.schemas[p.Name]
	if schema == nil {
		return result
	}
	if err := schema.Validate(result.StructuredContent); err != nil {
		c.t.Errorf("%s: the structured content does not fit the schema: %v", p.Name, err)
	}
	raw, err := json.Marshal(result.StructuredContent)
	if err != nil {
		c.t.Fatal(err)
	}
	if n := llms.Estimate.Count(string(raw)); n > mcpserver.DefaultMaxTokens {
		c.t.Errorf("%s: the structured content has %d tokens", p.Name, n)
	}
	return result
}

// failing calls a tool that is expected to refuse, and returns why.
func (c *client) failing(name string, a args) string {
	c.t.Helper()
	r := c.call(name, a)
	if !r.IsError {
		c.t.Fatalf("%s(%v) does not fail: %s", name, a, text(r))
	}
	return text(r)
}

func text(r *mcp.CallToolResult) string {
	var b strings.Builder
	for _, part := range r.Content {
		if t, ok := part.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

type match struct {
	ID, Who, When, Snippet, CoveredBy string
	Session                           store.ConversationID
	Beside                            []string
}

// found is the structured content of lcm_grep.
type found struct {
	Matches    []match
	Found      string
	Total      int
	Sessions   []string
	Notes      []string
	NextCursor string
}

var (
	sessionLine = regexp.MustCompile(`^session (\d+)`)
	matchLine   = regexp.MustCompile(`^(msg_\d+) (\S+) \d{4}-\d\d-\d\d \d\d:\d\d.*?: (.*)$`)
)

// grepped reads an answer of lcm_grep: the structured content, or the text
// where a host gets nothing else.
func grepped(t testing.TB, r *mcp.CallToolResult) found {
	t.Helper()
	if r.IsError || r.StructuredContent != nil {
		return into[found](t, r)
	}
	lines := strings.Split(text(r), "\n")
	f := found{Found: lines[0]}
	_, _ = fmt.Sscan(f.Found, &f.Total)
	session := 0
	for _, line := range lines[1:] {
		if m := sessionLine.FindStringSubmatch(line); m != nil {
			session, _ = strconv.Atoi(m[1])
			f.Sessions = append(f.Sessions, line)
		} else if m := matchLine.FindStringSubmatch(line); m != nil {
			f.Matches = append(f.Matches, match{ID: m[1], Who: m[2], Snippet: m[3], Session: store.ConversationID(session)})
		} else if near, ok := strings.CutPrefix(line, "  · "); ok {
			last := &f.Matches[len(f.Matches)-1]
			last.Beside = append(last.Beside, near)
		} else if note, ok := strings.CutPrefix(line, "note: "); ok {
			f.Notes = append(f.Notes, note)
		}
	}
	return f
}

// into reads structured content.
func into[T any](t testing.TB, r *mcp.CallToolResult) T {
	t.Helper()
	if r.IsError {
		t.Fatalf("the call failed: %s", text(r))
	}
	raw, err := json.Marshal(r.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func user(format string, a ...any) llms.Message { return llms.User(fmt.Sprintf(format, a...)) }

// feed is a [mcpserver.Feed] that a test controls.
type feed struct {
	current func(context.Context, mcpserver.Caller) error
	all     func(context.Context) error
	places  atomic.Pointer[mcpserver.Caller] // the last one
}

func (f *feed) Current(ctx context.Context, at mcpserver.Caller) error {
	f.places.Store(&at)
	if f.current == nil {
		return nil
	}
	return f.current(ctx, at)
}

func (f *feed) All(ctx context.Context) error {
	if f.all == nil {
		return nil
	}
	return f.all(ctx)
}

// tempDir is for examples, which have no testing.T.
func tempDir() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "lcm")
	if err != nil {
		panic(err)
	}
	return dir, func() { os.RemoveAll(dir) }
}
