package teamserver

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/lossless-context/lcm/internal/kit/tracing"
)

// metrics counts in the text format of Prometheus: lines of a name, labels and a number.
type metrics struct {
	underWay atomic.Int64 // requests, without streams

	mu       sync.Mutex
	counters map[string]float64 // by name and labels
}

// help describes the metrics, in the order in which they are shown.
var help = []struct{ name, kind, text string }{
	{"lcm_requests_total", "counter", "Requests by route and status code."},
	{"lcm_request_seconds", "summary", "How long requests took, by route."},
	{"lcm_requests_under_way", "gauge", "Requests that are being answered, without streams."},
	{"lcm_messages_appended_total", "counter", "Messages that clients pushed and that were new."},
	{"lcm_messages_erased_total", "counter", "Messages that clients erased."},
	{"lcm_folds_total", "counter", "Summaries made in the background."},
	{"lcm_fold_runs_total", "counter", "Runs of folding, by result; lease_held_elsewhere is a run that another server did."},
}

func newMetrics() *metrics {
	return &metrics{counters: map[string]float64{"lcm_folds_total": 0, "lcm_messages_appended_total": 0, "lcm_messages_erased_total": 0}}
}

// labelled writes a name with labels, given as names and values in turn.
func labelled(name string, labels ...string) string {
	var pairs []string
	for i := 0; i+1 < len(labels); i += 2 {
		pairs = append(pairs, labels[i]+"="+strconv.Quote(labels[i+1]))
	}
	if pairs == nil {
		return name
	}
	return name + "{" + strings.Join(pairs, ",") + "}"
}

func (m *metrics) add(name string, n float64, labels ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counters[labelled(name, labels...)] += n
}

// observe adds a duration to a summary.
func (m *metrics) observe(name string, took time.Duration, labels ...string) {
	m.add(name+"_sum", took.Seconds(), labels...)
	m.add(name+"_count", 1, labels...)
}

// write writes all metrics.
func (m *metrics) write(w io.Writer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range help {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", h.name, h.text, h.name, h.kind)
		if h.kind == "gauge" {
			fmt.Fprintf(w, "%s %d\n", h.name, m.underWay.Load())
		}
		for _, key := range slices.Sorted(maps.Keys(m.counters)) {
			name, _, _ := strings.Cut(key, "{")
			if name == h.name || h.kind == "summary" && (name == h.name+"_sum" || name == h.name+"_count") {
				fmt.Fprintf(w, "%s %g\n", key, m.counters[key])
			}
		}
	}
}

// showMetrics serves the metrics to those with a token: behind a proxy everybody comes from this machine.
func (s *Server) showMetrics(w http.ResponseWriter, r *http.Request) {
	if _, err := s.check(r); err != nil {
		refuse(w, http.StatusUnauthorized, "metrics need a token", "")
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	s.metrics.write(w)
}

// measured counts the requests of a route, and makes a span of each.
func (s *Server) measured(route string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		s.metrics.underWay.Add(1)
		defer s.metrics.underWay.Add(-1)
		seen := &statusWriter{ResponseWriter: w, code: http.StatusOK}
		ctx, span := tracing.StartRemote(r.Context(), s.config.Tracer, r.Header, tracing.KnownMethod(r.Method)+" "+route, trace.SpanKindServer)
		defer func() {
			span.HTTP(r.Method, route, seen.code)
			span.End(nil)
		}()
		r = r.WithContext(ctx)
		tracing.Inject(ctx, r.Header) // for the calls of MCP
		next.ServeHTTP(seen, r)
		s.metrics.add("lcm_requests_total", 1, "route", route, "code", strconv.Itoa(seen.code))
		s.metrics.observe("lcm_request_seconds", time.Since(begun), "route", route)
	})
}

// statusWriter remembers the status code.
type statusWriter struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements [http.ResponseWriter].
func (w *statusWriter) WriteHeader(code int) {
	w.code = code
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap lets [http.ResponseController] flush the answers of MCP.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements [http.Flusher], which the MCP library asks for.
func (w *statusWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }
