package proxy_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/proxy"
	"github.com/lossless-context/lcm/internal/record/sqlite"
)

// smallModel has a window of 64,000 tokens, above which the model of the test refuses.
const smallModel = 64_000

// newSmallBed is a bed with a small model and a feed that can be held.
func newSmallBed(t *testing.T) (*bed, *heldFeed, func(*proxy.Config)) {
	feed := &heldFeed{waiting: make(chan struct{}, 100)}
	change := func(c *proxy.Config) {
		feed.Feed, c.Feed, c.Windows = c.Feed, feed, map[string]int{"": smallModel}
	}
	b := newBed(t, change)
	b.window = smallModel
	return b, feed, change
}

// long writes a session above the window that lcm has not seen.
func (b *bed) long(steps int) {
	b.prompt("Read the logs.")
	for i := range steps {
		b.step(i)
	}
	b.flush()
}

// TestFoldedSessionIsResumed: a new process sends the summaries of a folded session before it has
// read the transcript, and while another process writes.
func TestFoldedSessionIsResumed(t *testing.T) {
	for name, harm := range map[string]func(*bed, *heldFeed) (release func()){
		"the transcript is not read": func(_ *bed, f *heldFeed) func() { return f.hold() },
		"another process writes": func(b *bed, _ *heldFeed) func() {
			c := b.exec("BEGIN IMMEDIATE")
			return func() { c.Close() }
		},
		"requests do not name their session": func(b *bed, f *heldFeed) func() {
			b.unnamed = true
			return f.hold()
		},
		"the run before was killed": func(b *bed, f *heldFeed) func() {
			b.exec("DELETE FROM state WHERE space = 'proxy-request'")
			return f.hold()
		},
		"the run before sent something else": func(b *bed, f *heldFeed) func() {
			b.serve(nil)
			b.send([]byte(`{"max_tokens":1,"messages":[{"role":"user","content":"A title?"}],"model":"claude-test","stream":true}`))
			if err := b.server.Close(b.t.Context()); err != nil {
				b.t.Fatal(err)
			}
			made, err := proxy.Requests(b.t.Context(), b.db, "claude:"+sessionID)
			if err != nil || len(made) != 100 || len(made[98].Summaries) == 0 || len(made[99].Summaries) > 0 {
				b.t.Errorf("%d requests are kept: %v", len(made), err)
			}
			return f.hold()
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, feed, change := newSmallBed(t)
			b.play(100)
			if err := b.server.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			b.step(100) // the transcript goes on
			b.flush()
			defer harm(b, feed)()
			b.serve(func(c *proxy.Config) {
				change(c)
				c.ByCalls, c.Run.ID = b.unnamed, "run_next"
			})
			b.server.SetPatience(time.Millisecond)
			status, text := b.send(b.body())
			if status != http.StatusOK || len(b.summariesSent()) == 0 {
				t.Fatalf("%d %s", status, text)
			}
		})
	}
}

// TestFirstFoldIsAwaited: a request above the window waits for the first fold, however long the history is.
func TestFirstFoldIsAwaited(t *testing.T) {
	b, _, _ := newSmallBed(t)
	b.long(300)
	b.server.SetPatience(time.Millisecond)
	if status, text := b.send(b.body()); status != http.StatusOK || len(b.summariesSent()) == 0 {
		t.Errorf("%d %s", status, text)
	}
}

// post sends a request, and returns where its answer is read.
func (b *bed) post(ctx context.Context, path string, body []byte, header ...string) *http.Response {
	b.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.server.URL("anthropic")+path, bytes.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("X-Claude-Code-Session-Id", sessionID)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// TestHeldStreamStaysOpen: a host hears of a request that waits, and then has the API's answer, or its error.
func TestHeldStreamStaysOpen(t *testing.T) {
	for name, c := range map[string]struct {
		refuses    bool
		ping, want string
	}{
		"an answer": {false, `{"type":"ping"}`, "event: message_stop\n"},
		"an error":  {true, `{"type":"ping"}`, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: "},
	} {
		t.Run(name, func(t *testing.T) {
			b, feed, _ := newSmallBed(t)
			if c.refuses {
				b.window = 1
			}
			release := feed.hold()
			b.server.SetBeat(time.Millisecond)
			b.long(100)
			resp := b.post(t.Context(), "/v1/messages", b.body())
			text := bufio.NewReader(resp.Body)
			for range 3 { // events
				event, err := text.ReadString('\n')
				data, _ := text.ReadString('\n')
				_, _ = text.ReadString('\n')
				if err != nil || event != "event: ping\n" || data != "data: "+c.ping+"\n" {
					t.Fatalf("%q %q, %v", event, data, err)
				}
			}
			if n := len(b.got()); n > 0 {
				t.Fatalf("%d bytes were sent before the fold", n)
			}
			release()
			rest, err := io.ReadAll(text)
			if err != nil || !strings.Contains(string(rest), c.want) || len(b.summariesSent()) == 0 {
				t.Errorf("%d summaries, %v: %s", len(b.summariesSent()), err, rest)
			}
		})
	}
}

// TestHostIsAskedToTryAgain: when a host waits no longer, it gets an error after which it tries again; nothing is sent
// that the API would refuse, and the user and the log are told why.
func TestHostIsAskedToTryAgain(t *testing.T) {
	told := make(chan string, 100)
	b, feed, change := newSmallBed(t)
	b.serve(func(c *proxy.Config) {
		change(c)
		c.Tell = func(text string) { told <- text }
	})
	defer feed.hold()()
	b.server.SetBeat(10 * time.Millisecond)
	b.long(100)
	plain := bytes.Replace(b.body(), []byte(`"stream":true`), []byte(`"stream":false`), 1)
	status, text := b.send(plain, "X-Stainless-Timeout", "1")
	if status != http.StatusServiceUnavailable || !strings.Contains(text, `"type":"error"`) || !strings.Contains(text, proxy.NotFolded) || len(b.got()) > 0 {
		t.Errorf("%d %s, %d bytes were sent", status, text, len(b.got()))
	}
	if said := <-told; !strings.Contains(said, proxy.NotFolded) || len(told) > 0 {
		t.Errorf("the user is told %q, and %d times more", said, len(told))
	}
	if log := b.log.String(); !strings.Contains(log, "held until the host tries again: "+proxy.NotFolded) {
		t.Error(log)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel) // the user interrupts the turn
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.server.URL("anthropic")+"/v1/messages", bytes.NewReader(b.body()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Claude-Code-Session-Id", sessionID)
	if _, err := http.DefaultClient.Do(r); err == nil {
		t.Error("it was answered")
	}
	for run := b.server.Result(); run.Requests < 2; run = b.server.Result() {
		time.Sleep(time.Millisecond)
	}
	if run := b.server.Result(); len(b.got()) > 0 || run.OverBudget() > 0 || run.Largest > 0 {
		t.Errorf("%d bytes were sent: %+v", len(b.got()), run)
	}
}

// TestNoFoldCanCome: a request above the window is sent where no fold can make it small enough, and the log says why.
func TestNoFoldCanCome(t *testing.T) {
	for want, prepare := range map[string]func(*bed){
		proxy.NoTranscript:  func(b *bed) { b.lines = nil },
		proxy.NewestTooLong: func(b *bed) { b.result(100, strings.Repeat("an error. ", 60_000)) },
		proxy.InstructionsTooLong: func(b *bed) {
			b.tools = []any{object{"name": "Bash", "description": strings.Repeat("Run it. ", 60_000)}}
		},
		proxy.RecordBehind:     func(b *bed) { b.db.Close() },
		"a subscription login": func(*bed) {},
	} {
		t.Run(want, func(t *testing.T) {
			b, _, _ := newSmallBed(t)
			b.server.SetBeat(time.Millisecond)
			b.prompt("Read the logs.")
			for i := range 100 {
				b.step(i)
			}
			prepare(b)
			b.flush()
			var header []string
			if want == "a subscription login" {
				header = []string{"Authorization", "Bearer sk-ant-oat01-x"}
			}
			if _, text := b.send(b.body(), header...); !strings.Contains(text, "prompt is too long") {
				t.Fatal(text)
			}
			if log := b.log.String(); !strings.Contains(log, "level=WARN msg=\"a request was sent that") || !strings.Contains(log, fmt.Sprintf("why=%q", want)) {
				t.Error(log)
			}
		})
	}
}

// TestLockEnds: a request waits for a record that another process has locked.
func TestLockEnds(t *testing.T) {
	b, _, change := newSmallBed(t)
	db, err := sqlite.Open(t.Context(), filepath.Join(b.dir, "lcm.db"), sqlite.Options{BusyTimeout: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	b.db = db
	b.serve(change)
	b.server.SetBeat(20 * time.Millisecond)
	lock := b.exec("BEGIN IMMEDIATE")
	time.AfterFunc(time.Second, func() { lock.Close() })
	b.long(100)
	b.next()
}
