// Package otlp sends OpenTelemetry traces to a collector, with OTLP over HTTP.
//
// [Start] reads the standard environment variables and starts the official SDK, which
// samples spans and exports them in batches. Only the exporter is this package's own: the
// official one links gRPC and makes the program 25 MB larger.
//
// Nothing waits for a collector. A span goes into a queue of the SDK; if the queue is full
// because the collector is away, the span is dropped.
package otlp

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/lossless-context/lcm/internal/kit/hint"
)

// Provider makes spans and sends them to a collector.
type Provider struct{ *trace.TracerProvider }

// Start starts the provider that the environment asks for. It returns nil if the
// environment names no collector (OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or
// OTEL_EXPORTER_OTLP_ENDPOINT), or turns traces off (OTEL_SDK_DISABLED=true,
// OTEL_TRACES_EXPORTER=none).
func Start(ctx context.Context, version string, log *slog.Logger) (*Provider, error) {
	e, err := newExporter(os.Getenv, log)
	if e == nil || err != nil {
		return nil, err
	}
	host, _ := os.Hostname() // it is empty where it fails
	r, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "lcm"), attribute.String("service.version", version),
		attribute.String("service.instance.id", fmt.Sprintf("%s/%d", host, os.Getpid()))), resource.WithFromEnv())
	if err != nil {
		return nil, hint.New("write it as key=value,key=value", "OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return &Provider{trace.NewTracerProvider(trace.WithResource(r), trace.WithBatcher(e))}, nil
}

// Stop sends the spans that wait, and gives up when ctx ends.
func (p *Provider) Stop(ctx context.Context) {
	// The exporter has logged its errors, and spans that cannot be sent are lost.
	_ = p.Shutdown(ctx)
}

// exporter sends spans to the endpoint of a collector.
type exporter struct {
	endpoint string
	header   http.Header
	client   *http.Client
	log      *slog.Logger
	failing  bool // the last batch was not accepted
}

// newExporter returns an exporter, or nil if the environment asks for none.
func newExporter(getenv func(string) string, log *slog.Logger) (*exporter, error) {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	// A variable for traces comes before the one for all signals.
	get := func(name string) (value, from string) {
		for _, from := range []string{"OTEL_EXPORTER_OTLP_TRACES_" + name, "OTEL_EXPORTER_OTLP_" + name} {
			if value := strings.TrimSpace(getenv(from)); value != "" {
				return value, from
			}
		}
		return "", ""
	}
	endpoint, from := get("ENDPOINT")
	if endpoint == "" {
		return nil, nil
	}
	switch kind := getenv("OTEL_TRACES_EXPORTER"); kind {
	case "none":
		return nil, nil
	case "", "otlp":
	default:
		return nil, hint.New("use otlp, or none", "OTEL_TRACES_EXPORTER is %q", kind)
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, hint.New("write it as http://collector:4318", "%s is not a URL", from)
	}
	if from == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		u = u.JoinPath("v1/traces")
	}
	if protocol, from := get("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return nil, hint.New("use http/protobuf, at port 4318 of most collectors", "%s is %q", from, protocol)
	}
	e := &exporter{endpoint: u.String(), header: http.Header{"Content-Type": {"application/x-protobuf"}}, log: log, client: &http.Client{
		// The headers are for this collector alone, and a redirected POST may become a GET.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       10 * time.Second,
	}}
	if headers, from := get("HEADERS"); headers != "" {
		for pair := range strings.SplitSeq(headers, ",") {
			key, value, ok := strings.Cut(pair, "=")
			value, err := url.PathUnescape(strings.TrimSpace(value))
			if key = strings.TrimSpace(key); !ok || err != nil || key == "" {
				return nil, hint.New("write key=value,key=value with escapes as in URLs", "%s cannot be read", from)
			}
			e.header.Add(key, value)
		}
	}
	return e, nil
}
