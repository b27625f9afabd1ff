package agents

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/kit/tracing"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/tools"
)

// ErrTooManyIterations ends a chat whose model goes on calling tools beyond
// MaxToolIterations.
var ErrTooManyIterations = errors.New("the limit of tool iterations is reached")

// ErrRepeated ends a chat whose model makes the same call again and again, with the same
// result.
var ErrRepeated = errors.New("the model repeats a tool call")

// ErrChatBudget ends a chat that has used its tokens or tool calls.
var ErrChatBudget = errors.New("the budget of the chat is spent")

// ErrRefused ends a chat whose model would not answer.
var ErrRefused = errors.New("the model refused to answer")

// ErrEmpty ends a chat whose model said nothing, or nothing but its reasoning.
var ErrEmpty = errors.New("the model gave an empty answer")

// ErrSharedMemory ends a chat of a sub-agent that has the memory of an agent
// which waits for it: its messages would come between a call and its result.
var ErrSharedMemory = errors.New("the memory belongs to an agent that waits for this one: give each its own")

// MetaInterrupted is the key in a message's Meta that marks an answer that
// broke off, because the call failed or was canceled.
const MetaInterrupted = "interrupted"

// chat is one run of the loop.
type chat struct {
	*Agent
	memory Memory
	scope  *tools.Scope
	emit   func(core.Event)
	seen   map[string]int // how often a call was made with the same result
	schema *core.Schema   // that the answer must fit, or nil
	misfit int            // answers that did not
	tokens int            // of the model calls so far
	calls  int            // of tools so far
}

// chat opens a turn and brings it to its end.
func (a *Agent) chat(ctx context.Context, open func(*chat, context.Context) error, emit func(core.Event)) (text string, err error) {
	ctx, span := a.span(ctx, "invoke_agent", a.Name())
	defer func() { endSpan(span, err) }()
	if a.config.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, a.config.Timeout,
			fmt.Errorf("the chat took longer than %v: %w", a.config.Timeout, context.DeadlineExceeded))
		defer cancel()
	}
	c := &chat{Agent: a, memory: a.config.Memory, scope: tools.ScopeFrom(ctx), emit: emit, seen: map[string]int{}}
	if c.memory == nil {
		c.memory = NewTranscript()
	} else {
		held, done, err := a.takeTurn(ctx)
		if err != nil {
			return "", err
		}
		defer done()
		ctx = held
	}
	if c.scope == nil {
		c.scope = tools.NewScope(a.config.DelegationBudget)
		ctx = tools.WithScope(ctx, c.scope)
	} else {
		ctx = tools.WithScope(ctx, c.scope.Narrow(a.config.DelegationBudget))
	}
	if _, ok := a.config.Memory.(Resumable); !ok && a.config.asksForApproval() && !c.scope.Delegated() {
		return "", errNowhereToWait
	}
	if err := open(c, ctx); err != nil {
		return "", err
	}
	return c.loop(ctx)
}

var errNowhereToWait = errors.New("a call that needs approval waits in the Memory, which must be Resumable: use that of a session, or NewTranscript")

// begin opens a turn with a message.
func (c *chat) begin(ctx context.Context, m llms.Message) error {
	if err := c.leave(ctx); err != nil {
		return err
	}
	if err := c.memory.Append(ctx, m); err != nil {
		return fmt.Errorf("recording the message: %w", err)
	}
	return nil
}

// heldKey is the key of the memories that a chat and those above it hold.
type heldKey struct{}

// takeTurn waits until no other chat writes to the agent's memory. The context
// it returns tells sub-agents who has it.
func (a *Agent) takeTurn(ctx context.Context) (held context.Context, done func(), err error) {
	memory := a.config.Memory
	above, _ := ctx.Value(heldKey{}).([]Memory)
	for _, m := range above {
		if reflect.ValueOf(m).Comparable() && m == memory {
			return ctx, nil, ErrSharedMemory
		}
	}
	if taker, ok := memory.(TurnTaker); ok {
		done, err = taker.TakeTurn(ctx)
	} else {
		done, err = a.turns.Take(ctx, "")
	}
	if err != nil {
		if ctx.Err() != nil {
			err = gaveUp(ctx)
		}
		return ctx, nil, err
	}
	return context.WithValue(ctx, heldKey{}, append(slices.Clone(above), memory)), done, nil
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
		if limit := c.config.MaxChatTokens; c.tokens >= limit {
			return "", fmt.Errorf("%w: %d of %d tokens (see MaxChatTokens)", ErrChatBudget, c.tokens, limit)
		}
		answer, err := c.ask(ctx)
		if err != nil {
			return "", err
		}
		calls := answer.Message.ToolCalls()
		if len(calls) == 0 {
			text, err := finalText(answer)
			if err == nil && c.schema != nil {
				if again, err := c.askAgain(ctx, text); again || err != nil {
					if err != nil {
						return "", err
					}
					continue
				}
			}
			return text, err
		}
		if err := c.mayCall(round, len(calls)); err != nil {
			return "", errors.Join(err, c.record(ctx, calls, refuseAll(calls, err)))
		}
		run, wait := c.split(ctx, calls)
		if err := c.act(ctx, run, wait); err != nil {
			return "", err
		}
	}
}

// mayCall returns why a chat may make no more tool calls, or nil.
func (c *chat) mayCall(round, calls int) error {
	if round >= c.config.MaxToolIterations {
		return fmt.Errorf("%w: %d rounds", ErrTooManyIterations, c.config.MaxToolIterations)
	}
	if c.calls += calls; c.calls > c.config.MaxToolCalls {
		return fmt.Errorf("%w: %d tool calls (see MaxToolCalls)", ErrChatBudget, c.config.MaxToolCalls)
	}
	return nil
}

// A call that was made warnRepeats times with the same result has a remark in its result, and
// the chat ends after mostRepeats.
const (
	warnRepeats = 3
	mostRepeats = 6
)

// sameCall is equal for calls with the same arguments and the same result.
func sameCall(call llms.ToolCall, result core.Result) string {
	key := fmt.Sprintf("%q %q %v %v", call.Name, call.Arguments, result.IsError, result.Text)
	for _, b := range result.Blobs {
		key += fmt.Sprintf(" %q %x", b.URL, sha256.Sum256(b.Data))
	}
	return key
}

// remarked returns the result of a call as the model reads it. It reads what earlier rounds have
// counted, which does not change while the calls of a round run.
func (c *chat) remarked(call llms.ToolCall, result core.Result) core.Result {
	if n := c.seen[sameCall(call, result)] + 1; n >= warnRepeats {
		result.Text += fmt.Sprintf("\n\n[You made this call %d times with this result. Use it, or do something else.]", n)
	}
	return result
}

// repeats counts the rounds, one after the other, in which every call was made before with the same
// arguments and the same result.
func (c *chat) repeats(calls []llms.ToolCall, results []core.Result) error {
	now := map[string]int{}
	isNew := false
	for i, call := range calls {
		key := sameCall(call, results[i])
		now[key] = c.seen[key] + 1
		isNew = isNew || now[key] == 1
		if n := now[key]; n >= mostRepeats {
			return fmt.Errorf("%w: %s, %d times with the same arguments and the same result", ErrRepeated, call.Name, n)
		}
	}
	if isNew {
		clear(c.seen)
	}
	maps.Copy(c.seen, now)
	return nil
}

// finalText returns the answer that ends a chat, or why there is none.
func finalText(answer llms.Response) (string, error) {
	text := answer.Message.PlainText()
	switch said := strings.TrimSpace(text); {
	case answer.Stop == llms.StopRefusal && said != "":
		return "", fmt.Errorf("%w: %s", ErrRefused, said)
	case answer.Stop == llms.StopRefusal:
		return "", ErrRefused
	case said == "" && answer.Stop == llms.StopLength:
		return "", fmt.Errorf("%w: it ran into the limit of tokens before its first word (see MaxTokens)", ErrEmpty)
	case said == "":
		return "", ErrEmpty
	}
	return text, nil
}

// ask calls the model once and records its answer.
func (c *chat) ask(ctx context.Context) (llms.Response, error) {
	messages, err := c.memory.Context(ctx)
	if err != nil {
		return llms.Response{}, fmt.Errorf("reading the conversation: %w", err)
	}
	request := llms.Request{
		Model: c.config.Model, System: c.system, Messages: inOrder(withoutPartial(messages)), Tools: c.specs,
		MaxTokens: c.config.MaxTokens, Temperature: c.config.Temperature, Effort: c.config.Effort,
	}
	if c.schema != nil {
		request.Schema = c.schema.JSON()
		request.System += "\n\nEnd with one JSON object and nothing else. It must fit this JSON Schema:\n" + string(request.Schema)
	}
	answer, err := c.stream(ctx, request)
	// A call that broke off costs too.
	if usage := answer.Usage; err == nil || usage != (llms.Usage{}) {
		c.emit(core.Event{Kind: core.EventUsage, Usage: &usage, Stop: answer.Stop})
	}
	c.tokens += answer.Usage.Total()
	if c.scope.Delegated() {
		c.scope.Charge(answer.Usage)
	}
	if err != nil {
		return answer, errors.Join(err, c.recordPartial(ctx, answer.Message))
	}
	// Providers refuse an empty message, and one of just reasoning, when it is
	// sent back.
	if len(answer.Message.ToolCalls()) > 0 || strings.TrimSpace(answer.Message.PlainText()) != "" {
		if err := c.memory.Append(ctx, answer.Message); err != nil {
			return answer, fmt.Errorf("recording the answer: %w", err)
		}
	}
	return answer, nil
}

// withoutPartial leaves out an answer that broke off at the end of the conversation: the model
// answers anew.
func withoutPartial(messages []llms.Message) []llms.Message {
	for len(messages) > 0 && messages[len(messages)-1].Role == llms.RoleAssistant && messages[len(messages)-1].Meta[MetaInterrupted] == true {
		messages = messages[:len(messages)-1]
	}
	return messages
}

// inOrder puts the results of a round into the order of its calls. They were recorded as they came.
func inOrder(messages []llms.Message) []llms.Message {
	place := map[string]int{}
	at := func(m llms.Message) int {
		if r := m.ToolResults(); m.Role == llms.RoleTool && len(r) > 0 {
			return place[r[0].CallID]
		}
		return -1
	}
	messages = slices.Clone(messages)
	from := 0 // of the results up to i
	for i, m := range messages {
		for n, call := range m.ToolCalls() {
			place[call.ID] = n
		}
		if at(m) < 0 {
			from = i + 1
		}
		slices.SortStableFunc(messages[from:i+1], func(a, b llms.Message) int { return cmp.Compare(at(a), at(b)) })
	}
	return messages
}

// stream runs one call of the model, with hooks around it.
func (c *chat) stream(ctx context.Context, r llms.Request) (answer llms.Response, err error) {
	_, model := modelName(c.config.LLMEngine)
	model = cmp.Or(r.Model, model)
	ctx, span := c.span(ctx, "chat", model, tracing.Client)
	span.GenAI("request.model", model)
	defer func() {
		span.GenAI("response.id", answer.Message.ID)
		span.GenAI("response.model", answer.Model)
		if reason, ok := finishReasons[answer.Stop]; ok {
			span.GenAI("response.finish_reasons", []string{reason})
		}
		span.GenAI("usage.input_tokens", answer.Usage.InputTokens)
		span.GenAI("usage.output_tokens", answer.Usage.OutputTokens)
		endSpan(span, err)
	}()
	for _, h := range c.config.ModelHooks {
		if h.Before != nil {
			if err := h.Before(ctx, &r); err != nil {
				return llms.Response{}, err
			}
		}
	}
	answer, err = c.relay(ctx, r)
	for _, h := range slices.Backward(c.config.ModelHooks) {
		if h.After != nil {
			h.After(ctx, r, answer, err)
		}
	}
	return answer, err
}

// relay runs one call of the model and relays its events.
func (c *chat) relay(ctx context.Context, r llms.Request) (llms.Response, error) {
	var collected llms.Collector
	ids := map[string]bool{}
	for event, err := range c.config.LLMEngine.Stream(ctx, r) {
		if err != nil {
			collected.Fail(err)
			return collected.Response(), err
		}
		if event.Call != nil {
			call := *event.Call
			call.ID = unused(ids, call.ID)
			event.Call = &call
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
			if event.Call != nil {
				call := *event.Call
				c.emit(core.Event{Kind: core.EventToolCall, Call: &call})
			}
		}
	}
	if !collected.Ended() {
		return collected.Response(), llms.Truncated(ctx, c.config.LLMEngine.Name()).Costing(collected.Response().Usage)
	}
	return collected.Response(), nil
}

// unused returns an id that no other call of the answer has: results, decisions and notes name
// their call by its id.
func unused(ids map[string]bool, id string) string {
	for n, base := 2, id; ids[id]; n++ {
		id = fmt.Sprintf("%s-%d", base, n)
	}
	ids[id] = true
	return id
}

// recordPartial keeps the text of a failed call: a user has seen it. It leaves out
// calls, which would stay without results, and unfinished reasoning, which lacks
// its signature.
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
	if len(calls) == 0 {
		return nil
	}
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
	m := llms.Result(call.ID, call.Name, r.ModelText(), r.IsError)
	result := m.Parts[0].Result
	for _, b := range r.Blobs {
		result.Output = append(result.Output, llms.Part{Kind: llms.PartBlob, Blob: &b})
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
