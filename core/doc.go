// Package core is the vocabulary of the agent runtime: what a tool, a
// sub-agent and an answer in the making are. It imports nothing else of the
// module, so tools and agents can be written against it alone.
//
// # Capabilities that describe themselves
//
// [Discoverable] is the contract of progressive discovery. A prompt carries
// only the basic description of each tool and sub-agent; the advanced text and
// the troubleshooting text are fetched when a model asks for them, with the
// expand tool of package tools.
//
// # Tools
//
// A [Tool] has a name, parameters as JSON Schema and two ways in. Run is for
// programs: it takes a context and returns a [Result] or an error. Call is for
// reading: it returns the text a model sees, with errors as "Error: …".
// [NewTool] makes a tool from a Go function and derives the schema from its
// argument struct, so that a bad call becomes an [ArgumentError] that says
// what to mend, instead of a crash or a silent default.
//
// # Agents as tools' surroundings
//
// [AgentContext] tells a tool about the agent that runs it: which tools and
// sub-agents it has, and the context that carries cancellation. It travels
// inside a context.Context ([WithAgentContext], [AgentContextFrom]); a literal
// map[string]any with the keys "tools" and "subAgents" is one too.
//
// # Answers
//
// A [SubAgent] answers with a call that is prepared by ChatStream and run by
// Start or StartContext, like exec.Cmd. The [Stream] it returns is a log of
// events that ends in exactly one [EventDone] or [EventError]. The log never
// makes the writer wait: a reader that goes away loses nothing for other
// readers and leaves no goroutine behind.
//
// Messages and models are in package llms, the
// tools themselves in package tools, the loop in package agents.
package core
