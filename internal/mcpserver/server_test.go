package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/kit/toolname"
	"github.com/lossless-context/lcm/internal/mcpserver"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/recall"
	"github.com/lossless-context/lcm/tools"
)

func TestToolsAreListedAsAHostNeedsThem(t *testing.T) {
	r := newRecord(t)
	c := r.connect(r.serve(r.config()), clientOptions{})
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if strings.Contains(tool.Description, "\n") || tool.Description == "" {
			t.Errorf("%s: the description is not one line: %q", tool.Name, tool.Description)
		}
		a := tool.Annotations
		if a == nil || !a.ReadOnlyHint || a.OpenWorldHint == nil || *a.OpenWorldHint || a.DestructiveHint == nil || *a.DestructiveHint {
			t.Errorf("%s: annotations %+v", tool.Name, a)
		}
		if tool.Title == "" || tool.Meta["anthropic/alwaysLoad"] != true {
			t.Errorf("%s: title %q, meta %v", tool.Name, tool.Title, tool.Meta)
		}
		if (tool.OutputSchema == nil) != (tool.Name == "expand") {
			t.Errorf("%s: output schema %v", tool.Name, tool.OutputSchema)
		}
	}
	if want := slices.Sorted(slices.Values(append(toolname.Agent(), tools.ExpandName))); !slices.Equal(names, want) {
		t.Errorf("tools %v, want %v", names, want)
	}
	again, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := mustJSON(t, list.Tools), mustJSON(t, again.Tools); a != b {
		t.Error("two listings differ, which costs the host its prompt cache")
	}
}

func TestOnlyAQuestionToAModelLeavesTheMachine(t *testing.T) {
	r := newRecord(t)
	config := r.config()
	config.Model = true
	c := r.connect(r.serve(config), clientOptions{})
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		if *tool.Annotations.OpenWorldHint != (tool.Name == lcm.ExpandQueryName) {
			t.Errorf("%s: openWorldHint %v", tool.Name, *tool.Annotations.OpenWorldHint)
		}
	}
}

func TestInstructionsFitAndNameWhatThereIs(t *testing.T) {
	r := newRecord(t)
	c := r.connect(r.serve(r.config()), clientOptions{})
	said := c.InitializeResult().Instructions
	if said != mcpserver.Instructions() || len(said) >= 2048 {
		t.Errorf("%d bytes: %s", len(said), said)
	}
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		if !strings.Contains(said, tool.Name) {
			t.Errorf("%s is not mentioned in internal/mcpserver/instructions.md", tool.Name)
		}
	}
	for _, word := range []string{"conversationId", "allConversations", "nextCursor", "cursor", "prompt", "query", "summaryIds"} {
		if !strings.Contains(said, word) || !strings.Contains(mustJSON(t, list.Tools), word) {
			t.Errorf("%q is in the instructions or in the tools, but not in both", word)
		}
	}
	if strings.Contains(said, "lcm_expand ") || strings.Contains(said, "lcm_expand(") {
		t.Error("the instructions name lcm_expand, which is not for the agent")
	}
}

// Every request of a host carries the tools and the instructions.
func TestToolsAndInstructionsAreShort(t *testing.T) {
	r := newRecord(t)
	config := r.config()
	config.Local = true // with lcm_why
	c := r.connect(r.serve(config), clientOptions{})
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	total := llms.Estimate.Count(c.InitializeResult().Instructions)
	for _, tool := range list.Tools {
		n := llms.Estimate.Count(tool.Name + tool.Description + mustJSON(t, tool.InputSchema))
		t.Logf("%s: %d tokens", tool.Name, n)
		total += n
	}
	t.Logf("with the instructions: %d tokens", total)
	if total > 1100 {
		t.Errorf("%d tokens, want at most 1,100", total)
	}
}

// The schemas that hosts see have every parameter of the specification.
func TestTheSpecifiedParametersAreListed(t *testing.T) {
	r := newRecord(t)
	c := r.connect(r.serve(r.config()), clientOptions{})
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	specified := map[string][]string{
		lcm.GrepName:        {"pattern", "mode", "scope", "conversationId", "allConversations", "since", "before", "limit"},
		lcm.DescribeName:    {"id", "conversationId", "allConversations"},
		lcm.ExpandQueryName: {"prompt", "query", "summaryIds", "maxTokens", "conversationId", "allConversations"},
	}
	for _, tool := range list.Tools {
		properties := into[struct{ Properties map[string]any }](t, &mcp.CallToolResult{StructuredContent: tool.InputSchema}).Properties
		for _, name := range specified[tool.Name] {
			if properties[name] == nil {
				t.Errorf("%s does not list %s", tool.Name, name)
			}
		}
	}
}

// Only a server that the host started itself looks for quoted files.
func TestFilesThatAreGoneAreNamed(t *testing.T) {
	r := newRecord(t)
	if err := os.Mkdir(filepath.Join(r.dir, "src"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.say("claude:s1", r.dir, time.Minute, user("Where is the quay?"), llms.Assistant("The quay is in src/quay.go, and not in /etc/quay.go"), user("thanks"))
	for _, local := range []bool{true, false} {
		config := r.config()
		config.Local = local
		c := r.connect(r.serve(config), clientOptions{})
		for tool, in := range map[string]args{"lcm_grep": {"pattern": "quay"}, "lcm_expand_query": {"prompt": "Where is the quay?", "query": "quay"}} {
			if said := text(c.call(tool, in)); strings.Contains(said, "gone since: src/quay.go") != local {
				t.Errorf("local %v, %s: %s", local, tool, said)
			}
		}
	}
}

func TestGrepDescribeExpandQuery(t *testing.T) {
	r := newRecord(t)
	id := r.say("claude:s1", r.dir, time.Minute, user("How do we deploy?"), llms.Assistant("With `make ship`, after the <checks> & gates."), user("thanks"))
	c := r.connect(r.serve(r.config()), clientOptions{})

	result := c.call("lcm_grep", args{"pattern": "make ship"})
	a := into[found](t, result)
	if a.Total != 1 || a.Matches[0].Session != id || !strings.Contains(text(result), "make ship") {
		t.Fatalf("grep: %s", text(result))
	}
	one := c.call("lcm_describe", args{"id": a.Matches[0].ID})
	d := into[recall.DescribeAnswer](t, one)
	if d.Content != "With `make ship`, after the <checks> & gates." || !strings.Contains(text(one), d.Content) {
		t.Errorf("describe: %s", text(one))
	}
	asked := c.call("lcm_expand_query", args{"prompt": "How do we deploy?", "query": "deploy ship"})
	if !strings.Contains(text(asked), "make ship") || !strings.Contains(text(asked), "no_model") {
		t.Errorf("expand_query: %s", text(asked))
	}
	asked = c.call("lcm_expand_query", args{"prompt": "How do we deploy?"}) // the prompt is the query
	if !strings.Contains(text(asked), "make ship") {
		t.Errorf("expand_query without a query: %s", text(asked))
	}
	for bound, want := range map[string]int{"since": 1, "before": 0} { // written as on the command line
		if a := into[found](t, c.call("lcm_grep", args{"pattern": "make ship", bound: "52000w"})); a.Total != want {
			t.Errorf("%s 52000w: %d matches, want %d", bound, a.Total, want)
		}
	}
	told := c.call("expand", args{"subject_type": "tool", "subject_name": "lcm_grep", "troubleshoot": true})
	if told.IsError || !strings.Contains(text(told), "=== TOOL: lcm_grep ===") || !strings.Contains(text(told), "🔧 Troubleshooting:") {
		t.Errorf("expand: %s", text(told))
	}
}

// Clients of the newest protocol send no initialize, and cannot be asked for
// their roots.
func TestTheNewestProtocolIsSpokenToo(t *testing.T) {
	r := newRecord(t)
	r.say("claude:s1", r.dir, time.Hour, user("the needle"))
	read := make(chan struct{})
	config := r.config()
	config.Feed = &feed{all: func(context.Context) error { close(read); return nil }}
	c := r.connect(r.serve(config), clientOptions{newest: true, roots: []string{r.other}})
	if got := c.where(nil); got.Total != 1 {
		t.Errorf("got %+v", got)
	}
	if v := c.InitializeResult().ProtocolVersion; v < "2026" {
		t.Errorf("negotiated %s", v)
	}
	<-read
}

func TestErrorsReachTheModelInTheToolsWords(t *testing.T) {
	r := newRecord(t)
	r.say("claude:s1", r.dir, time.Minute, user("hello"))
	c := r.connect(r.serve(r.config()), clientOptions{})
	tests := []struct {
		tool string
		args args
		want []string
	}{
		{"lcm_grep", args{}, []string{`bad arguments for tool 'lcm_grep': argument "pattern" is missing`, `subject_name: "lcm_grep", troubleshoot: true`}},
		{"lcm_grep", args{"pattern": "("}, []string{"Error: ", "RE2", "To learn more"}},
		{"lcm_grep", args{"pattern": "x", "limit": 500}, []string{`"limit"`}},
		{"lcm_grep", args{"pattern": "x", "conversationId": 99}, []string{"conversation 99: not found", "allConversations"}},
		{"lcm_grep", args{"pattern": "x", "cursor": "???"}, []string{"cursor", "damaged"}},
		{"lcm_describe", args{"id": "sum_0000000000000000"}, []string{"not found", "lcm_grep"}},
		{"lcm_describe", args{"id": "nothing"}, []string{"holds no id"}},
		{"lcm_expand_query", args{"prompt": "  "}, []string{"prompt is empty"}},
		{"expand", args{"subject_type": "tool", "subject_name": "nix"}, []string{"Error: Tool 'nix' not found in context. \nAvailable tools can be seen in your system prompt or by listing your tools."}},
		{"expand", args{"subject_type": "agent", "subject_name": "x"}, []string{"Error: Agent 'x' not found in context. \nAvailable agents are listed in your system prompt under [SUB AGENTS]."}},
		{"expand", args{"subject_type": "dog"}, []string{"Error: Invalid subject_type 'dog'. Must be either 'tool' or 'agent'"}},
	}
	for _, test := range tests {
		got := c.failing(test.tool, test.args)
		for _, want := range test.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s(%v): %q does not hold %q", test.tool, test.args, got, want)
			}
		}
		if strings.Count(got, "Error: ") != 1 {
			t.Errorf("%s(%v): %q", test.tool, test.args, got)
		}
	}
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "lcm_expand"}); err == nil {
		t.Error("lcm_expand can be called")
	}
}

// Messages around a match are shown unless the caller asks for none.
func TestContextOfNoMessages(t *testing.T) {
	r := newRecord(t)
	r.say("claude:s1", r.dir, time.Minute, user("where does the walrus sleep?"), llms.Assistant("On the ice, near the northern shore of the island."))
	c := r.connect(r.serve(r.config()), clientOptions{})
	for _, mode := range []string{"regex", "full_text"} {
		if got := grepped(t, c.call("lcm_grep", args{"pattern": "walrus", "mode": mode})); len(got.Matches) != 1 || len(got.Matches[0].Beside) != 1 {
			t.Errorf("%s: %+v", mode, got)
		}
		if got := grepped(t, c.call("lcm_grep", args{"pattern": "walrus", "mode": mode, "context": 0})); len(got.Matches) != 1 || len(got.Matches[0].Beside) != 0 {
			t.Errorf("%s, context 0: %+v", mode, got)
		}
	}
}

// A pattern of plain words that matches nothing is read as words, unless the caller says
// that it is a regex.
func TestARegexThatWasAskedForStaysOne(t *testing.T) {
	r := newRecord(t)
	r.say("claude:s1", r.dir, time.Minute, user("where does the walrus sleep?"))
	c := r.connect(r.serve(r.config()), clientOptions{})
	for want, a := range []args{{"pattern": "sleep walrus", "mode": "regex"}, {"pattern": "sleep walrus"}} {
		if got := grepped(t, c.call("lcm_grep", a)); len(got.Matches) != want {
			t.Errorf("%v: %+v", a, got)
		}
	}
}

// A call whose arguments are no object is the caller's mistake, not the
// protocol's.
func TestArgumentsThatAreNoObject(t *testing.T) {
	r := newRecord(t)
	c := r.connect(r.serve(r.config()), clientOptions{})
	for _, a := range []any{[]int{1}, "text", 7} {
		got, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "lcm_grep", Arguments: a})
		if err == nil && (!got.IsError || !strings.Contains(text(got), "not a JSON object")) {
			t.Errorf("%v: %s", a, text(got))
		}
	}
}

// slow is a model that answers when it is told to, or when nobody waits any
// more.
type slow struct {
	asked  chan struct{}
	answer chan struct{}
}

func newSlow() slow { return slow{make(chan struct{}, 8), make(chan struct{})} }

func (s slow) reply(llms.Request) llmtest.Reply {
	s.asked <- struct{}{}
	<-s.answer
	return llmtest.Say(`{"answer": "With make ship.", "citedIds": []}`)
}

func TestALongCallReportsProgress(t *testing.T) {
	model := newSlow()
	r := newRecord(t, lcm.WithAskModel(llmtest.New(model.reply)))
	r.say("claude:s1", r.dir, time.Minute, user("We deploy with make ship."), user("How was that?"))
	config := r.config()
	config.Tick = time.Millisecond
	reports := make(chan *mcp.ProgressNotificationParams, 1000)
	c := r.connect(r.serve(config), clientOptions{options: &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) { reports <- req.Params },
	}})
	p := &mcp.CallToolParams{Name: "lcm_expand_query", Arguments: args{"prompt": "How do we deploy?", "query": "deploy"}}
	p.SetProgressToken("t1")
	go func() {
		<-model.asked
		first, second := <-reports, <-reports
		if first.ProgressToken != "t1" || second.Progress <= first.Progress || first.Message == "" {
			t.Errorf("reports %+v, %+v", first, second)
		}
		close(model.answer)
	}()
	if got := c.callWith(p); got.IsError {
		t.Errorf("the call failed: %s", text(got))
	}
}

func TestACallCanBeCancelled(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	r := newRecord(t)
	config := r.config()
	config.Feed = &feed{current: func(ctx context.Context, _ mcpserver.Caller) error {
		close(began)
		<-ctx.Done()
		close(ended)
		return ctx.Err()
	}}
	c := r.connect(r.serve(config), clientOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	if _, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "lcm_grep", Arguments: args{"pattern": "x"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	<-ended // long before the time that catching up may take
	config.Feed = nil
	if _, err := c.ListTools(t.Context(), nil); err != nil {
		t.Errorf("the server does not go on: %v", err)
	}
}

// Whoever pipes a few requests in and closes the pipe gets the answers.
func TestAnswersBeforeTheEnd(t *testing.T) {
	r := newRecord(t)
	r.say("claude:s1", r.dir, time.Hour, user("the needle"))
	s := r.serve(r.config())
	in := strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"pipe","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"lcm_grep","arguments":{"pattern":"needle"}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`, ``,
	}, "\n")
	var out strings.Builder
	if err := s.ServeStdio(t.Context(), strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || !strings.Contains(out.String(), "needle") {
		t.Errorf("%d lines: %.300s", len(lines), out.String())
	}
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("not the protocol: %q", line)
		}
	}
}

// A line that is no message costs the client that line, not the server.
func TestLinesThatAreNoMessages(t *testing.T) {
	r := newRecord(t)
	r.say("claude:s1", r.dir, time.Hour, user("the needle"))
	in := strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"pipe","version":"1"}}}`,
		`garbage`, `nul`, `[1,2]`, `[]`, `{}`, "", `"text"`, "\x00\xff", `{"jsonrpc":"2.0","id":`, `{"jsonrpc":"2.0","id":2,"method":"ping"} trailing`,
		`{"jsonrpc":"1.0","id":"old","method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":3,"method":"ping","params":{"x":"` + strings.Repeat("a", 17<<20) + `"}}`,
		`  {"jsonrpc":"2.0","method":"notifications/initialized"}` + "\r",
		`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"lcm_grep","arguments":{"pattern":"needle"}}}`,
	}, "\n") // and the last one without its end
	var out strings.Builder
	config := r.config()
	config.Log = slog.New(slog.DiscardHandler)
	if err := r.serve(config).ServeStdio(t.Context(), strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	said := out.String()
	if strings.Count(said, "\n") != 9 || !strings.Contains(said, "needle") || !strings.Contains(said, `"id":"old"`) || strings.Count(said, `"code":-32700`) != 6 {
		t.Errorf("%.2000s", said)
	}
}

// A host that closes its end while a call takes long has the process gone
// within two seconds.
func TestTheEndDoesNotWaitForLongCalls(t *testing.T) {
	model := newSlow()
	defer close(model.answer)
	r := newRecord(t, lcm.WithAskModel(llmtest.New(model.reply)))
	r.say("claude:s1", r.dir, time.Minute, user("We deploy with make ship."), user("How was that?"))
	s := r.serve(r.config())
	in, feedIn := io.Pipe()
	done := make(chan error)
	go func() { done <- s.ServeStdio(t.Context(), in, io.Discard) }()
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"pipe","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"lcm_expand_query","arguments":{"prompt":"How?","query":"deploy"}}}`,
	} {
		if _, err := io.WriteString(feedIn, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	<-model.asked
	feedIn.Close()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute): // the model answers when the test has ended
		t.Fatal("it does not end")
	}
}

func mustJSON(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// Hosts would show their model structured content as JSON, so they get the text
// alone, and no schema that promises more.
func TestHostsGetText(t *testing.T) {
	r := newRecord(t)
	r.say("claude:s1", r.dir, time.Minute, user("How do we deploy?"), llms.Assistant("With \"make ship\"."))
	for name, structured := range map[string]bool{"claude-code": false, "codex-mcp-client": false, "opencode": false, "inspector": true} {
		c := r.connect(r.serve(r.config()), clientOptions{name: name})
		list, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			if promised := tool.OutputSchema != nil; promised != (structured && tool.Name != "expand") {
				t.Errorf("%s: the schema of %s is listed: %v", name, tool.Name, promised)
			}
		}
		for tool, a := range map[string]args{
			"lcm_grep": {"pattern": "make ship"}, "lcm_describe": {"id": "msg_2"}, "lcm_expand_query": {"query": "make ship", "prompt": "How do we deploy?"},
		} {
			got := c.call(tool, a)
			if sent := got.StructuredContent != nil; sent != structured || !strings.Contains(text(got), "make ship") {
				t.Errorf("%s: %s sent structured content: %v\n%s", name, tool, sent, text(got))
			}
		}
	}
}
