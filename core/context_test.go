package core_test

import (
	"context"
	"testing"

	"github.com/lossless-context/lcm/core"
)

type helper struct{}

func (helper) Name() string               { return "helper" }
func (helper) BasicDescription() string   { return "helps" }
func (helper) AdvanceDescription() string { return "" }
func (helper) Troubleshooting() string    { return "" }
func (helper) ChatStream(message string) core.IResponseChStarter {
	return speak(message)
}

func TestAgentContextReadsAnySlice(t *testing.T) {
	tool := adder(t)
	tests := []struct {
		name             string
		ac               core.AgentContext
		tools, subAgents int
	}{
		{"the seed's types", core.AgentContext{"tools": []core.Tool{tool}, "subAgents": []core.SubAgent{helper{}}}, 1, 1},
		{"concrete types", core.AgentContext{"tools": []*core.FuncTool{tool, tool}, "subAgents": []helper{{}}}, 2, 1},
		{"any, with strangers", core.AgentContext{"tools": []any{tool, 5, nil}, "subAgents": [1]any{helper{}}}, 1, 1},
		{"no slices", core.AgentContext{"tools": tool, "subAgents": "helper"}, 0, 0},
		{"empty", core.AgentContext{}, 0, 0},
		{"nil", nil, 0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := len(test.ac.Tools()); got != test.tools {
				t.Errorf("%d tools, want %d", got, test.tools)
			}
			if got := len(test.ac.SubAgents()); got != test.subAgents {
				t.Errorf("%d sub-agents, want %d", got, test.subAgents)
			}
			if test.ac.Context() == nil {
				t.Error("no context")
			}
		})
	}
}

func TestAgentContextTravelsInAContext(t *testing.T) {
	type key struct{}
	outer := context.WithValue(t.Context(), key{}, "outer")
	ctx := core.WithAgentContext(outer, core.AgentContext{core.KeyAgentName: "main", "own": 7})
	ac := core.AgentContextFrom(ctx)
	if ac.AgentName() != "main" || ac["own"] != 7 || ac.Context().Value(key{}) != "outer" {
		t.Errorf("got %v", ac)
	}
	if ac := core.AgentContextFrom(outer); ac.AgentName() != "" || ac.Context() != outer {
		t.Errorf("outside an agent: %v", ac)
	}
}

func TestEmitReachesTheAgent(t *testing.T) {
	var got []core.Event
	ctx := core.WithEmitter(t.Context(), func(e core.Event) { got = append(got, e) })
	core.Emit(ctx, core.Event{Kind: core.EventText, Text: "hello"})
	core.Emit(t.Context(), core.Event{Kind: core.EventText, Text: "nobody listens"})
	if len(got) != 1 || got[0].Text != "hello" {
		t.Errorf("got %v", got)
	}
}
