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
	respond Responder

	mu       sync.Mutex
	requests []llms.Request
	usage    llms.Usage
}

// New returns a model whose answers come from r.
func New(r Responder) *Model { return &Model{respond: r} }

// Name implements [llms.Model].
func (m *Model) Name() string { return "llmtest/scripted" }

// Requests returns the requests so far, in the order of the calls. Their slices of
// messages are copies.
func (m *Model) Requests() []llms.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Usage returns the cost of all calls so far. The input counts from the first
// event of a call, the output from its end.
func (m *Model) Usage() llms.Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.usage
}

// Stream implements [llms.Model].
func (m *Model) Stream(ctx context.Context, r llms.Request) iter.Seq2[llms.Event, error] {
	return func(yield func(llms.Event, error) bool) {
		r.Messages = slices.Clone(r.Messages)
		m.mu.Lock()
		m.requests = append(m.requests, r)
		m.mu.Unlock()
		if ctx.Err() != nil {
			yield(llms.Event{}, llms.Canceled(ctx, m.Name()))
			return
		}
		reply := m.respond(r).finished(r)
		if f := reply.Fault; f != nil && f.Kind == FaultStatus {
			yield(llms.Event{}, m.fail(ctx, f))
			return
		}
		input := inputOf(reply.Usage)
		m.spend(input)
		if !yield(llms.Event{Kind: llms.EventUsage, Usage: input}, nil) {
			return
		}
		m.play(ctx, reply, yield)
	}
}

// play yields the events of a reply up to its fault.
func (m *Model) play(ctx context.Context, reply Reply, yield func(llms.Event, error) bool) {
	input := inputOf(reply.Usage)
	events := reply.events()
	for i, event := range events {
		if f := reply.Fault; f != nil && (i >= f.After || i == len(events)-1) {
			yield(llms.Event{}, m.fail(ctx, f).Costing(input))
			return
		}
		if ctx.Err() != nil {
			yield(llms.Event{}, llms.Canceled(ctx, m.Name()).Costing(input))
			return
		}
		if event.Kind == llms.EventEnd {
			m.spend(llms.Usage{OutputTokens: reply.Usage.OutputTokens})
		}
		if !yield(event, nil) {
			return
		}
	}
}

func (m *Model) spend(u llms.Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usage = m.usage.Add(u)
}

func (m *Model) fail(ctx context.Context, f *Fault) *llms.Error {
	switch f.Kind {
	case FaultHang:
		<-ctx.Done()
		return llms.Canceled(ctx, m.Name())
	case FaultStatus, FaultError:
		failed := llms.Classify(llms.Failure{Provider: m.Name(), Status: f.Status, Code: f.Code, Message: f.Message})
		failed.RetryAfter = f.RetryAfter
		return failed
	}
	return llms.Truncated(ctx, m.Name())
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
