package core

import (
	"context"
	"reflect"
)

// AgentContext tells a tool about the agent that runs it. It is a plain map, so
// that a literal map[string]any{"tools": …, "subAgents": …} fits wherever one
// is wanted; the accessors read it without trusting its types.
type AgentContext map[string]any

// The keys that the runtime fills in.
const (
	KeyTools     = "tools"     // []Tool
	KeySubAgents = "subAgents" // []SubAgent
	KeyAgentName = "agentName" // string
	KeyContext   = "context"   // context.Context
)

// Tools returns the tools under the key "tools". Any slice will do: elements
// that are not tools, or nil, are left out.
func (ac AgentContext) Tools() []Tool { return elements[Tool](ac[KeyTools]) }

// SubAgents returns the sub-agents under the key "subAgents". Any slice will
// do, also one of a concrete agent type.
func (ac AgentContext) SubAgents() []SubAgent { return elements[SubAgent](ac[KeySubAgents]) }

// AgentName returns the name of the agent that runs the tool, or "".
func (ac AgentContext) AgentName() string {
	name, _ := ac[KeyAgentName].(string)
	return name
}

// Context returns the context that carries cancellation and deadlines. A map
// without one has the background context: a literal has no other to give.
func (ac AgentContext) Context() context.Context {
	if ctx, ok := ac[KeyContext].(context.Context); ok && ctx != nil {
		return ctx
	}
	return context.Background()
}

// elements reads v as a slice of T. A slice of another element type is read
// element by element, because a developer who writes []*agents.Agent has
// written down sub-agents all the same.
func elements[T any](v any) []T {
	rv := reflect.ValueOf(v)
	if rv.Kind() != reflect.Slice && rv.Kind() != reflect.Array {
		return nil
	}
	var ts []T
	for i := range rv.Len() {
		if t, ok := rv.Index(i).Interface().(T); ok && !IsNil(t) {
			ts = append(ts, t)
		}
	}
	return ts
}

type agentContextKey struct{}

// WithAgentContext returns a context that carries ac to tools.
func WithAgentContext(ctx context.Context, ac AgentContext) context.Context {
	return context.WithValue(ctx, agentContextKey{}, ac)
}

// AgentContextFrom returns the agent context that ctx carries, with ctx itself
// as its context. Outside an agent it is empty but for that.
func AgentContextFrom(ctx context.Context) AgentContext {
	carried, _ := ctx.Value(agentContextKey{}).(AgentContext)
	ac := make(AgentContext, len(carried)+1)
	for key, value := range carried {
		ac[key] = value
	}
	ac[KeyContext] = ctx
	return ac
}

type emitterKey struct{}

// WithEmitter returns a context whose tools can add events to the stream of
// the agent that runs them.
func WithEmitter(ctx context.Context, emit func(Event)) context.Context {
	return context.WithValue(ctx, emitterKey{}, emit)
}

// Emit adds an event to the stream of the agent that runs the current tool.
// Outside an agent it does nothing.
func Emit(ctx context.Context, e Event) {
	if emit, ok := ctx.Value(emitterKey{}).(func(Event)); ok && emit != nil {
		emit(e)
	}
}
