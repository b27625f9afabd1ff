package tracing_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"go.opentelemetry.io/otel"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/lossless-context/lcm/internal/kit/tracing"
)

// names lists recorded spans with their attributes.
func names(r *tracetest.SpanRecorder) (all []string) {
	for _, s := range r.Ended() {
		text := s.Name()
		for _, kv := range s.Attributes() {
			text += fmt.Sprintf(" %s=%s", kv.Key, kv.Value.String())
		}
		all = append(all, text)
	}
	return all
}

// A span belongs to the provider of its context, else to the global one, which a program
// that embeds lcm may set at any time.
func TestProviders(t *testing.T) {
	_, before := tracing.Start(t.Context(), "before")
	before.Int("n", 1)
	before.End(errors.New("x"))
	local, global := tracetest.NewSpanRecorder(), tracetest.NewSpanRecorder()
	otel.SetTracerProvider(sdk.NewTracerProvider(sdk.WithSpanProcessor(global)))
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(local))
	ctx, request := tracing.StartRemote(t.Context(), provider, nil, "request", trace.SpanKindServer)
	_, below := tracing.Start(ctx, "below")
	below.Int("rows", 3)
	below.End(fmt.Errorf("secret: %w", context.Canceled))
	request.HTTP("SECRET", "/x", http.StatusOK)
	request.End(nil)
	_, alone := tracing.Start(t.Context(), "alone")
	alone.End(errors.New("secret"))
	if got, want := fmt.Sprintf("%q", names(local)), `["below lcm.rows=3 error.type=canceled" "request http.request.method=_OTHER http.route=/x http.response.status_code=200"]`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := fmt.Sprintf("%q", names(global)), `["alone error.type=_OTHER"]`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if d := local.Ended()[0].Status().Description; d != "" {
		t.Errorf("the status says %q", d)
	}
}

func BenchmarkWithoutProvider(b *testing.B) {
	for b.Loop() {
		_, span := tracing.Start(b.Context(), "x")
		span.Int("n", 1)
		span.End(nil)
	}
}
