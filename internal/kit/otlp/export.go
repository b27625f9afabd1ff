package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"
)

// pauses are the times between attempts to send a batch.
var pauses = []time.Duration{time.Second, 3 * time.Second}

// ExportSpans implements [trace.SpanExporter]. The SDK calls it from one goroutine. It
// logs the first failure and the first success after failures: a collector that is away
// must not fill the log.
func (e *exporter) ExportSpans(ctx context.Context, spans []trace.ReadOnlySpan) error {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	body, err := e.pack(encode(spans))
	if err == nil {
		err = e.send(ctx, body)
	}
	for _, pause := range pauses {
		if !errors.Is(err, errTemporary) {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
			err = e.send(ctx, body)
		}
	}
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

func (e *exporter) pack(body []byte) ([]byte, error) {
	if !e.gzip {
		return body, nil
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write(body)
	err = errors.Join(err, z.Close())
	return packed.Bytes(), err
}

func (e *exporter) send(ctx context.Context, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header = e.header.Clone()
	r.Header.Set("Content-Type", "application/x-protobuf")
	if e.gzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	answer, err := e.client.Do(r)
	if err != nil {
		return fmt.Errorf("%w: %w", errTemporary, err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20)) // so that the connection is used again
	switch answer.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return fmt.Errorf("%w: %s", errTemporary, answer.Status)
	}
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("the collector refused the spans: %s", answer.Status)
	}
	return nil
}
