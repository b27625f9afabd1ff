package otlp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"go.opentelemetry.io/otel/sdk/trace"
)

// ExportSpans implements [trace.SpanExporter]. The SDK calls it from one goroutine. It
// logs the first failure and the first success after failures: a collector that is away
// must not fill the log.
func (e *exporter) ExportSpans(ctx context.Context, spans []trace.ReadOnlySpan) error {
	err := e.send(ctx, encode(spans))
	switch {
	case err != nil && !e.failing:
		e.log.Warn("traces cannot be sent; spans are dropped until the collector answers", "error", err)
	case err == nil && e.failing:
		e.log.Info("traces are sent again")
	}
	e.failing = err != nil
	return nil
}

// Shutdown implements [trace.SpanExporter].
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

func (e *exporter) send(ctx context.Context, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header = e.header.Clone()
	answer, err := e.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20)) // so that the connection is used again
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("the collector refused the spans: %s", answer.Status)
	}
	return nil
}
