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
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strconv"
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
	gzip     bool
	timeout  time.Duration
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
	e := &exporter{endpoint: u.String(), header: http.Header{}, timeout: 10 * time.Second, log: log}
	if text, from := get("TIMEOUT"); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms <= 0 {
			return nil, hint.New("write milliseconds, like 10000", "%s is %q", from, text)
		}
		e.timeout = time.Duration(ms) * time.Millisecond
	}
	switch kind, from := get("COMPRESSION"); kind {
	case "gzip":
		e.gzip = true
	case "", "none":
	default:
		return nil, hint.New("use gzip or none", "%s is %q", from, kind)
	}
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
	config, err := tlsConfig(get)
	if err != nil {
		return nil, err
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = config
	e.client = &http.Client{
		Transport: t,
		// The headers are for this collector alone, and a redirected POST may become a GET.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return e, nil
}

// tlsConfig reads the certificates that the environment names.
func tlsConfig(get func(string) (string, string)) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if path, from := get("CERTIFICATE"); path != "" {
		pem, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, hint.New("it is a file in PEM", "%s names a file without a certificate", from)
		}
	}
	cert, _ := get("CLIENT_CERTIFICATE")
	key, _ := get("CLIENT_KEY")
	if cmp.Or(cert, key) != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and _CLIENT_KEY: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// errTemporary is the kind of failures after which a batch is sent again.
var errTemporary = errors.New("the collector did not take the spans")
