package llmtest_test

import (
	"context"
	"fmt"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/store/sqlite"
)

// The function under test: an agent with a tool of its own, and a memory.
func newHarbourAgent(model llms.Model, memory agents.Memory) (*agents.Agent, error) {
	type ship struct {
		Name string `json:"name" description:"The name of the ship"`
	}
	berth, err := core.NewTool(core.ToolInfo{Name: "berth", Description: "Tells where a ship lies"},
		func(_ context.Context, in ship) (core.Result, error) {
			return core.TextResult(in.Name + " lies at berth 7"), nil
		})
	if err != nil {
		return nil, err
	}
	return agents.New(agents.AgentConfig{LLMEngine: model, AgentName: "harbour", Tools: []llms.Tool{berth}, Memory: memory})
}

// A test of an agent scripts the model, keeps the conversation in memory, and
// looks at the answers and at the requests that the model got.
func Example_testAnAgent() {
	ctx := context.Background()
	model := llmtest.New(llmtest.Script(
		llmtest.Call("berth", map[string]any{"name": "Halcyon"}),
		llmtest.Say("At berth 7."),
		llmtest.Say("You asked about the Halcyon."),
	))
	db, err := sqlite.Open(ctx, sqlite.Memory, sqlite.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	engine, err := lcm.New(db)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close(ctx)
	agent, err := newHarbourAgent(model, engine.Session("test").Memory(4_000))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, question := range []string{"Where is the Halcyon?", "What did I ask?"} {
		answer, err := agent.ChatStream(question).StartContext(ctx).Text()
		fmt.Println(answer, err)
	}
	requests := model.Requests()
	second := requests[1].Messages
	fmt.Println(len(requests), "requests; the tool said:", second[len(second)-1].Render())
	third := requests[2].Messages
	fmt.Println("the model still sees:", third[0].PlainText())
	// Output:
	// At berth 7. <nil>
	// You asked about the Halcyon. <nil>
	// 3 requests; the tool said: ← berth: Halcyon lies at berth 7
	// the model still sees: Where is the Halcyon?
}
