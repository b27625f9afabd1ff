// Package agents runs agents: a model, its tools, its sub-agents and a memory.
//
//	agent, err := agents.New(agents.AgentConfig{
//		LLMEngine: llm,
//		AgentName: "my-agent",
//		Tools:     []llms.Tool{tools.NewFooTool(), tools.NewExpandTool()},
//	})
//	if err != nil {
//		return err // all errors of the config
//	}
//	answer, err := agent.ChatStream("hello").StartContext(ctx).Text()
//
// [NewAgent] returns no error: for a bad config it returns an agent whose chats all
// fail with that error. Use it where the config is a constant of the program.
//
// # The loop
//
// A chat asks the model, runs the tools that it calls in parallel, and asks again
// until the model calls none. Text, reasoning, calls, results and usage appear in
// the stream as they happen. A failure of a tool goes to the model as "Error: …",
// so that it can correct the call: an unknown name, broken JSON, bad arguments, an
// error, a panic, a tool that does not answer. Other failures end the stream with
// an error: [ErrRefused], [ErrEmpty], an [*llms.Error] of the provider. An answer cut by a limit
// of tokens is an answer; the Stop of the last event says so. The config bounds rounds,
// calls and tokens of a chat, and anew of each [Agent.Continue]; the context bounds the time.
// When every call of three rounds in a row was made before with the same result, the model is
// told; after six the chat ends ([ErrRepeated]).
//
// # The prompt
//
// The system prompt carries one line for each tool and sub-agent. The model reads
// the rest with expand, if the agent has that tool. An agent with sub-agents gets
// the tool delegate, and its prompt lists them under [SUB AGENTS].
//
// # Memory
//
// Without a [Memory] every chat is a new conversation, and one agent may run any
// number at once. With one, chats continue one conversation and run one after the
// other. Session.Memory of package lcm returns a memory.
//
// # Turns that survive
//
// A turn that broke off is continued with [Agent.Continue], also by another process, if the
// memory is [Resumable]. A tool call that needs approval ends the chat with an [ApprovalError]; after
// [Decide], Continue goes on. What a tool declares of its calls is its [core.Behavior].
// One process asks, and another one decides, with the same session of package lcm as memory:
//
//	answer, err := agents.Run[Order](ctx, agent, "Order two pumps.")
//	if waits, ok := errors.AsType[*agents.ApprovalError](err); ok {
//		fmt.Println("waits for approval:", waits.Calls) // the program may end here
//	}
//
//	pending, err := session.Pending(ctx) // in the other process
//	for _, call := range pending.Waiting() {
//		err = session.Approve(ctx, call.ID, "ann", "it is in the budget") // or Deny
//	}
//	answer, err = agents.Continue[Order](ctx, agent) // or agent.Continue(ctx)
//
// Continue also goes on with a turn of which nothing waits, and ends with an ApprovalError again
// while a call is undecided. A turn whose answer did not fit its type is over.
//
// # Agents as sub-agents
//
// An [Agent] is a [core.SubAgent]. A [tools.Scope] bounds how deep and how often sub-agents
// hand work on. One that hands work on must say what it keeps (kept_work), and may not pass on
// nearly the task it was given: the model is told why, and to do the work itself. Names with
// line breaks, which could forge a section of a prompt, are refused when the agent is made.
//
// # Traces
//
// A program that sets an OpenTelemetry provider (otel.SetTracerProvider) gets a span for each chat
// (invoke_agent), model call (chat) and tool call (execute_tool), with names, ids, sizes and
// tokens, never text (gen_ai.…). The id of a conversation is the key of its session.
//
// The package knows no provider and stores nothing: it calls an [llms.Model] and
// leaves storage to the Memory.
package agents
