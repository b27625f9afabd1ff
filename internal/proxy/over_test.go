package proxy_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/proxy"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/record"
)

// TestUnknownClient: requests of a client that lcm does not know pass unchanged. They are
// counted, and a line says so once.
func TestUnknownClient(t *testing.T) {
	b := newBed(t, nil)
	b.prompt("Read the logs.")
	for i := range 60 {
		b.step(i)
	}
	for range 3 {
		body := b.body()
		b.send(body, "X-Claude-Code-Session-Id", "")
		if string(b.got()) != string(body) {
			t.Fatal("the request was changed")
		}
	}
	b.send([]byte(`{"messages":"odd"}`), "X-Claude-Code-Session-Id", "")
	run := b.server.Result()
	if run.Requests != 4 || run.Unknown != 4 || run.Over[proxy.NoKnownAgent] != 3 || run.PassedUnchanged() != 0 {
		t.Errorf("%+v", run)
	}
	if n := strings.Count(b.log.String(), "level=WARN"); n != 1 || !strings.Contains(b.log.String(), "no transcript of a known agent") {
		t.Errorf("%d warnings: %s", n, b.log.String())
	}
	if err := b.server.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	made, err := proxy.Requests(t.Context(), b.db, proxy.UnknownClient)
	if err != nil || len(made) != 4 || made[0].Messages != 121 || made[0].Note != proxy.NoKnownAgent {
		t.Errorf("%+v, %v", made, err)
	}
}

// waiting is a summariser that waits until it is released.
type waiting struct {
	*summary.Extractive
	released chan struct{}
}

func (w *waiting) Summarise(ctx context.Context, r summary.Request) (summary.Result, error) {
	select {
	case <-w.released:
	case <-ctx.Done():
		return summary.Result{}, ctx.Err()
	}
	return w.Extractive.Summarise(ctx, r)
}

// TestReasonOverBudget: a request that is sent above its budget has the reason for it.
func TestReasonOverBudget(t *testing.T) {
	slow := &waiting{summary.NewExtractive(), make(chan struct{})}
	steps := func(b *bed, n int) {
		b.prompt("Read the logs.")
		for i := range n {
			b.step(i)
		}
	}
	for name, c := range map[string]struct {
		options []lcm.Option
		play    func(*bed)
		want    string
	}{
		"no transcript": {nil, func(b *bed) { steps(b, 60) }, proxy.NoTranscript},
		"a slow fold": {[]lcm.Option{lcm.WithSummariser(slow)}, func(b *bed) {
			b.server.SetPatience(time.Millisecond) // the fold waits for the end of the test
			steps(b, 60)
			b.flush()
		}, proxy.NotFolded},
		"excluded": {[]lcm.Option{lcm.WithPrivacy(record.Privacy{IgnoreSessions: []string{"claude:*"}})}, func(b *bed) {
			steps(b, 60)
			b.flush()
		}, proxy.KeptOut},
		"instructions": {nil, func(b *bed) {
			b.prompt(strings.Repeat("You must read all the logs. ", 7_000))
			b.step(1)
			b.flush()
		}, proxy.InstructionsTooLong},
		"newest messages": {nil, func(b *bed) {
			steps(b, 2)
			b.result(2, strings.Repeat("an error. ", 20_000))
			b.flush()
		}, proxy.NewestTooLong},
		"counted more": {nil, func(b *bed) {
			b.perToken = 1 // the first estimate is 0.28 tokens for a byte
			steps(b, 15)
			b.flush()
		}, proxy.CountedMore},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, nil, c.options...)
			t.Cleanup(func() { // before the proxy is closed
				if c.want == proxy.NotFolded {
					close(slow.released)
				}
			})
			c.play(b)
			b.send(b.body())
			// A busy machine may not have read the transcript in time.
			for deadline := time.Now().Add(time.Minute); b.server.Result().Over[c.want] == 0; b.send(b.body()) {
				if time.Now().After(deadline) {
					t.Fatalf("%+v", b.server.Result())
				}
			}
		})
	}
}

// TestWithinBudget: a request within its budget has no such reason.
func TestWithinBudget(t *testing.T) {
	b := newBed(t, nil)
	b.play(30)
	if run := b.server.Result(); run.OverBudget() != 0 || run.Unknown != 0 || run.Unanswered != 0 {
		t.Errorf("%+v", run)
	}
}

// viewTokens is the size of the stored view of the session, 0 if there is none.
func (b *bed) viewTokens() int {
	b.t.Helper()
	found, err := b.db.Conversations(b.t.Context(), store.ConversationQuery{Key: "claude:" + sessionID, Limit: 1})
	if err != nil {
		b.t.Fatal(err)
	}
	if len(found) == 0 {
		return 0
	}
	view, err := b.db.View(b.t.Context(), found[0].ID, store.Window{})
	if err != nil {
		b.t.Fatal(err)
	}
	return view.Tokens
}

// TestUnreachable: where the API does not answer, the client gets the reason in the form
// of the API's errors. The request is counted as unanswered, and saves nothing.
func TestUnreachable(t *testing.T) {
	b := newBed(t, func(c *proxy.Config) {
		down, err := url.Parse("http://127.0.0.1:1/v1")
		if err != nil {
			t.Fatal(err)
		}
		c.Routes = map[string]*url.URL{"anthropic": down}
	})
	b.prompt("hello")
	for range 2 {
		status, text := b.send(b.body())
		var got struct {
			Type  string
			Error struct{ Type, Message string }
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil || status != http.StatusBadGateway {
			t.Fatalf("%d %s: %v", status, text, err)
		}
		if got.Type != "error" || got.Error.Type != "api_error" || !strings.Contains(got.Error.Message, "127.0.0.1:1") || strings.Contains(text, b.server.Secret()) {
			t.Errorf("%s", text)
		}
	}
	run := b.server.Result()
	if run.Unanswered != 2 || run.Saved() != 0 || run.Compared() {
		t.Errorf("%+v", run)
	}
	if n := strings.Count(b.log.String(), "level=WARN"); n != 1 {
		t.Errorf("%d warnings", n)
	}
}
