package engine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/recall/delegation"
)

// reading is what a sub-agent of the host is to do: the first message of a child has the system
// prompt and the tools. The adapter answers it with the verb reply.
type reading struct {
	Child   string      `json:"child"`
	System  string      `json:"system,omitempty"`
	Message string      `json:"message"`
	Tools   []offerTool `json:"tools,omitempty"`
}

// delegated is the answer to expand_query and reply: what a sub-agent is to do next, or the text.
type delegated struct {
	Ask *reading `json:"ask,omitempty"`
	*said
}

// question is a question that a sub-agent of the host answers.
type question struct {
	server  *server
	asks    chan reading
	replies chan request
	done    chan said
}

// delegate begins a question.
func (s *server) delegate(ctx context.Context, run func(context.Context) said) (any, error) {
	q := &question{s, make(chan reading), make(chan request), make(chan said, 1)}
	go func() { q.done <- run(delegation.WithRunner(ctx, q)) }()
	return q.next(ctx)
}

// next waits for what a sub-agent is to do next, or for the answer.
func (q *question) next(ctx context.Context) (any, error) {
	select {
	case r := <-q.asks:
		return delegated{Ask: &r}, nil
	case d := <-q.done:
		return q.end(d), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// end ends a question.
func (q *question) end(d said) delegated {
	q.server.children.Range(func(key, c any) bool {
		if c.(*child).question == q {
			q.server.children.Delete(key)
		}
		return true
	})
	return delegated{said: &d}
}

// answered gives a question the answer of its sub-agent.
func (s *server) answered(ctx context.Context, r request) (any, error) {
	c, ok := s.children.Load(r.Child)
	if !ok {
		return nil, fail(codeRequest, "child: %q answers no question", r.Child)
	}
	q := c.(*child).question
	select {
	case q.replies <- r:
		return q.next(ctx)
	case d := <-q.done: // it was given up meanwhile
		return q.end(d), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Name implements [delegation.Runner].
func (q *question) Name() string { return q.server.who.Load().host }

// Spawn implements [delegation.Runner].
func (q *question) Spawn(_ context.Context, c delegation.Child) (delegation.Session, error) {
	one := &child{question: q, Child: c, first: true}
	q.server.children.Store(c.Key, one)
	return one, nil
}

// child is a session of a sub-agent of the host. Its tools are those of its grant.
type child struct {
	*question
	delegation.Child
	first bool
}

// Ask implements [delegation.Session].
func (c *child) Ask(ctx context.Context, message string) (string, error) {
	r := reading{Child: c.Key, Message: message}
	if c.first {
		r.System = c.System
		for _, t := range c.Tools {
			r.Tools = append(r.Tools, offerTool{strings.TrimPrefix(t.GetName(), toolPrefix), t.GetName(), core.BasicDescription(t), t.Parameters()})
		}
	}
	c.first = false
	select {
	case c.asks <- r:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	select {
	case got := <-c.replies:
		if got.Problem != "" {
			return "", errors.New(got.Problem)
		}
		return got.Text, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// Close implements [delegation.Session]. The grant has ended: its tools refuse every call.
func (c *child) Close() {}

// toolPrefix begins the names of a sub-agent's tools; the rest of one is its verb.
const toolPrefix = "lcm_"

// childTool calls a tool of a sub-agent, under its grant.
func (s *server) childTool(ctx context.Context, r request) (any, error) {
	c, ok := s.children.Load(r.Child)
	if !ok {
		return nil, fail(codeRequest, "child: %q answers no question", r.Child)
	}
	at := slices.IndexFunc(c.(*child).Tools, func(t core.Tool) bool { return t.GetName() == toolPrefix+r.Verb })
	var args map[string]any
	if err := json.Unmarshal(r.Arguments, &args); err != nil || at < 0 {
		return said{"Error: the arguments are no object, or there is no such tool", true}, nil
	}
	result, err := c.(*child).Tools[at].Run(ctx, args)
	if err != nil {
		return said{"Error: " + err.Error(), true}, nil
	}
	return said{result.Text, result.IsError}, nil
}
