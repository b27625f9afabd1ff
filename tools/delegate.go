package tools

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/lossless-context/lcm/core"
)

//go:embed delegate.md
var delegateText string

// DelegateName is the name of the delegate tool.
const DelegateName = "delegate"

type delegateArgs struct {
	AgentName string `json:"agent_name" description:"The exact name of the sub-agent (case-sensitive)"`
	Task      string `json:"task" description:"What the sub-agent shall do, with everything it needs to know"`
	KeptWork  string `json:"kept_work,omitempty" description:"What you keep for yourself; required if your own task was delegated to you"`
}

// NewDelegateTool returns the tool "delegate", which hands a task to a
// sub-agent of the agent that calls it. The sub-agent's events appear in the
// caller's stream under its name; its final answer is the result. The [Scope] of
// the context bounds the delegation.
func NewDelegateTool() *core.FuncTool {
	return core.MustTool(core.MustToolInfo(DelegateName, delegateText), delegate)
}

func delegate(ctx context.Context, in delegateArgs) (core.Result, error) {
	var agent core.SubAgent
	for _, a := range core.AgentContextFrom(ctx).SubAgents() {
		if a.Name() == in.AgentName {
			agent = a
			break
		}
	}
	if agent == nil {
		return agentNotFound(in.AgentName), nil
	}
	scope := ScopeFrom(ctx)
	if scope == nil {
		scope = NewScope(Budget{}) // called outside an agent: the bounds of one chat
	}
	inner, err := scope.HandOff(in.Task, in.KeptWork)
	if err != nil {
		return core.Result{}, err
	}
	call := agent.ChatStream(in.Task)
	if core.IsNil(call) {
		return core.Result{}, fmt.Errorf("sub-agent '%s' cannot be started", in.AgentName)
	}
	return relay(ctx, in.AgentName, inner, call.StartContext(WithScope(ctx, inner)))
}

// relay passes on the events of a sub-agent until it ends. A sub-agent that
// does not end with its context is not waited for.
func relay(ctx context.Context, name string, scope *Scope, stream *core.Stream) (core.Result, error) {
	defer stream.Stop()
	for e := range stream.EventsContext(ctx) {
		if !e.Terminal() {
			core.Emit(ctx, e.Relayed(name))
			continue
		}
		if e.Usage != nil {
			scope.settle(*e.Usage)
		}
		if e.Err != nil {
			return core.Result{}, fmt.Errorf("sub-agent '%s' failed: %w", name, e.Err)
		}
		return core.TextResult(e.Text), nil
	}
	return core.Result{}, fmt.Errorf("sub-agent '%s' was given up: %w", name, context.Cause(ctx))
}
