package proxy_test

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lossless-context/lcm/internal/proxy"
	"github.com/lossless-context/lcm/internal/record/store"
)

// TestBudgetOfProject: the budget is asked for with the project of the session, which
// the transcript names.
func TestBudgetOfProject(t *testing.T) {
	var root atomic.Value
	root.Store("")
	b := newBed(t, func(c *proxy.Config) {
		c.Budget = func(_ string, _ int, of store.Project) int {
			root.Store(of.Root)
			return 40_000
		}
	})
	b.prompt("Read the logs.")
	for i := range 100 {
		b.step(i)
		b.flush()
		b.send(b.body())
		if got := root.Load(); got == b.dir {
			return
		}
	}
	t.Errorf("the project is %q, want %q", root.Load(), b.dir)
}

// TestCalibrationIsKept: the next run counts the tokens of a model's requests as its
// API did in this run.
func TestCalibrationIsKept(t *testing.T) {
	var config proxy.Config
	b := newBed(t, func(c *proxy.Config) { config = *c })
	b.play(3)
	if err := b.server.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	config.Run.ID = "run_next"
	next, err := proxy.New(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	l, err := next.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = next.Serve(t.Context(), l) }()
	b.server = next
	body := b.body()
	b.send(body)
	if err := next.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	made, err := proxy.Requests(t.Context(), b.db, "claude:"+sessionID)
	if err != nil {
		t.Fatal(err)
	}
	// The model of the test counts four bytes for a token; the first estimate of a
	// model is higher.
	if got, want := made[len(made)-1].FullTokens, len(body)/4; got < want-2 || got > want+2 {
		t.Errorf("%d tokens, want %d", got, want)
	}
}

// TestObserveKeepsAnswers: in observe mode the answers of the Responses API keep their
// headers. Otherwise Codex is told not to add an estimate of the reasoning.
func TestObserveKeepsAnswers(t *testing.T) {
	for _, observe := range []bool{true, false} {
		b := newBed(t, func(c *proxy.Config) { c.Observe = observe })
		b.play(60)
		// The same history in the form of Responses.
		var input strings.Builder
		input.WriteString(`{"model":"claude-test","input":[{"role":"user","content":"Read the logs. The code is TANGERINE."}`)
		for i := range 60 {
			id := strconv.Itoa(i)
			input.WriteString(`,{"type":"function_call","call_id":"toolu_` + id + `"},{"type":"function_call_output","call_id":"toolu_` + id + `","output":"` + strings.Repeat("x", 4000) + `"}`)
		}
		input.WriteString(`]}`)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.server.URL("anthropic")+"/v1/responses", strings.NewReader(input.String()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Claude-Code-Session-Id", sessionID)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		changed := bytes.Contains(b.got(), []byte("<lcm-context>"))
		if told := resp.Header.Get("X-Reasoning-Included") != ""; told == observe || changed == observe {
			t.Errorf("observe %v: the request is changed: %v, the answer: %v", observe, changed, told)
		}
	}
}
