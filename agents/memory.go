package agents

import (
	"context"
	"slices"
	"sync"

	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/llms"
)

// Memory is what an agent remembers a conversation with. It is asked for the
// context before every call of the model, so that it may bound what the model
// sees; what was appended is never taken back.
type Memory interface {
	// Append records messages at the end of the conversation. A chat whose
	// messages cannot be recorded ends with the error.
	Append(ctx context.Context, ms ...llms.Message) error
	// Context returns the messages that the model shall see now.
	Context(ctx context.Context) ([]llms.Message, error)
	// Guidance is added to the system prompt: what a model has to know about
	// the memory to use it. It may be empty.
	Guidance() string
	// Tools are added to the agent's tools: ways to recall what the context
	// does not show.
	Tools() []core.Tool
}

// Transcript is a Memory that keeps every message in process and shows them
// all. Its zero value is empty and ready.
type Transcript struct {
	mu       sync.Mutex
	messages []llms.Message
}

// NewTranscript returns a memory that begins with the given messages.
func NewTranscript(ms ...llms.Message) *Transcript {
	return &Transcript{messages: slices.Clone(ms)}
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
	return slices.Clone(t.messages)
}
