package agents_test

import (
	"context"
	"fmt"

	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/tools"
)

func ExampleNew() {
	// A scripted model stands in for a real one, such as anthropic.New(…).
	model := llmtest.New(llmtest.Script(
		llmtest.Call("foo", map[string]any{"echo": "hello"}),
		llmtest.Say("Foo said hello."),
	))
	agent, err := agents.New(agents.AgentConfig{
		LLMEngine: model,
		AgentName: "my-agent",
		Tools:     []llms.Tool{tools.NewFooTool(), tools.NewExpandTool()},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for e := range agent.ChatStream("Greet foo.").StartContext(context.Background()).Events() {
		switch e.Kind {
		case core.EventToolCall:
			fmt.Println("call:", e.Call.Name, e.Call.Arguments)
		case core.EventToolResult:
			fmt.Println("result:", e.Result.Text)
		case core.EventDone:
			fmt.Println("answer:", e.Text)
		}
	}
	// Output:
	// call: foo {"echo":"hello"}
	// result: hello
	// answer: Foo said hello.
}
