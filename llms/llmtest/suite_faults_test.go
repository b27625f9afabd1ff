package llmtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lossless-context/lcm/llms"
	. "github.com/lossless-context/lcm/llms/llmtest"
)

func (s *suite) faults(t *testing.T) {
	full := Say("one two three four")
	tests := []struct {
		name  string
		reply Reply
		class llms.Class
		tries int
	}{
		{"401", Status(http.StatusUnauthorized, "invalid x-api-key"), llms.ClassAuth, 1},
		{"403", Status(http.StatusForbidden, "not for you"), llms.ClassAuth, 1},
		{"402", Status(http.StatusPaymentRequired, "no money"), llms.ClassQuota, 1},
		{"404", Status(http.StatusNotFound, "model: no-such-model"), llms.ClassInvalid, 1},
		{"400", Status(http.StatusBadRequest, "tools: bad schema"), llms.ClassInvalid, 1},
		{"too long", Status(http.StatusBadRequest, "prompt is too long: 210000 tokens > 200000 maximum"), llms.ClassContextLength, 1},
		{"too long, in other words", Status(http.StatusBadRequest, "This model's maximum context length is 8192 tokens"), llms.ClassContextLength, 1},
		{"413", Status(http.StatusRequestEntityTooLarge, "too large"), llms.ClassContextLength, 1},
		{"429", Status(http.StatusTooManyRequests, "slow down"), llms.ClassQuota, 1 + retries},
		{"500", Status(http.StatusInternalServerError, "oops"), llms.ClassTransient, 1 + retries},
		{"529", Status(529, "overloaded"), llms.ClassTransient, 1 + retries},
		{"cut at once", full.Broken(FaultCut, 0), llms.ClassTransient, 0},
		{"cut in the middle", full.Broken(FaultCut, 2), llms.ClassTransient, 1},
		{"cut before the end", full.Broken(FaultCut, 99), llms.ClassTransient, 1},
		{"cut in a tool call", Call("add", `{"a":1,"b":2,"c":3,"d":4}`).Broken(FaultCut, 1), llms.ClassTransient, 1},
		{"bad JSON", full.Broken(FaultBadJSON, 2), llms.ClassTransient, 1},
		{"error in the stream", full.Broken(FaultError, 2), llms.ClassTransient, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			model, server := s.start(t, func(llms.Request) Reply { return test.reply })
			_, err := llms.Complete(t.Context(), model, llms.Request{Messages: []llms.Message{llms.User("go")}})
			var failed *llms.Error
			if !errors.As(err, &failed) || failed.Class != test.class || failed.Provider == "" || failed.Message == "" {
				t.Fatalf("error %#v, want class %s", err, test.class)
			}
			if f := test.reply.Fault; f.Kind == FaultStatus && failed.Status != f.Status {
				t.Errorf("status %d, want %d", failed.Status, f.Status)
			}
			if got := len(server.Exchanges()); test.tries != 0 && got != test.tries {
				t.Errorf("%d tries, want %d", got, test.tries)
			}
			if server.Usage().OutputTokens != 0 {
				t.Error("the server counted the output of an answer that did not end")
			}
		})
	}
}

func (s *suite) partialAnswer(t *testing.T) {
	for _, kind := range []FaultKind{FaultCut, FaultBadJSON, FaultError} {
		model, _ := s.start(t, Script(Say("one two three four").Broken(kind, 2)))
		answer, err := llms.Complete(t.Context(), model, llms.Request{Messages: []llms.Message{llms.User("go")}})
		if err == nil || answer.Message.PlainText() != "one two " {
			t.Errorf("%s: kept %q, %v", kind, answer.Message.PlainText(), err)
		}
	}
}

// costs checks that the cost that a provider reports before the end is not lost,
// however the call ends.
func (s *suite) costs(t *testing.T) {
	for _, kind := range []FaultKind{FaultCut, FaultHang, FaultBadJSON, FaultError} {
		for _, reader := range []string{"reads on", "gives up", "leaves"} {
			if reader != "reads on" && kind != FaultHang {
				continue
			}
			t.Run(string(kind)+", the reader "+reader, func(t *testing.T) {
				model, server := s.start(t, Script(Say("one two three").Broken(kind, 2)), func(o *modelOptions) {
					if reader == "reads on" {
						o.IdleTimeout = 50 * time.Millisecond
					}
				})
				said, failed := readUntil(t, model, reader)
				want := server.Usage()
				if want.InputTokens == 0 {
					t.Fatal("the server has counted nothing")
				}
				if !tellsEarly(server.Exchanges()[0]) {
					want = llms.Usage{}
				}
				if said != want || reader != "leaves" && failed != want {
					t.Errorf("the events tell of %+v and the error of %+v, the server of %+v", said, failed, want)
				}
			})
		}
	}
}

// readUntil returns the cost that the events and the error of a call tell of.
func readUntil(t *testing.T, model llms.Model, reader string) (said, failed llms.Usage) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var collected llms.Collector
	for event, err := range model.Stream(ctx, llms.Request{Messages: []llms.Message{llms.User("a question of some length")}}) {
		var e *llms.Error
		if errors.As(err, &e) {
			failed = e.Usage
		}
		collected.Add(event)
		if event.Text == "two " && reader == "gives up" {
			cancel()
		}
		if event.Text == "two " && reader == "leaves" {
			break
		}
	}
	return collected.Response().Usage, failed
}

// tellsEarly reports whether the format tells the cost of the input before
// the answer.
func tellsEarly(e Exchange) bool { return e.Face == "anthropic" }

func (s *suite) retries(t *testing.T) {
	model, server := s.start(t, Script(
		Status(http.StatusTooManyRequests, "slow down"), Status(http.StatusInternalServerError, "oops"), Say("at last")))
	answer, err := llms.Complete(t.Context(), model, llms.Request{Messages: []llms.Message{llms.User("go")}})
	if err != nil || answer.Message.PlainText() != "at last" || len(server.Exchanges()) != 3 {
		t.Errorf("got %q after %d tries, %v", answer.Message.PlainText(), len(server.Exchanges()), err)
	}
	waiting := Status(http.StatusTooManyRequests, "slow down")
	waiting.Fault.RetryAfter = 3 * time.Millisecond
	model, _ = s.start(t, func(llms.Request) Reply { return waiting })
	_, err = llms.Complete(t.Context(), model, llms.Request{Messages: []llms.Message{llms.User("go")}})
	var failed *llms.Error
	if !errors.As(err, &failed) || failed.RetryAfter != 3*time.Millisecond {
		t.Errorf("the wait that the provider asks for is lost: %v", err)
	}
	waiting.Fault.RetryAfter = time.Hour
	model, server = s.start(t, func(llms.Request) Reply { return waiting })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // an SDK would sleep the hour
	defer cancel()
	_, err = llms.Complete(ctx, model, llms.Request{Messages: []llms.Message{llms.User("go")}})
	if !errors.As(err, &failed) || failed.Class != llms.ClassQuota || failed.RetryAfter != time.Hour || len(server.Exchanges()) != 1 {
		t.Errorf("an hour's wait: %v after %d tries", err, len(server.Exchanges()))
	}
}

func (s *suite) hang(t *testing.T) {
	for _, after := range []int{0, 2} {
		model, _ := s.start(t, Script(Say("one two three").Broken(FaultHang, after)),
			func(o *modelOptions) { o.IdleTimeout = 50 * time.Millisecond })
		_, err := llms.Complete(t.Context(), model, llms.Request{Messages: []llms.Message{llms.User("go")}})
		if llms.ClassOf(err) != llms.ClassTransient || !errors.Is(err, llms.ErrIdle) {
			t.Errorf("after %d pieces: %v", after, err)
		}
	}
}

// slow is a connection without a network, on which the bytes of an answer come
// a few at a time, each lot after a pause.
type slow struct {
	handler http.Handler
	pause   time.Duration
}

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	w := recorder{header: http.Header{}, body: new(bytes.Buffer)}
	s.handler.ServeHTTP(w, r)
	return &http.Response{StatusCode: http.StatusOK, Header: w.header, Body: slowBody{r.Context(), w.body, s.pause}}, nil
}

type recorder struct {
	header http.Header
	body   *bytes.Buffer
}

func (r recorder) Header() http.Header         { return r.header }
func (r recorder) Write(p []byte) (int, error) { return r.body.Write(p) }
func (r recorder) WriteHeader(int)             {}

type slowBody struct {
	ctx   context.Context // of the request: a body ends with it
	rest  *bytes.Buffer
	pause time.Duration
}

func (b slowBody) Read(p []byte) (int, error) {
	time.Sleep(b.pause)
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	return b.rest.Read(p[:min(len(p), 100)])
}

func (b slowBody) Close() error { return nil }

// lively checks that a provider is not taken for silent while it sends data that
// become no event, such as the pieces of a long tool call.
func (s *suite) lively(t *testing.T) {
	long := fmt.Sprintf(`{"text":%q}`, strings.Repeat("word ", 200))
	synctest.Test(t, func(t *testing.T) { // the pauses take no time
		const idle = time.Minute
		began := time.Now()
		model, err := s.open(modelOptions{BaseURL: "http://slow.invalid", Key: suiteKey, IdleTimeout: idle,
			HTTPClient: &http.Client{Transport: slow{NewHandler(Script(Call("write", long))), idle / 2}}})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := llms.Complete(t.Context(), model, llms.Request{Messages: []llms.Message{llms.User("go")}})
		if calls := answer.Message.ToolCalls(); err != nil || len(calls) != 1 || calls[0].Arguments != long {
			t.Errorf("calls %+v, %v", calls, err)
		}
		if took := time.Since(began); took < 10*idle {
			t.Errorf("the answer took %v, which shows nothing", took)
		}
	})
}

func (s *suite) cancellation(t *testing.T) {
	model, _ := s.start(t, Script(Say("one two three").Broken(FaultHang, 2)))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for event, err := range model.Stream(ctx, llms.Request{Messages: []llms.Message{llms.User("go")}}) {
		last = err
		if event.Text == "two " {
			cancel()
		}
	}
	if llms.ClassOf(last) != llms.ClassCanceled || !errors.Is(last, context.Canceled) {
		t.Errorf("got %v", last)
	}
}

func (s *suite) leavingEarly(t *testing.T) {
	model, _ := s.start(t, Script(Say("one two three").Broken(FaultHang, 2)))
	for range model.Stream(t.Context(), llms.Request{Messages: []llms.Message{llms.User("go")}}) {
		break
	}
}

func (s *suite) hiddenKey(t *testing.T) {
	echo := "Incorrect API key provided: " + suiteKey
	for _, reply := range []Reply{
		Status(http.StatusUnauthorized, echo),
		Status(http.StatusBadRequest, echo),
		{Text: "one two", Fault: &Fault{Kind: FaultError, After: 1, Status: 500, Message: echo}},
	} {
		model, server := s.start(t, Script(reply))
		_, err := llms.Complete(t.Context(), model, llms.Request{Messages: []llms.Message{llms.User("go")}})
		if err == nil {
			t.Fatal("no error")
		}
		for ; err != nil; err = errors.Unwrap(err) {
			if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, suiteKey) {
				t.Errorf("the key is in the error: %s", text)
			}
		}
		if e := server.Exchanges()[0]; strings.Contains(string(e.Body), suiteKey) || !strings.Contains(fmt.Sprint(e.Header), suiteKey) {
			t.Error("the key is in the body, or not in the header")
		}
	}
	if model, _ := s.start(t, Script()); strings.Contains(model.Name(), suiteKey) {
		t.Error("the key is in the name")
	}
}

func (s *suite) noServer(t *testing.T) {
	model, server := s.start(t, Script(Say("never")), func(o *modelOptions) { o.MaxRetries = -1 })
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := llms.Complete(t.Context(), model, llms.Request{Messages: []llms.Message{llms.User("go")}})
	if llms.ClassOf(err) != llms.ClassTransient {
		t.Errorf("got %v", err)
	}
}
