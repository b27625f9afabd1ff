// Package agents runs agents: a model, its tools, its sub-agents and a memory.
//
//	agent, err := agents.New(agents.AgentConfig{
//		LLMEngine: llm,
//		AgentName: "my-agent",
//		Tools:     []llms.Tool{tools.NewFooTool(), tools.NewExpandTool()},
//	})
//	if err != nil {
//		return err // everything that is wrong with the config
//	}
//	answer, err := agent.ChatStream("hello").StartContext(ctx).Text()
//
// [NewAgent] is the form without an error: the agent it returns for a bad config
// fails every chat with that error.
//
// # The loop
//
// A chat asks the model, runs the tools it calls, side by side, and asks
// again until the model calls none. Text, reasoning, calls, results and usage
// appear in the stream as they happen. Every error of a tool goes to the
// model as "Error: …", so that it can correct the call: an unknown name,
// broken JSON, bad arguments, an error, a panic, a tool that does not answer.
// Errors that the model cannot correct end the stream. A chat is
// bounded in rounds and, by its context, in time.
//
// # The prompt
//
// The system prompt carries one line for each tool and sub-agent. The rest is
// fetched with expand, if the agent has that tool. Sub-agents are listed under
// [SUB AGENTS] and reached with delegate, which is added when there are any.
//
// # Memory
//
// Without a [Memory] every chat stands alone, and the same agent may serve any
// number at once. With one, chats continue one conversation and take turns.
// The port is small enough that a session of the lcm engine is a memory.
//
// # Agents as sub-agents
//
// An [Agent] is a [core.SubAgent] as it is. A cycle among sub-agents is
// refused when the agent is made.
//
// The package knows no provider and stores nothing: models are behind
// [llms.Model], and the Memory keeps the messages.
package agents
