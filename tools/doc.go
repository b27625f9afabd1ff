// Package tools has tools for any agent, and wrappers for tools.
//
//	agent, err := agents.New(agents.AgentConfig{
//		LLMEngine: model,
//		AgentName: "my-agent",
//		Tools:     []llms.Tool{tools.NewExpandTool(), myTool},
//	})
//
// [NewExpandTool] is for progressive discovery: a system prompt has one line for
// each tool and sub-agent, and expand returns the full description when a model
// asks for it:
//
//	expand(subject_type: "tool" | "agent", subject_name: string, troubleshoot: bool = false) -> string
//
// The answer has the sections "=== TOOL: name ===" (or AGENT), 📄 Basic Description, 📚 Advanced
// Description and, on request, 🔧 Troubleshooting. A subject that is not found, another subject_type, and
// a tool that is not [core.Discoverable] are answered with a text that begins with "Error: ". [Expand] is the
// same as a function, for command lines and tests.
//
// [NewDelegateTool] gives a task to a sub-agent and relays its events:
//
//	delegate(agent_name: string, task: string, kept_work: string = "") -> string
//
// [ConnectMCP] returns the tools of an MCP server. [NewFooTool] echoes its argument, for experiments.
//
// The texts for models are in expand.md, delegate.md and foo.md.
//
// A [Scope] bounds delegation: its depth, the number of tasks, and the tokens they
// may cost. A scope can only shrink, and a task that repeats an earlier one is
// refused, so delegation always ends.
//
// [WithHooks] returns a tool that calls functions before and after each run.
//
// The tools read the [core.AgentContext] in their context. Package agents runs the
// model.
package tools
