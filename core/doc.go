// Package core has the types that tools and agents share. It imports no other
// package of the module, so tools can be written against it alone.
//
// # Tools
//
// A [Tool] is a function that a model can call. [NewTool] makes one from a Go
// function. It derives the JSON Schema of the arguments from a struct:
//
//	type search struct {
//		Pattern string `json:"pattern" description:"Words to look for"`
//		Limit   int    `json:"limit" default:"10" minimum:"1" maximum:"100"`
//	}
//
//	tool, err := core.NewTool(
//		core.ToolInfo{Name: "search", Description: "Searches the manual"},
//		func(ctx context.Context, in search) (core.Result, error) {
//			return core.TextResult(manual.Find(ctx, in.Pattern, in.Limit)), nil
//		})
//
// A call with bad arguments returns an [ArgumentError], whose text tells the model
// how to correct the call. Tool.Run takes a context and returns a [Result] or an
// error. Tool.Call returns the text that a model reads, with errors as "Error: …".
//
// # Descriptions
//
// A tool or sub-agent that is [Discoverable] describes itself at three lengths. A
// prompt carries only the basic description. The expand tool of package tools
// returns the other two when a model asks for them.
//
// # Sub-agents and streams
//
// SubAgent.ChatStream prepares a call; Start or StartContext runs it, like
// exec.Cmd. The [Stream] that they return is a log of events that ends with one
// [EventDone] or [EventError]:
//
//	for event := range agent.ChatStream("hello").StartContext(ctx).Events() {
//		fmt.Print(event.Text)
//	}
//
// The writer never waits for readers. Each reader sees every event.
//
// # The agent around a tool
//
// An [AgentContext] tells a tool about the agent that runs it: its tools, its
// sub-agents, and the context that carries cancellation. It travels inside a
// context.Context ([WithAgentContext], [AgentContextFrom]). A literal
// map[string]any with the keys "tools" and "subAgents" is an AgentContext too.
//
// Messages and models are in package llms, ready-made tools in package tools, the
// agent loop in package agents.
package core
