package llmtest

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/lossless-context/lcm/llms"
)

// Model is a scripted model in process. It implements [llms.Model].
type Model struct {
	model Responder

	mu       sync.Mutex
	requests []llms.Request
	usage    llms.Usage
}

// New returns a model that answers with m.
func New(m Responder) *Model { return &Model{model: m} }

// Name implements [llms.Model].
func (e *Model) Name() string { return "llmtest/scripted" }

// Requests returns what was asked so far, in the order of the calls. A message
// slice that the caller goes on appending to is safe: it was copied.
func (e *Model) Requests() []llms.Request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.requests)
}

// Usage returns what the answers have cost: the input from the first event on,
// the output when an answer has come to its end.
func (e *Model) Usage() llms.Usage {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.usage
}

// Stream implements [llms.Model].
func (e *Model) Stream(ctx context.Context, r llms.Request) iter.Seq2[llms.Event, error] {
	return func(yield func(llms.Event, error) bool) {
		r.Messages = slices.Clone(r.Messages)
		e.mu.Lock()
		e.requests = append(e.requests, r)
		e.mu.Unlock()
		if ctx.Err() != nil {
			yield(llms.Event{}, llms.Canceled(ctx, e.Name()))
			return
		}
		reply := e.model(r).finished(r)
		if f := reply.Fault; f != nil && f.Kind == FaultStatus {
			yield(llms.Event{}, e.fail(ctx, f))
			return
		}
		input := inputOf(reply.Usage)
		e.spend(input)
		if !yield(llms.Event{Kind: llms.EventUsage, Usage: input}, nil) {
			return
		}
		e.play(ctx, reply, yield)
	}
}

// play yields the events of a reply as far as its fault lets it.
func (e *Model) play(ctx context.Context, reply Reply, yield func(llms.Event, error) bool) {
	input := inputOf(reply.Usage)
	events := reply.events()
	for i, event := range events {
		if f := reply.Fault; f != nil && (i >= f.After || i == len(events)-1) {
			yield(llms.Event{}, e.fail(ctx, f).Costing(input))
			return
		}
		if ctx.Err() != nil {
			yield(llms.Event{}, llms.Canceled(ctx, e.Name()).Costing(input))
			return
		}
		if event.Kind == llms.EventEnd {
			e.spend(llms.Usage{OutputTokens: reply.Usage.OutputTokens})
		}
		if !yield(event, nil) {
			return
		}
	}
}

func (e *Model) spend(u llms.Usage) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.usage = e.usage.Add(u)
}

func (e *Model) fail(ctx context.Context, f *Fault) *llms.Error {
	switch f.Kind {
	case FaultHang:
		<-ctx.Done()
		return llms.Canceled(ctx, e.Name())
	case FaultStatus, FaultError:
		failed := llms.Classify(llms.Failure{Provider: e.Name(), Status: f.Status, Code: f.Code, Message: f.Message})
		failed.RetryAfter = f.RetryAfter
		return failed
	}
	return llms.Truncated(ctx, e.Name())
}

// events returns the reply as a model streams it.
func (r Reply) events() []llms.Event {
	var events []llms.Event
	for _, piece := range pieces(r.Reasoning) {
		events = append(events, llms.Event{Kind: llms.EventReasoning, Text: piece})
	}
	for _, piece := range pieces(r.Text) {
		events = append(events, llms.Event{Kind: llms.EventText, Text: piece})
	}
	for _, call := range r.Calls {
		events = append(events, llms.Event{Kind: llms.EventToolCall, Call: &call})
	}
	return append(events, llms.Event{Kind: llms.EventEnd, Stop: r.Stop, Usage: r.Usage, Model: "scripted"})
}
