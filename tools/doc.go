// Package tools holds the tools that every agent can be given, and what wraps
// tools.
//
// [NewExpandTool] is progressive discovery: a system prompt carries one line
// for each tool and sub-agent, and expand fetches the rest when a model wants
// it. [Expand] is the same as a function, for command lines and tests.
// [NewDelegateTool] hands a task to a sub-agent and relays its output.
// [NewFooTool] echoes, for trying things out.
//
// What the tools say to a model is prose, and is written as prose: expand.md,
// foo.md and delegate.md are embedded in the program.
//
// Delegation is bounded by a [Scope]: how deep it may nest, how often work may
// be handed on, and how many tokens it may cost. A scope can only shrink, and
// work that is handed on nearly unchanged is refused, so delegation always
// comes to an end.
//
// [WithHooks] decorates a tool with functions that run before and after it.
//
// The tools read what they need about the agent that runs them from the
// [core.AgentContext] that travels in their context. Running a model is left to
// package agents.
package tools
