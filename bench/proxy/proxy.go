// Package proxy measures the time that `lcm run` adds to a request of a host. It plays a
// session of Claude Code, with a transcript that grows, against a model on loopback that
// answers at once. Each request is sent through the proxy and directly, in turn.
package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/bench/harness"
	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/claude"
	lcmproxy "github.com/lossless-context/lcm/internal/proxy"
	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Options adjust a run.
type Options struct {
	Requests int // of each size
	Dir      string
	Progress harness.Progress
}

// size is one measurement: messages in the record, and how many of them are in the
// request.
type size struct {
	name           string
	stored, inside int
	target         float64 // of the added milliseconds, median
}

var sizes = []size{
	{"1,000 in the request", 1_000, 1_000, 10},
	{"10,000 in the request", 10_000, 10_000, 40},
	{"100,000 behind a checkpoint", 100_000, 1_000, 10},
}

// memoryTarget is how much the process may hold at the largest size, in megabytes.
const memoryTarget = 150

// Result is the result for one size.
type Result struct {
	Name    string  `json:"name"`
	Bytes   int     `json:"bytes"` // of a request
	Sent    int     `json:"sent"`  // bytes of the last request that reached the model
	Direct  float64 `json:"directP50"`
	P50     float64 `json:"p50"`
	P95     float64 `json:"p95"`
	Added   float64 `json:"added"` // median, against direct
	Memory  float64 `json:"memoryMB"`
	Changed int     `json:"changed"` // requests with summaries
}

// Report is the result of a run.
type Report struct {
	Requests int             `json:"requests"`
	Results  []Result        `json:"results"`
	Checks   []harness.Check `json:"checks"`
}

// Text is the report for people.
func (r Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d requests of each size, through the proxy and directly, in turn\n\n", r.Requests)
	fmt.Fprintf(&b, "%-28s %9s %9s %8s %8s %8s %8s %9s\n", "messages", "request", "sent", "direct", "p50", "p95", "added", "memory")
	for _, s := range r.Results {
		fmt.Fprintf(&b, "%-28s %6.2f MB %6.2f MB %5.1f ms %5.1f ms %5.1f ms %5.1f ms %6.0f MB\n",
			s.Name, float64(s.Bytes)/1e6, float64(s.Sent)/1e6, s.Direct, s.P50, s.P95, s.Added, s.Memory)
	}
	b.WriteByte('\n')
	harness.WriteChecks(&b, r.Checks, 52)
	return b.String()
}

// Measure plays the sessions.
func Measure(ctx context.Context, o Options) (Report, error) {
	r := Report{Requests: o.Requests}
	for _, s := range sizes {
		o.Progress.Say("%s", s.name)
		one, err := measure(ctx, o, s)
		if err != nil {
			return r, fmt.Errorf("%s: %w", s.name, err)
		}
		r.Results = append(r.Results, one)
		r.Checks = append(r.Checks, harness.AtMost("ms added, median, "+s.name, one.Added, s.target))
		if s.stored == 100_000 {
			r.Checks = append(r.Checks, harness.AtMost("MB of memory, "+s.name, one.Memory, memoryTarget))
		}
	}
	return r, nil
}

// budget is that of a request, in tokens: less than the smallest request has.
const budget = 60_000

const session = "11111111-2222-4333-8444-555555555555"

// bench is the measurement of one size.
type bench struct {
	size
	home     string
	last     string // uuid of the last record
	records  int
	file     *os.File
	messages []json.RawMessage // of the request
	sent     int               // bytes that reached the model
}

func measure(ctx context.Context, o Options, s size) (res Result, err error) {
	record, err := harness.Temp(ctx, o.Dir, sqlite.Options{Relaxed: true}, append(lcmproxy.EngineOptions(), lcm.WithoutBackground())...)
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, record.Close(ctx)) }()
	b := &bench{size: s, home: filepath.Dir(record.Path)}
	if err := b.open(); err != nil {
		return res, err
	}
	defer b.file.Close()
	log := slog.New(slog.DiscardHandler)
	feed, err := hosts.New(record.Engine, []hosts.Host{claude.Host{}}, hosts.Machine{Home: b.home, Getenv: func(string) string { return "" }}, hosts.Options{Log: log})
	if err != nil {
		return res, err
	}
	if err := b.fill(ctx, feed, record); err != nil {
		return res, err
	}
	model := httptest.NewServer(http.HandlerFunc(b.answer))
	defer model.Close()
	upstream, err := url.Parse(model.URL)
	if err != nil {
		return res, err
	}
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	server, err := lcmproxy.New(running, lcmproxy.Config{
		Engine: record.Engine, Feed: feed, Log: log, Routes: map[string]*url.URL{"anthropic": upstream},
		Budget: func(string, int, store.Project) int { return budget }, Run: lcmproxy.Run{ID: "run_bench", Host: "bench"},
	})
	if err != nil {
		return res, err
	}
	l, err := server.Listen("127.0.0.1:0")
	if err != nil {
		return res, err
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(running, l) }()
	res, err = b.play(ctx, o, server, model.URL)
	cancel()
	return res, errors.Join(err, <-served, server.Close(ctx))
}

// open makes the transcript.
func (b *bench) open() (err error) {
	dir := filepath.Join(b.home, ".claude", "projects", "p")
	if err = os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	b.file, err = os.Create(filepath.Join(dir, session+".jsonl"))
	return err
}

// fill stores the messages before the first request: those behind the checkpoint and
// most of those in the request.
func (b *bench) fill(ctx context.Context, feed *hosts.Feed, record *harness.Record) error {
	catchUp := func() error {
		t, err := feed.Locate(ctx, claude.Name, "", session)
		if err == nil {
			_, err = feed.CatchUp(ctx, t, hosts.Limits{Wait: true})
		}
		return err
	}
	b.prompt("Read the logs.")
	if behind := b.stored - b.inside; behind > 0 {
		for b.records < behind {
			b.round()
		}
		if err := catchUp(); err != nil {
			return err
		}
		c, err := record.Engine.Session("claude:" + session).Conversation(ctx)
		if err != nil {
			return err
		}
		b.messages = nil
		b.prompt("What came before. " + apiform.CheckpointMark(c.Messages))
	}
	for len(b.messages) < b.inside {
		b.round()
	}
	if err := catchUp(); err != nil {
		return err
	}
	// The first fold of a long history is not measured.
	_, err := record.Engine.Session("claude:"+session).Compact(ctx, lcm.CompactOptions{Budget: budget})
	runtime.GC()
	debug.FreeOSMemory()
	return err
}

// write adds a record to the transcript and a message to the request.
func (b *bench) write(kind, message string) {
	parent := "null"
	if b.last != "" {
		parent = `"` + b.last + `"`
	}
	b.last = fmt.Sprintf("00000000-0000-4000-8000-%012d", b.records)
	b.records++
	fmt.Fprintf(b.file, `{"type":"%s","uuid":"%s","parentUuid":%s,"sessionId":"%s","cwd":"/w","timestamp":"2026-01-01T00:00:00Z","message":%s}`+"\n",
		kind, b.last, parent, session, message)
	b.messages = append(b.messages, json.RawMessage(message))
}

func (b *bench) prompt(text string) {
	b.write("user", fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":%q}]}`, text))
}

// round is a call and its result, together about 800 bytes, as in the sessions of
// people.
func (b *bench) round() {
	id := fmt.Sprintf("toolu_%d", b.records)
	b.write("assistant", fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":"I look at part %d."},{"type":"tool_use","id":"%s","name":"Bash","input":{"command":"cat log/%d.txt"}}]}`, b.records, id, b.records))
	output := strings.Repeat(fmt.Sprintf("line %d says \\\"ok\\\" ", b.records), 22)
	b.write("user", fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"%s","content":"%s"}]}`, id, output))
}

func (b *bench) body() []byte {
	var out bytes.Buffer
	out.WriteString(`{"model":"claude-bench","max_tokens":1,"stream":true,"messages":[`)
	for i, m := range b.messages {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(m)
	}
	out.WriteString(`]}`)
	return out.Bytes()
}

// answer is the model: it answers at once, and counts four bytes for a token.
func (b *bench) answer(w http.ResponseWriter, r *http.Request) {
	n, _ := io.Copy(io.Discard, r.Body)
	b.sent = int(n)
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":%d,\"output_tokens\":1}}}\n\n", n/4)
}

// maxWarm is how many requests may pass before one is changed.
const maxWarm = 600

// play sends the requests.
func (b *bench) play(ctx context.Context, o Options, server *lcmproxy.Server, model string) (Result, error) {
	through, direct := make([]time.Duration, 0, o.Requests), make([]time.Duration, 0, o.Requests)
	res := Result{Name: b.name}
	for warm := 0; len(through) < o.Requests; warm++ {
		o.Progress.Tell(int64(len(through)), int64(o.Requests), b.name)
		b.round()
		body := b.body()
		plain, err := post(ctx, model+"/v1/messages", body)
		if err != nil {
			return res, err
		}
		took, err := post(ctx, server.URL("anthropic")+"/v1/messages", body)
		if err != nil {
			return res, err
		}
		// The first requests wait until the session is read.
		if server.Result().Changed > 0 || warm > maxWarm {
			through, direct = append(through, took), append(direct, plain)
		}
		res.Bytes, res.Sent = len(body), b.sent
		time.Sleep(50 * time.Millisecond) // a model takes longer; the background work has its time
	}
	res.P50, res.P95, res.Direct = harness.Quantile(through, 0.5), harness.Quantile(through, 0.95), harness.Quantile(direct, 0.5)
	res.Added = res.P50 - res.Direct
	res.Memory = float64(harness.RSS()) / 1e6
	res.Changed = server.Result().Changed
	if res.Changed == 0 {
		return res, errors.New("no request was changed: the measurement says nothing")
	}
	return res, nil
}

// post sends a request and reads the answer to its end.
func post(ctx context.Context, to string, body []byte) (time.Duration, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("X-Claude-Code-Session-Id", session)
	began := time.Now()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	took := time.Since(began)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the answer is %s", resp.Status)
	}
	return took, err
}
