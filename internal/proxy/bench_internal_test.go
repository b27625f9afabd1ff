//go:build unix

package proxy

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/claude"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
)

// BenchmarkRequest is the processor time of a request as it is served, and of the work in
// the background that follows it. Each request has one step more than the one before.
func BenchmarkRequest(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { benchRequest(b, n) })
	}
}

func benchRequest(b *testing.B, messages int) {
	h := newBenchHost(b, messages)
	for i := 0; h.server.Result().Changed < 5; i++ { // the session is read and folded
		if h.send(h.next()); i > 200 {
			b.Fatalf("nothing was folded: %+v", h.server.Result())
		}
		h.idle()
	}
	var path, after time.Duration
	for b.Loop() {
		body := h.next()
		began := processorTime()
		h.send(body)
		sent := processorTime()
		h.idle()
		path, after = path+sent-began, after+processorTime()-sent
	}
	b.ReportMetric(float64(path.Microseconds())/1000/float64(b.N), "path-cpu-ms/op")
	b.ReportMetric(float64((path+after).Microseconds())/1000/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(h.body.Len())/1e6, "MB")
}

// processorTime is what the process has used so far.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// benchHost is an agent program with a long session, and the proxy before its model.
type benchHost struct {
	server *Server
	file   *os.File
	body   bytes.Buffer // of the next request, without its end

	steps, records int
	last           string // the uuid of the last record
}

// benchModel answers at once. It counts four bytes as a token.
type benchModel struct{}

func (benchModel) RoundTrip(r *http.Request) (*http.Response, error) {
	n, err := io.Copy(io.Discard, r.Body)
	answer := fmt.Sprintf(`{"usage":{"input_tokens":%d,"output_tokens":1}}`, n/4)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(answer)), Request: r}, err
}

const benchSession = "11111111-2222-4333-8444-555555555555"

func newBenchHost(b *testing.B, messages int) *benchHost {
	dir := b.TempDir()
	db, err := sqlite.Open(b.Context(), filepath.Join(dir, "lcm.db"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	log := slog.New(slog.DiscardHandler)
	engine, err := lcm.New(db, append(EngineOptions(), lcm.WithoutBackground(), lcm.WithLogger(log))...)
	if err != nil {
		b.Fatal(err)
	}
	feed, err := hosts.New(engine, []hosts.Host{claude.Host{}}, hosts.Machine{Home: dir, Getenv: func(string) string { return "" }}, hosts.Options{Log: log})
	if err != nil {
		b.Fatal(err)
	}
	h := &benchHost{}
	h.server, err = New(b.Context(), Config{
		Engine: engine, Feed: feed, Log: log, Routes: map[string]*url.URL{"anthropic": {Scheme: "http", Host: "model"}},
		Budget: func(string, int, store.Project) int { return 60_000 }, Run: Run{ID: "run_bench", Host: "claude"},
	})
	if err != nil {
		b.Fatal(err)
	}
	h.server.transport, h.server.addr, h.server.patience = benchModel{}, "127.0.0.1:80", time.Minute
	b.Cleanup(func() { h.server.Close(b.Context()) })
	transcripts := filepath.Join(dir, ".claude", "projects", "p")
	if err := os.MkdirAll(transcripts, 0o700); err != nil {
		b.Fatal(err)
	}
	if h.file, err = os.Create(filepath.Join(transcripts, benchSession+".jsonl")); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { h.file.Close() })
	h.body.WriteString(`{"model":"claude-bench","max_tokens":1,"stream":true,"messages":[`)
	h.write("user", `{"role":"user","content":[{"type":"text","text":"Read the logs."}]}`)
	for h.steps*2 < messages {
		h.step()
	}
	return h
}

// write adds a record to the transcript and a message to the request.
func (h *benchHost) write(kind, message string) {
	parent := "null"
	if h.last != "" {
		parent = `"` + h.last + `"`
		h.body.WriteByte(',')
	}
	h.records++
	h.last = fmt.Sprintf("00000000-0000-4000-8000-%012d", h.records)
	fmt.Fprintf(h.file, `{"type":"%s","uuid":"%s","parentUuid":%s,"sessionId":"%s","cwd":"/w","timestamp":"2026-01-01T00:00:00Z","message":%s}`+"\n", kind, h.last, parent, benchSession, message)
	h.body.WriteString(message)
}

// step is an answer with a call, and a result: most are short, some are pasted logs.
func (h *benchHost) step() {
	h.steps++
	lines := []int{3, 8, 20, 120}[h.steps%4]
	said := strings.Repeat(fmt.Sprintf("I look at part %d of the log, since the test of \\\"module %d\\\" failed. ", h.steps, h.steps%7), 4)
	output := strings.Repeat(fmt.Sprintf(`\t{\"at\": %d, \"level\": \"info\", \"path\": \"internal/x/%d.go\"}\n`, h.steps, h.steps), lines)
	h.write("assistant", fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":"%s"},{"type":"tool_use","id":"toolu_%d","name":"Bash","input":{"command":"cat log/%d.txt"}}]}`, said, h.steps, h.steps))
	h.write("user", fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"%s"}]}`, h.steps, output))
}

// next returns the next request.
func (h *benchHost) next() []byte {
	h.step()
	return append(bytes.Clone(h.body.Bytes()), `]}`...)
}

func (h *benchHost) send(body []byte) {
	r := httptest.NewRequest(http.MethodPost, h.server.URL("anthropic")+"/v1/messages", bytes.NewReader(body))
	r.Header.Set("X-Claude-Code-Session-Id", benchSession)
	h.server.ServeHTTP(httptest.NewRecorder(), r)
}

// idle waits for the work in the background.
func (h *benchHost) idle() {
	for _, s := range h.server.all() {
		for busy := true; busy; {
			time.Sleep(time.Millisecond)
			s.mu.Lock()
			busy = s.working || len(s.kicked) > 0
			s.mu.Unlock()
		}
	}
}
