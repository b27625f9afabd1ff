package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lossless-context/lcm/internal/proxy"
)

// timings measures the pages of a server: each does one operation of the record.
type timings struct {
	mu  sync.Mutex
	ops map[string]*timing
}

// timing is the measurement of one operation.
type timing struct {
	count   int
	recent  []time.Duration // the last ones, in a ring
	slowest time.Duration
	path    string // of the slowest
}

// keptTimings is how many durations the percentiles are of.
const keptTimings = 500

func (t *timings) add(name, path string, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ops == nil {
		t.ops = map[string]*timing{}
	}
	op := t.ops[name]
	if op == nil {
		op = &timing{}
		t.ops[name] = op
	}
	op.add(path, took)
}

func (op *timing) add(path string, took time.Duration) {
	if len(op.recent) < keptTimings {
		op.recent = append(op.recent, took)
	} else {
		op.recent[op.count%keptTimings] = took
	}
	op.count++
	if took > op.slowest {
		op.slowest, op.path = took, path
	}
}

// Operation is the time that an operation takes.
type Operation struct {
	Name    string        `json:"name"`
	Count   int           `json:"count"`
	Median  time.Duration `json:"medianNs"`
	High    time.Duration `json:"p95Ns"`
	Slowest time.Duration `json:"slowestNs"`
	Path    string        `json:"path,omitempty"` // of the slowest
}

func (op *timing) operation(name string) Operation {
	sorted := slices.Sorted(slices.Values(op.recent))
	at := func(share float64) time.Duration { return sorted[int(math.Ceil(share*float64(len(sorted))))-1] }
	return Operation{Name: name, Count: op.count, Median: at(0.5), High: at(0.95), Slowest: op.slowest, Path: op.path}
}

// operationsData lists operations, the slowest first.
type operationsData struct {
	Operations []Operation `json:"operations"`
}

func (operationsData) title() string { return "Slowest operations" }

// operationNames name the operations that are listed, by page.
var operationNames = map[string]string{
	"home": "list sessions", "activity": "count messages by day", "session": "read messages", "map": "draw the map of summaries", "context": "replay a context",
	"message": "read one message", "summary": "read a summary", "file": "read a file", "search": "search", "tools": "count matches by tool", "ask": "find passages",
	"health": "read spend and runs", "space": "measure tables", "forget": "find messages to erase", "sent": "read proxied requests",
	"verify": "verify and look for problems", "form forget": "erase", "form ask": "answer by the model",
}

// operationsPage lists the operations of this server since it started, and the time
// that lcm added to the requests of agents behind it.
func (h *health) operationsPage(r *http.Request) (d operationsData, err error) {
	d.Operations = []Operation{}
	h.timings.mu.Lock()
	for _, name := range slices.Sorted(maps.Keys(h.timings.ops)) {
		if label := operationNames[name]; label != "" {
			d.Operations = append(d.Operations, h.timings.ops[name].operation(label))
		}
	}
	h.timings.mu.Unlock()
	proxied, err := h.proxiedTimes(r.Context())
	if err != nil {
		return d, err
	}
	if proxied.count > 0 {
		d.Operations = append(d.Operations, proxied.operation("change a request of an agent (lcm run)"))
	}
	slices.SortStableFunc(d.Operations, func(a, b Operation) int { return cmp.Compare(b.Slowest, a.Slowest) })
	return d, nil
}

// proxiedTimes measures the last requests of the sessions of the last runs.
func (h *health) proxiedTimes(ctx context.Context) (*timing, error) {
	times := &timing{}
	runs, err := proxy.Runs(ctx, h.record)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, run := range runs[:min(len(runs), 20)] {
		for _, key := range run.Sessions {
			if seen[key] {
				continue
			}
			seen[key] = true
			requests, err := h.requests(ctx, key)
			if err != nil {
				return nil, err
			}
			for _, m := range requests {
				times.add("", m.Latency)
			}
		}
	}
	return times, nil
}

// duration writes a time for people.
func duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%.2f ms", float64(d)/1e6)
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/1e6)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// timed measures an operation and its page.
func timed[T any](s *Server, name string, load func(*http.Request) (T, error)) func(*http.Request) (T, error) {
	return func(r *http.Request) (T, error) {
		begin := time.Now()
		data, err := load(r)
		if errors.As(err, new(elsewhere)) || err == nil {
			s.timings.add(name, strings.TrimSuffix(with(r), "?"), time.Since(begin))
		}
		return data, err
	}
}
