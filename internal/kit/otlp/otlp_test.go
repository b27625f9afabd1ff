package otlp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/lossless-context/lcm/internal/kit/hint"
)

func TestEnvironment(t *testing.T) {
	const one = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for _, c := range []struct {
		name     string
		env      map[string]string
		endpoint string // empty: no exporter
		problem  string // part of the error
	}{
		{name: "nothing is set"},
		{name: "an endpoint", env: map[string]string{one: "http://c:4318"}, endpoint: "http://c:4318/v1/traces"},
		{name: "an endpoint with a path", env: map[string]string{one: "http://c/otel/"}, endpoint: "http://c/otel/v1/traces"},
		{name: "an endpoint of traces", env: map[string]string{one: "http://other", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://c/x"}, endpoint: "https://c/x"},
		{name: "disabled", env: map[string]string{one: "http://c", "OTEL_SDK_DISABLED": "True"}},
		{name: "no exporter", env: map[string]string{one: "http://c", "OTEL_TRACES_EXPORTER": "none"}},
		{name: "another exporter", env: map[string]string{one: "http://c", "OTEL_TRACES_EXPORTER": "zipkin"}, problem: "zipkin"},
		{name: "not a URL", env: map[string]string{one: "collector:4318"}, problem: one},
		{name: "another protocol", env: map[string]string{one: "http://c", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, problem: "grpc"},
		{name: "its own protocol", env: map[string]string{one: "http://c", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"}, endpoint: "http://c/v1/traces"},
		{name: "wrong headers", env: map[string]string{one: "http://c", "OTEL_EXPORTER_OTLP_HEADERS": "secret"}, problem: "OTEL_EXPORTER_OTLP_HEADERS"},
	} {
		e, err := newExporter(func(name string) string { return c.env[name] }, slog.New(slog.DiscardHandler))
		switch {
		case c.problem != "":
			if err == nil || !strings.Contains(err.Error(), c.problem) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v", c.name, err)
			}
		case err != nil || (e == nil) != (c.endpoint == "") || e != nil && e.endpoint != c.endpoint:
			t.Errorf("%s: %+v, %v", c.name, e, err)
		}
	}
	var advice *hint.Error
	if _, err := newExporter(func(name string) string { return map[string]string{one: "x"}[name] }, nil); !errors.As(err, &advice) {
		t.Errorf("no hint: %v", err)
	}
}

// The bytes are those of the official protocol.
func TestEncoding(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(spans))
	remote := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled, Remote: true})
	ctx, parent := provider.Tracer("scope").Start(trace.ContextWithSpanContext(t.Context(), remote), "parent", trace.WithSpanKind(trace.SpanKindServer))
	_, child := provider.Tracer("scope").Start(ctx, "child")
	child.SetAttributes(attribute.Int("n", -3), attribute.String("s", "ü"), attribute.Bool("b", true), attribute.Float64("f", 1.5), attribute.StringSlice("l", []string{"a", "b"}))
	child.SetStatus(codes.Error, "why")
	child.End()
	parent.End()
	var data tracepb.TracesData
	if err := (proto.UnmarshalOptions{}).Unmarshal(encode(spans.Ended()), &data); err != nil {
		t.Fatal(err)
	}
	if len(data.ProtoReflect().GetUnknown()) > 0 || len(data.ResourceSpans) != 1 || len(data.ResourceSpans[0].ScopeSpans) != 1 {
		t.Fatalf("%v", &data)
	}
	scoped := data.ResourceSpans[0].ScopeSpans[0]
	if len(scoped.Spans) != 2 || scoped.Scope.Name != "scope" || len(data.ResourceSpans[0].Resource.Attributes) == 0 {
		t.Fatalf("%v", &data)
	}
	c, p := scoped.Spans[0], scoped.Spans[1]
	if p.Name != "parent" || p.Kind != tracepb.Span_SPAN_KIND_SERVER || string(p.ParentSpanId) != "\x02\x00\x00\x00\x00\x00\x00\x00" || p.TraceId[0] != 1 || p.Flags != 0x301 {
		t.Errorf("%v", p)
	}
	if c.Name != "child" || c.Kind != tracepb.Span_SPAN_KIND_INTERNAL || string(c.ParentSpanId) != string(p.SpanId) || c.Flags != 0x101 ||
		c.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR || c.Status.GetMessage() != "why" || p.Status != nil {
		t.Errorf("%v", c)
	}
	if c.StartTimeUnixNano == 0 || c.EndTimeUnixNano < c.StartTimeUnixNano || p.StartTimeUnixNano > c.StartTimeUnixNano {
		t.Errorf("times: %v and %v", p, c)
	}
	got := map[string]string{}
	for _, kv := range c.Attributes {
		got[kv.Key] = strings.ReplaceAll(kv.Value.String(), " ", "")
	}
	if got["n"] != "int_value:-3" || got["s"] != `string_value:"ü"` || got["b"] != "bool_value:true" || got["f"] != `string_value:"1.5"` || got["l"] != `array_value:{values:{string_value:"a"}values:{string_value:"b"}}` {
		t.Errorf("%v", got)
	}
}

// roundTrip answers requests in place of a collector.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The first failure is logged, and the first success after it.
func TestFailuresAreLoggedOnce(t *testing.T) {
	codes := []int{200, 503, 400, 200, 200}
	var log strings.Builder
	e, err := newExporter(func(name string) string {
		return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b"}[name]
	}, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	e.client.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		code := codes[0]
		codes = codes[1:]
		if r.Header.Get("x-key") != "a b" {
			t.Errorf("headers %v", r.Header)
		}
		return &http.Response{StatusCode: code, Status: strconv.Itoa(code), Body: http.NoBody}, nil
	})
	for len(codes) > 0 {
		if err := e.ExportSpans(t.Context(), tracetest.SpanStubs{{Name: "x"}}.Snapshots()); err != nil {
			t.Error(err)
		}
	}
	if got := log.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "503") || !strings.Contains(got, "sent again") {
		t.Errorf("logged %q", got)
	}
}

// A redirect is a refusal: the headers of the collector go to no other host.
func TestRedirectsAreNotFollowed(t *testing.T) {
	var followed atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Store(true) }))
	t.Cleanup(other.Close)
	for _, code := range []int{http.StatusFound, http.StatusTemporaryRedirect} {
		collector := httptest.NewServer(http.RedirectHandler(other.URL, code))
		t.Cleanup(collector.Close)
		var log strings.Builder
		e, err := newExporter(func(name string) string {
			return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL, "OTEL_EXPORTER_OTLP_HEADERS": "x-key=secret"}[name]
		}, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		if err := e.ExportSpans(t.Context(), tracetest.SpanStubs{{Name: "x"}}.Snapshots()); err != nil {
			t.Error(err)
		}
		if followed.Swap(false) || !strings.Contains(log.String(), fmt.Sprintf("the collector refused the spans: %d", code)) {
			t.Errorf("%d was followed, or not logged: %q", code, log.String())
		}
	}
}

func TestStart(t *testing.T) {
	var batches atomic.Int32
	var name atomic.Value
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var data tracepb.TracesData
		if err = errors.Join(err, proto.Unmarshal(body, &data)); err != nil {
			t.Error(err)
			return
		}
		for _, kv := range data.ResourceSpans[0].Resource.Attributes {
			if kv.Key == "service.name" {
				name.Store(kv.Value.GetStringValue())
			}
		}
		batches.Add(1)
	}))
	t.Cleanup(collector.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_SERVICE_NAME", "memory")
	for sampler, want := range map[string]int32{"always_on": 1, "always_off": 0} {
		t.Setenv("OTEL_TRACES_SAMPLER", sampler)
		batches.Store(0)
		p, err := Start(t.Context(), "1.2", slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		_, span := p.Tracer("x").Start(context.WithoutCancel(t.Context()), "span")
		span.End()
		p.Stop(t.Context())
		if batches.Load() != want {
			t.Errorf("%s: %d batches", sampler, batches.Load())
		}
	}
	if name.Load() != "memory" {
		t.Errorf("the service is called %v", name.Load())
	}
}
