package agents

import (
	"context"
	"errors"
	"fmt"

	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/tools"
)

// ErrTooManyIterations ends a chat whose model goes on calling tools beyond
// MaxToolIterations.
var ErrTooManyIterations = errors.New("the limit of tool iterations is reached")

// ErrRefused ends a chat whose model would not answer.
var ErrRefused = errors.New("the model refused to answer")

// MetaInterrupted is the key in a message's Meta that marks an answer that
// broke off, because the call failed or was canceled.
const MetaInterrupted = "interrupted"

// chat is one run of the loop.
type chat struct {
	*Agent
	memory Memory
	scope  *tools.Scope
	emit   func(core.Event)
}

// chat answers one message.
func (a *Agent) chat(ctx context.Context, m llms.Message, emit func(core.Event)) (string, error) {
	if a.config.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, a.config.Timeout,
			fmt.Errorf("the chat took longer than %v: %w", a.config.Timeout, context.DeadlineExceeded))
		defer cancel()
	}
	c := &chat{Agent: a, memory: a.config.Memory, scope: tools.ScopeFrom(ctx), emit: emit}
	if c.memory == nil {
		c.memory = NewTranscript()
	} else if err := a.takeTurn(ctx); err != nil {
		return "", err
	} else {
		defer func() { <-a.turn }()
	}
	if c.scope == nil {
		c.scope = tools.NewScope(a.config.Delegation)
		ctx = tools.WithScope(ctx, c.scope)
	}
	if err := c.memory.Append(ctx, m); err != nil {
		return "", fmt.Errorf("recording the message: %w", err)
	}
	return c.loop(ctx)
}

// takeTurn waits until no other chat of this agent writes to its memory: a
// conversation is a sequence, and a tool call must be followed by its result.
func (a *Agent) takeTurn(ctx context.Context) error {
	select {
	case a.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return gaveUp(ctx)
	}
}

func gaveUp(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, ctx.Err()) {
		return fmt.Errorf("the chat was given up: %w (%w)", cause, ctx.Err())
	}
	return fmt.Errorf("the chat was given up: %w", context.Cause(ctx))
}

// loop asks the model and runs its tools until it has answered.
func (c *chat) loop(ctx context.Context) (string, error) {
	for round := 0; ; round++ {
		if ctx.Err() != nil {
			return "", gaveUp(ctx)
		}
		if err := c.scope.Err(); err != nil {
			return "", err
		}
		answer, err := c.ask(ctx)
		if err != nil {
			return "", err
		}
		calls := answer.Message.ToolCalls()
		if len(calls) == 0 {
			if answer.Stop == llms.StopRefusal {
				return "", ErrRefused
			}
			return answer.Message.PlainText(), nil
		}
		if round >= c.config.MaxToolIterations {
			err := fmt.Errorf("%w: %d rounds", ErrTooManyIterations, c.config.MaxToolIterations)
			return "", errors.Join(err, c.record(ctx, calls, refuseAll(calls, err)))
		}
		if err := c.record(ctx, calls, c.runAll(ctx, calls)); err != nil {
			return "", err
		}
	}
}

// ask calls the model once and records its answer.
func (c *chat) ask(ctx context.Context) (llms.Response, error) {
	messages, err := c.memory.Context(ctx)
	if err != nil {
		return llms.Response{}, fmt.Errorf("reading the conversation: %w", err)
	}
	answer, err := c.stream(ctx, llms.Request{
		Model: c.config.Model, System: c.system, Messages: messages, Tools: c.specs,
		MaxTokens: c.config.MaxTokens, Temperature: c.config.Temperature,
	})
	// What was spent was spent, also where the answer broke off.
	if usage := answer.Usage; err == nil || usage != (llms.Usage{}) {
		c.emit(core.Event{Kind: core.EventUsage, Usage: &usage})
	}
	if c.scope.Delegated() {
		c.scope.Charge(answer.Usage)
	}
	if err != nil {
		return answer, errors.Join(err, c.recordPartial(ctx, answer.Message))
	}
	if len(answer.Message.Parts) > 0 { // providers refuse an empty message when it is sent back
		if err := c.memory.Append(ctx, answer.Message); err != nil {
			return answer, fmt.Errorf("recording the answer: %w", err)
		}
	}
	return answer, nil
}

// stream runs one call of the model and relays what it says.
func (c *chat) stream(ctx context.Context, r llms.Request) (llms.Response, error) {
	var collected llms.Collector
	for event, err := range c.config.LLMEngine.Stream(ctx, r) {
		if err != nil {
			collected.Fail(err)
			return collected.Response(), err
		}
		collected.Add(event)
		switch event.Kind {
		case llms.EventText:
			c.emit(core.Event{Kind: core.EventText, Text: event.Text})
		case llms.EventReasoning:
			if event.Text != "" {
				c.emit(core.Event{Kind: core.EventReasoning, Text: event.Text})
			}
		case llms.EventToolCall:
			if call := event.Call; call != nil {
				c.emit(core.Event{Kind: core.EventToolCall, Call: &core.Call{ID: call.ID, Name: call.Name, Arguments: call.Arguments}})
			}
		}
	}
	if !collected.Ended() {
		return collected.Response(), llms.Truncated(ctx, c.config.LLMEngine.Name()).Costing(collected.Response().Usage)
	}
	return collected.Response(), nil
}

// recordPartial keeps what a model had said when its call failed: a user has
// seen it. Calls and reasoning are left out, since calls would stay without
// results and unfinished reasoning without the signature it needs.
func (c *chat) recordPartial(ctx context.Context, m llms.Message) error {
	said := m.PlainText()
	if said == "" {
		return nil
	}
	partial := llms.Assistant(said)
	partial.Meta = map[string]any{MetaInterrupted: true}
	if err := c.memory.Append(context.WithoutCancel(ctx), partial); err != nil {
		return fmt.Errorf("recording the broken answer: %w", err)
	}
	return nil
}

// record appends the results of tool calls. It does so also when the chat was
// canceled meanwhile: a call that stays without a result would make the
// conversation invalid for every provider.
func (c *chat) record(ctx context.Context, calls []llms.ToolCall, results []core.Result) error {
	messages := make([]llms.Message, len(calls))
	for i, call := range calls {
		messages[i] = resultMessage(call, results[i])
	}
	if err := c.memory.Append(context.WithoutCancel(ctx), messages...); err != nil {
		return fmt.Errorf("recording tool results: %w", err)
	}
	return nil
}

func resultMessage(call llms.ToolCall, r core.Result) llms.Message {
	m := llms.Result(call.ID, call.Name, r.Text, r.IsError)
	result := m.Parts[0].Result
	for _, b := range r.Blobs {
		result.Output = append(result.Output, llms.Part{Kind: llms.PartBlob,
			Blob: &llms.Blob{MIME: b.MIME, Name: b.Name, URL: b.URL, Data: b.Data}})
	}
	return m
}

func refuseAll(calls []llms.ToolCall, err error) []core.Result {
	results := make([]core.Result, len(calls))
	for i := range results {
		results[i] = core.ErrorResult(err)
	}
	return results
}
