package llms_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/llms"
)

func TestCollectorBuildsParts(t *testing.T) {
	call := llms.ToolCall{ID: "c", Name: "n", Arguments: "{}"}
	redacted := json.RawMessage(`{"type":"redacted_thinking"}`)
	tests := []struct {
		name   string
		events []llms.Event
		want   []llms.Part
	}{
		{"nothing", nil, nil},
		{"text grows", []llms.Event{{Kind: llms.EventText, Text: "a"}, {Kind: llms.EventText, Text: "b"}},
			[]llms.Part{{Kind: llms.PartText, Text: "ab"}}},
		{"a call parts text", []llms.Event{{Kind: llms.EventText, Text: "a"}, {Kind: llms.EventToolCall, Call: &call}, {Kind: llms.EventText, Text: "b"}},
			[]llms.Part{{Kind: llms.PartText, Text: "a"}, {Kind: llms.PartToolCall, Call: &call}, {Kind: llms.PartText, Text: "b"}}},
		{"a signature ends reasoning", []llms.Event{
			{Kind: llms.EventReasoning, Text: "a"}, {Kind: llms.EventReasoning, Signature: "s1"},
			{Kind: llms.EventReasoning, Text: "b"}, {Kind: llms.EventReasoning, Text: "c", Signature: "s2"}},
			[]llms.Part{{Kind: llms.PartReasoning, Text: "a", Signature: "s1"}, {Kind: llms.PartReasoning, Text: "bc", Signature: "s2"}}},
		{"fields of the provider's own", []llms.Event{
			{Kind: llms.EventReasoning, Text: "a", Signature: "s"}, {Kind: llms.EventReasoning, Signature: "data", Extra: redacted}},
			[]llms.Part{{Kind: llms.PartReasoning, Text: "a", Signature: "s"}, {Kind: llms.PartReasoning, Signature: "data", Extra: redacted}}},
		{"empty pieces", []llms.Event{{Kind: llms.EventText}, {Kind: llms.EventReasoning}}, nil},
		{"a call that is none", []llms.Event{{Kind: llms.EventToolCall}}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var c llms.Collector
			for _, e := range test.events {
				c.Add(e)
			}
			got := c.Response().Message
			if diff := cmp.Diff(test.want, got.Parts); diff != "" || got.Role != llms.RoleAssistant || c.Ended() {
				t.Errorf("%s, ended %v, parts (-want +got):\n%s", got.Role, c.Ended(), diff)
			}
		})
	}
}

// said is a model that yields what it is made of.
type said []any

func (said) Name() string { return "said" }
func (s said) Stream(context.Context, llms.Request) iter.Seq2[llms.Event, error] {
	return func(yield func(llms.Event, error) bool) {
		for _, v := range s {
			switch v := v.(type) {
			case llms.Event:
				if !yield(v, nil) {
					return
				}
			case error:
				yield(llms.Event{}, v)
				return
			}
		}
	}
}

func TestComplete(t *testing.T) {
	text := llms.Event{Kind: llms.EventText, Text: "hi"}
	end := llms.Event{Kind: llms.EventEnd, Stop: llms.StopEnd, ID: "msg_1", Model: "m", Usage: llms.Usage{InputTokens: 1, OutputTokens: 2}}
	got, err := llms.Complete(t.Context(), said{text, end}, llms.Request{})
	want := llms.Response{Stop: llms.StopEnd, Model: "m", Usage: end.Usage, Message: llms.Assistant("hi")}
	want.Message.ID = "msg_1"
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	broken := errors.New("broken")
	if got, err := llms.Complete(t.Context(), said{text, broken}, llms.Request{}); !errors.Is(err, broken) || got.Message.PlainText() != "hi" {
		t.Errorf("an error: %q, %v", got.Message.PlainText(), err)
	}
	if _, err := llms.Complete(t.Context(), said{text}, llms.Request{}); llms.ClassOf(err) != llms.ClassTransient {
		t.Errorf("no end: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("lunch"))
	_, err = llms.Complete(ctx, said{text}, llms.Request{})
	if llms.ClassOf(err) != llms.ClassCanceled || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "lunch") {
		t.Errorf("canceled: %v", err)
	}
}

// What a call has cost is known however it ends, and is counted once.
func TestUsageBeforeTheEnd(t *testing.T) {
	known := llms.Event{Kind: llms.EventUsage, Usage: llms.Usage{InputTokens: 70}}
	more := llms.Event{Kind: llms.EventUsage, Usage: llms.Usage{InputTokens: 70, OutputTokens: 2}}
	end := llms.Event{Kind: llms.EventEnd, Stop: llms.StopEnd, Usage: llms.Usage{InputTokens: 70, OutputTokens: 9}}
	broken := (&llms.Error{Class: llms.ClassTransient}).Costing(llms.Usage{InputTokens: 70, OutputTokens: 5})
	tests := []struct {
		name   string
		model  said
		output int
	}{
		{"to the end", said{known, more, end}, 9},
		{"an error that knows more", said{known, more, broken}, 5},
		{"an error that knows nothing", said{known, more, errors.New("broken")}, 2},
		{"no end", said{known, more}, 2},
	}
	for _, test := range tests {
		got, err := llms.Complete(t.Context(), test.model, llms.Request{})
		if want := (llms.Usage{InputTokens: 70, OutputTokens: test.output}); got.Usage != want {
			t.Errorf("%s: %+v, want %+v", test.name, got.Usage, want)
		}
		var failed *llms.Error
		if errors.As(err, &failed) && failed.Usage != got.Usage {
			t.Errorf("%s: the error tells of %+v", test.name, failed.Usage)
		}
	}
}

func TestSpec(t *testing.T) {
	tool := core.MustTool(core.ToolInfo{Name: "dice", Description: "Rolls a die.", Advanced: "LONG"},
		func(context.Context, struct{}) (core.Result, error) { return core.Result{}, nil })
	want := llms.ToolSpec{Name: "dice", Description: "Rolls a die.", Parameters: tool.Parameters()}
	if diff := cmp.Diff(want, llms.Spec(tool)); diff != "" {
		t.Error(diff)
	}
}

func TestGiveUpWhenIdle(t *testing.T) {
	// talk says a word every pause until its context ends.
	talk := func(pauses ...time.Duration) func(context.Context) iter.Seq2[llms.Event, error] {
		return func(ctx context.Context) iter.Seq2[llms.Event, error] {
			return func(yield func(llms.Event, error) bool) {
				for _, pause := range pauses {
					select {
					case <-time.After(pause):
					case <-ctx.Done():
						yield(llms.Event{}, llms.Canceled(ctx, "test"))
						return
					}
					if !yield(llms.Event{Kind: llms.EventText, Text: "w"}, nil) {
						return
					}
				}
			}
		}
	}
	run := func(t *testing.T, idle, reading time.Duration, stream func(context.Context) iter.Seq2[llms.Event, error]) (words int, err error) {
		for event, failed := range llms.GiveUpWhenIdle(t.Context(), "test", idle, stream) {
			time.Sleep(reading) // virtual time
			words += len(event.Text)
			err = failed
		}
		return words, err
	}
	const second = time.Second
	tests := []struct {
		name    string
		idle    time.Duration
		reading time.Duration
		pauses  []time.Duration
		words   int
		given   bool
	}{
		{"long but lively", 2 * second, 0, []time.Duration{second, second, second, second}, 4, false},
		{"silent from the start", 2 * second, 0, []time.Duration{9 * second}, 0, true},
		{"silent in the middle", 2 * second, 0, []time.Duration{second, 9 * second}, 1, true},
		{"a slow reader is no silence", 2 * second, 5 * second, []time.Duration{second, second}, 2, false},
		{"without a limit", -1, 0, []time.Duration{99 * second}, 1, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				words, err := run(t, test.idle, test.reading, talk(test.pauses...))
				if words != test.words || errors.Is(err, llms.ErrIdle) != test.given {
					t.Errorf("%d words, %v", words, err)
				}
				if test.given && llms.ClassOf(err) != llms.ClassTransient {
					t.Errorf("class %s", llms.ClassOf(err))
				}
			})
		})
	}
	t.Run("leaving early", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			for range llms.GiveUpWhenIdle(t.Context(), "test", second, talk(0, 0, 0)) {
				break
			}
		})
	})
}

func TestClassify(t *testing.T) {
	tests := []struct {
		failure llms.Failure
		class   llms.Class
		text    string
	}{
		{llms.Failure{Status: 401, Message: "bad key"}, llms.ClassAuth, "p: HTTP 401: bad key; check the API key"},
		{llms.Failure{Status: 403, Message: "no"}, llms.ClassAuth, "p: HTTP 403: no; check the API key"},
		{llms.Failure{Code: "authentication_error", Message: "no"}, llms.ClassAuth, "p: no; check the API key"},
		{llms.Failure{Status: 429, Message: "slow"}, llms.ClassQuota, "p: HTTP 429: slow; a limit of the account is reached"},
		{llms.Failure{Status: 429, Message: "slow", Header: http.Header{"Retry-After": {"20"}}}, llms.ClassQuota, "p: HTTP 429: slow; the provider asks to wait 20s"},
		{llms.Failure{Status: 429, Message: "slow", Header: http.Header{"Retry-After-Ms": {"1500"}, "Retry-After": {"2"}}}, llms.ClassQuota, "p: HTTP 429: slow; the provider asks to wait 1.5s"},
		{llms.Failure{Status: 429, Message: "slow", Header: http.Header{"Retry-After": {"Wed, 21 Oct 2026 07:28:00 GMT"}, "Date": {"Wed, 21 Oct 2026 06:28:00 GMT"}}}, llms.ClassQuota, "p: HTTP 429: slow; the provider asks to wait 1h0m0s"},
		{llms.Failure{Status: 429, Message: "slow", Header: http.Header{"Retry-After": {"Wed, 21 Oct 2015 07:28:00 GMT"}}}, llms.ClassQuota, "p: HTTP 429: slow; a limit of the account is reached"},
		{llms.Failure{Status: 429, Message: "slow", Header: http.Header{"Retry-After": {"soon"}}}, llms.ClassQuota, "p: HTTP 429: slow; a limit of the account is reached"},
		{llms.Failure{Status: 429, Message: "slow", Header: http.Header{"Retry-After": {"1e99"}}}, llms.ClassQuota, "p: HTTP 429: slow; the provider asks to wait 8760h0m0s"},
		{llms.Failure{Status: 429, Message: "slow", Header: http.Header{"Retry-After": {"-3"}}}, llms.ClassQuota, "p: HTTP 429: slow; a limit of the account is reached"},
		{llms.Failure{Status: 400, Message: "Your credit balance is too low"}, llms.ClassQuota, "p: HTTP 400: Your credit balance is too low; a limit of the account is reached"},
		{llms.Failure{Code: "insufficient_quota", Message: "pay"}, llms.ClassQuota, "p: pay; a limit of the account is reached"},
		{llms.Failure{Status: 400, Code: "context_length_exceeded", Message: "long"}, llms.ClassContextLength, "p: HTTP 400: long; the prompt is too long for the model"},
		// What a message quotes decides nothing.
		{llms.Failure{Status: 400, Code: "invalid_request_error", Message: "tools.3.custom.name: 'rate_limit.check' does not match"}, llms.ClassInvalid, "p: HTTP 400: tools.3.custom.name: 'rate_limit.check' does not match"},
		{llms.Failure{Status: 400, Code: "invalid_request_error", Message: "messages.4: unknown block: authentication_error"}, llms.ClassInvalid, "p: HTTP 400: messages.4: unknown block: authentication_error"},
		{llms.Failure{Status: 400, Code: "invalid_request_error", Message: "no tool context window"}, llms.ClassInvalid, "p: HTTP 400: no tool context window"},
		{llms.Failure{Status: 404, Code: "not_found_error", Message: "model: claude-api_error"}, llms.ClassInvalid, "p: HTTP 404: model: claude-api_error; check the name of the model and the base URL"},
		{llms.Failure{Status: 500, Code: "api_error", Message: "exceeds the context window"}, llms.ClassTransient, "p: HTTP 500: exceeds the context window; try again"},
		{llms.Failure{Status: 429, Code: "rate_limit_error", Message: "requests above 200k exceed the context window of your tier"}, llms.ClassQuota, "p: HTTP 429: requests above 200k exceed the context window of your tier; a limit of the account is reached"},
		{llms.Failure{Code: "invalid_request_error", Message: "no"}, llms.ClassInvalid, "p: no"},
		// How providers and servers say that a prompt is too long.
		{llms.Failure{Status: 400, Message: "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000"}, llms.ClassContextLength, "p: HTTP 400: input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000; the prompt is too long for the model"},
		{llms.Failure{Status: 400, Message: "Input is too long for requested model."}, llms.ClassContextLength, "p: HTTP 400: Input is too long for requested model.; the prompt is too long for the model"},
		{llms.Failure{Status: 400, Message: "Your input exceeds the context window of this model."}, llms.ClassContextLength, "p: HTTP 400: Your input exceeds the context window of this model.; the prompt is too long for the model"},
		{llms.Failure{Message: "maximum context length is 4096"}, llms.ClassContextLength, "p: maximum context length is 4096; the prompt is too long for the model"},
		{llms.Failure{Status: 413, Message: "large"}, llms.ClassContextLength, "p: HTTP 413: large; the prompt is too long for the model"},
		{llms.Failure{Status: 404, Message: "model x"}, llms.ClassInvalid, "p: HTTP 404: model x; check the name of the model and the base URL"},
		{llms.Failure{Status: 400, Message: "bad\n schema"}, llms.ClassInvalid, "p: HTTP 400: bad schema"},
		{llms.Failure{Status: 500}, llms.ClassTransient, "p: HTTP 500: the provider gave no reason; try again"},
		{llms.Failure{Code: "overloaded_error", Message: "busy"}, llms.ClassTransient, "p: busy; try again"},
		{llms.Failure{Message: "connection reset"}, llms.ClassTransient, "p: connection reset; try again"},
	}
	for _, test := range tests {
		test.failure.Provider = "p"
		got := llms.Classify(test.failure)
		if got.Class != test.class || got.Error() != test.text {
			t.Errorf("%+v:\n got %s %q\nwant %s %q", test.failure, got.Class, got, test.class, test.text)
		}
	}
	wrapped := fmt.Errorf("summarise: %w", llms.Classify(llms.Failure{Provider: "p", Status: 401, Message: "bad key"}))
	if message, advice := hint.Split(wrapped); message != "summarise: p: HTTP 401: bad key" || advice != "check the API key" {
		t.Errorf("the message is %q and the hint %q", message, advice)
	}
	if got := llms.ClassOf(errors.New("other")); got != "" {
		t.Errorf("class %q of no model error", got)
	}
	if got := llms.ClassOf(fmt.Errorf("wrapped: %w", &llms.Error{Class: llms.ClassAuth})); got != llms.ClassAuth {
		t.Errorf("class %q of a wrapped error", got)
	}
}

func TestRedact(t *testing.T) {
	tests := []struct{ text, want string }{
		{"the key hunter22 is wrong", "the key [redacted] is wrong"},
		{"Incorrect API key provided: sk-proj-abc***xyz.", "Incorrect API key provided: [redacted]"},
		{"sent Authorization: Bearer abcdef0123456789", "sent Authorization: [redacted]"},
		{"x-api-key sk-ant-api03-AAAA_BBBB-CCCC", "x-api-key [redacted]"},
		{"AIzaSyD-abcdefghijk and ghp_abcdefghijkl", "[redacted] and [redacted]"},
		{`x-api-key: abcdef123456, "api_key": "abcdef123456"`, `x-api-key: [redacted], "api_key": "[redacted]"`},
		{"GET https://ann:secret1@host/v1?api_key=abcdef1&x=1", "GET https://ann:[redacted]@host/v1?api_key=[redacted]&x=1"},
		{"invalid x-api-key", "invalid x-api-key"},
		{"dial http://localhost:11434/v1 for ann@host", "dial http://localhost:11434/v1 for ann@host"},
		{"the risk-averse ask-me-anything task", "the risk-averse ask-me-anything task"},
		{"", ""},
	}
	for _, test := range tests {
		if got := llms.Redact(test.text, "hunter22", "", "ab"); got != test.want {
			t.Errorf("%q became %q, want %q", test.text, got, test.want)
		}
	}
}
