package agents

import (
	"context"
	"slices"
	"sync"

	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/kit/turns"
	"github.com/lossless-context/lcm/llms"
)

// Memory keeps the conversation of an agent. The agent asks it for the context
// before every call of the model, so a memory may bound the context. The agent
// never removes a message.
//
// A conversation is a sequence in which a tool call is followed by its result,
// so the chats of an agent take turns on its memory. Chats of several agents
// do so if the memory is a [TurnTaker].
type Memory interface {
	// Append records messages at the end of the conversation. A chat whose
	// messages cannot be recorded ends with the error.
	Append(ctx context.Context, ms ...llms.Message) error
	// Context returns the messages that the model shall see now.
	Context(ctx context.Context) ([]llms.Message, error)
	// Guidance is added to the system prompt. It tells the model how to use the
	// memory, and may be empty.
	Guidance() string
	// Tools are added to the agent's tools. With them the model recalls messages
	// that the context does not show.
	Tools() []core.Tool
}

// TurnTaker is a Memory that several agents may share: it, and not each of
// them, decides whose turn it is.
type TurnTaker interface {
	// TakeTurn waits until no other chat has the turn, or ctx ends. The chat
	// that took the turn gives it back with done.
	TakeTurn(ctx context.Context) (done func(), err error)
}

// Transcript is a Memory that keeps every message in process and shows them
// all. Its zero value is empty and ready.
type Transcript struct {
	turns    turns.Turns
	mu       sync.Mutex
	messages []llms.Message
}

var (
	_ Resumable = (*Transcript)(nil)
	_ TurnTaker = (*Transcript)(nil)
)

// NewTranscript returns a memory that begins with the given messages.
func NewTranscript(ms ...llms.Message) *Transcript {
	return &Transcript{messages: slices.Clone(ms)}
}

// TakeTurn implements [TurnTaker].
func (t *Transcript) TakeTurn(ctx context.Context) (done func(), err error) {
	return t.turns.Take(ctx, "")
}

// Append implements [Memory].
func (t *Transcript) Append(_ context.Context, ms ...llms.Message) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.messages = append(t.messages, ms...)
	return nil
}

// Context implements [Memory].
func (t *Transcript) Context(context.Context) ([]llms.Message, error) { return t.Messages(), nil }

// Guidance implements [Memory].
func (t *Transcript) Guidance() string { return "" }

// Tools implements [Memory].
func (t *Transcript) Tools() []core.Tool { return nil }

// Messages returns everything that was said.
func (t *Transcript) Messages() []llms.Message {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(t.messages), func(m llms.Message) bool { _, ok := noteOf(m); return ok })
}

// Turn implements [Resumable].
func (t *Transcript) Turn(context.Context) ([]llms.Message, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	from := len(t.messages)
	for from > 0 {
		if from--; t.messages[from].Role == llms.RoleUser {
			break
		}
	}
	return slices.Clone(t.messages[from:]), nil
}

// Note implements [Resumable].
func (t *Transcript) Note(_ context.Context, m llms.Message) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slices.ContainsFunc(t.messages, func(other llms.Message) bool { return other.ID == m.ID }) {
		return false, nil
	}
	t.messages = append(t.messages, m)
	return true, nil
}
