package lcm_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/store/sqlite"
)

// An agent whose memory is a session has the recall tools, and the paragraph
// about them in its system prompt.
func ExampleSession_Memory() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "lcm-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := sqlite.Open(ctx, filepath.Join(dir, "agent.db"), sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	engine, err := lcm.New(db)
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close(ctx)

	var model llms.Model = llmtest.New(llmtest.Script(
		llmtest.Say("Noted."),
		llmtest.Call(lcm.GrepName, map[string]any{"pattern": "berth \\d+"}),
		llmtest.Say("Berth 17."),
	))
	agent, err := agents.New(agents.AgentConfig{
		LLMEngine: model, AgentName: "harbour-master",
		Memory: engine.Session("harbour").Memory(32_000, lcm.WithCallerModel(model)),
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, text := range []string{"The Halcyon got berth 17.", "Where is the Halcyon?"} {
		answer, err := agent.ChatStream(text).StartContext(ctx).Text()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(answer)
	}
	for _, tool := range agent.Tools() {
		fmt.Println("-", tool.GetName())
	}
	// Output:
	// Noted.
	// Berth 17.
	// - lcm_grep
	// - lcm_describe
	// - lcm_expand_query
	// - expand
}
