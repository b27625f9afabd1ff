package teamserver_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/kit/otlp"
	"github.com/lossless-context/lcm/internal/proof/scopetest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/team/access"
	"github.com/lossless-context/lcm/internal/team/teamserver"
	"github.com/lossless-context/lcm/internal/team/teamsync"
	"github.com/lossless-context/lcm/recall"
)

// collector is a receiver of OTLP.
type collector struct {
	*httptest.Server
	t *testing.T

	mu    sync.Mutex
	bytes []byte
	spans []*tracepb.Span
}

func newCollector(t *testing.T) *collector {
	c := &collector{t: t}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		// TracesData has the fields of ExportTraceServiceRequest.
		var data tracepb.TracesData
		if err := proto.Unmarshal(body, &data); err != nil {
			t.Error(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.bytes = append(c.bytes, body...)
		for _, r := range data.ResourceSpans {
			for _, s := range r.ScopeSpans {
				c.spans = append(c.spans, s.Spans...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// path names the spans from the root of a trace down to s.
func (c *collector) path(s *tracepb.Span) string {
	for _, parent := range c.spans {
		if bytes.Equal(parent.SpanId, s.ParentSpanId) {
			return c.path(parent) + " > " + s.Name
		}
	}
	return s.Name
}

// traced starts a server that sends its spans to a collector. flush ends it.
func (f *fixture) traced(c *collector) (flush func()) {
	f.t.Helper()
	f.t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	p, err := otlp.Start(f.t.Context(), "test", slog.New(slog.DiscardHandler))
	if err != nil || p == nil {
		f.t.Fatal(p, err)
	}
	s := f.newServer(func(c *teamserver.Config) { c.Tracer = p })
	web := httptest.NewServer(s.Handler())
	f.t.Cleanup(web.Close)
	f.url = web.URL
	return func() { // a span ends after the answer was sent
		s.Close()
		web.Close()
		p.Stop(f.t.Context())
	}
}

// A request, its recall and its reads are one trace, and no text is in it.
func TestTraces(t *testing.T) {
	const marked = "qzmarked"
	f, c := newFixture(t), newCollector(t)
	flush := f.traced(c)
	token := f.token(access.Token{Append: true, Erase: true})
	project := store.Project{Origin: "example.com/" + marked, Root: "/" + marked}
	l := f.laptop(marked, token)
	l.say("s-"+marked, project, "the word is "+marked, "and again "+marked)
	l.push()
	client := teamsync.Client{URL: f.url, Token: token, HTTP: &http.Client{Transport: traceparent{}}}
	found, err := client.Grep(t.Context(), recall.GrepRequest{Pattern: marked})
	if err != nil || found.Total != 2 {
		t.Fatal(found, err)
	}
	if _, err := client.Ask(t.Context(), recall.Question{Prompt: "what is " + marked, Query: marked}); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []recall.GrepRequest{{Pattern: marked, Kinds: marked}, {Pattern: marked + "("}, {Pattern: marked, Cursor: marked}} {
		if _, err := client.Grep(t.Context(), wrong); err == nil {
			t.Errorf("%+v was answered", wrong)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), marked, f.url+"/mcp?"+marked, strings.NewReader(marked))
	if err != nil {
		t.Fatal(err)
	}
	if a, err := http.DefaultClient.Do(r); err == nil {
		a.Body.Close()
	}
	agent := f.connect(token)
	for _, call := range []scopetest.Call{
		{Tool: lcm.GrepName, Args: map[string]any{"pattern": marked, "allConversations": true}},
		{Tool: lcm.GrepName, Args: map[string]any{marked: marked}},
		{Tool: lcm.DescribeName, Args: map[string]any{"id": found.Matches[0].ID}},
		{Tool: lcm.DescribeName, Args: map[string]any{"id": marked}},
		{Tool: lcm.ExpandQueryName, Args: map[string]any{"prompt": marked, "allConversations": true}},
		{Tool: marked, Args: map[string]any{"id": marked}},
	} {
		agent.call(call)
	}
	if code, text := f.get(f.url+"/metrics", token); code != http.StatusOK || strings.Contains(text, marked) {
		t.Errorf("the metrics, %d, have text:\n%s", code, text)
	}
	flush()
	if bytes.Contains(bytes.ToLower(c.bytes), []byte(marked)) || bytes.Contains(c.bytes, []byte(token)) {
		t.Error("the spans have text of messages, queries, projects or tokens")
	}
	var paths []string
	for _, s := range c.spans {
		paths = append(paths, c.path(s))
		if s.Name == "POST "+teamsync.GrepPath && hex.EncodeToString(s.TraceId) != traceID {
			t.Errorf("%s is in trace %x, not in that of its request", s.Name, s.TraceId)
		}
	}
	for _, want := range []string{
		"POST /v1/grep > recall.grep > store.search",
		"POST /v1/ask > recall.ask > store.search",
		"POST /v1/sync/push > store.update",
		"POST /v1/sync/push > store.messages",
		"POST mcp > mcp tools/call > recall.grep > store.search",
		"POST mcp > mcp tools/call > recall.describe > store.messages",
		"POST mcp > mcp tools/call > recall.ask > store.search",
		"_OTHER mcp",
	} {
		if !slices.Contains(paths, want) {
			t.Errorf("there is no span %s in:\n%s", want, strings.Join(paths, "\n"))
		}
	}
}

const traceID = "0af7651916cd43dd8448eb211c80319c"

// traceparent sends requests as part of a trace.
type traceparent struct{}

func (traceparent) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("traceparent", "00-"+traceID+"-b7ad6b7169203331-01")
	return http.DefaultTransport.RoundTrip(r)
}

// A collector that does not answer holds up neither requests nor the end of the server.
func TestTracesWithoutACollector(t *testing.T) {
	f := newFixture(t)
	release := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(silent.Close)
	t.Cleanup(func() { close(release) })
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", silent.URL)
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "4")
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")
	p, err := otlp.Start(t.Context(), "test", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s := f.newServer(func(c *teamserver.Config) { c.Tracer = p })
	web := httptest.NewServer(s.Handler())
	t.Cleanup(web.Close)
	client := teamsync.Client{URL: web.URL, Token: f.token(access.Token{})}
	for range 20 { // each has several spans, and the queue has room for four
		if _, err := client.Grep(t.Context(), recall.GrepRequest{Pattern: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.Stop(ctx) // returns, although the collector has not
}
