package lcm_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/recall"
	"github.com/lossless-context/lcm/record"
)

// stockArgs are the arguments of the tool stock.
type stockArgs struct {
	Part string `json:"part" description:"Number of the part"`
}

// An agent with a memory, and with a tool of the program's own.
func Example_agent() {
	ctx := context.Background()
	engine, done := open(ctx)
	defer done()

	stock, err := core.NewTool(core.ToolInfo{Name: "stock", Description: "Counts the parts in the warehouse"},
		func(_ context.Context, in stockArgs) (core.Result, error) {
			return core.TextResult("12 of " + in.Part), nil
		})
	if err != nil {
		log.Fatal(err)
	}
	model := llmtest.New(llmtest.Script( // a program takes one of llms/anthropic or llms/openai
		llmtest.Call("stock", stockArgs{Part: "MK-2207"}),
		llmtest.Say("There are 12."),
	))
	session := engine.Session("warehouse/1", lcm.WithAgent("clerk"))
	agent, err := agents.New(agents.AgentConfig{
		LLMEngine: model, AgentName: "clerk", Tools: []core.Tool{stock}, Memory: session.Memory(128_000),
	})
	if err != nil {
		log.Fatal(err)
	}
	for e := range agent.ChatStream("How many MK-2207 are there?").StartContext(ctx).EventsContext(ctx) {
		if e.Kind == core.EventDone {
			fmt.Println(e.Text)
		}
	}
	for m, err := range session.Messages(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(m.ID, m.Body.Role)
	}
	// Output:
	// There are 12.
	// msg_1 user
	// msg_2 assistant
	// msg_3 tool
	// msg_4 assistant
}

// A program lists the sessions of a store, searches one, and opens the summary of a match
// down to its messages.
func Example_read() {
	ctx := context.Background()
	engine, done := open(ctx, lcm.WithBudget(4_000), lcm.WithPolicy(lcm.Policy{ViewPolicy: lcm.ViewPolicy{FreshTail: 8}}))
	defer done()

	session := engine.Session("monday", lcm.WithTitle("ports"))
	for i := range 40 {
		said := fmt.Sprintf("The port of host %d is %d.%s", i, 8400+i, strings.Repeat(" It was checked again.", 20))
		if err := session.Append(ctx, llms.User(said)); err != nil {
			log.Fatal(err)
		}
	}
	if err := engine.Settle(ctx); err != nil { // the folding in the background is done
		log.Fatal(err)
	}
	for c, err := range engine.Conversations(ctx, record.ConversationQuery{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(c.ID, c.Key, c.Title, c.Messages)
	}
	found, err := session.Grep(ctx, recall.GrepRequest{Pattern: "host 3 is", Kinds: recall.InMessages})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range found.Matches {
		fmt.Println(m.ID, m.Snippet[:29])
		one, err := session.Describe(ctx, recall.DescribeRequest{ID: m.ID})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(one.Type, one.Role, one.ByteSize)
		all, err := session.Expand(ctx, recall.ExpandRequest{SummaryIDs: []record.SummaryID{m.CoveredBy}})
		if err != nil {
			log.Fatal(err)
		}
		p := all.Pieces[0]
		fmt.Println(p.ID, p.Text[:29], p.Complete)
	}
	// Output:
	// 1 monday ports 40
	// msg_4 The port of host 3 is 8403. I
	// message user 467
	// msg_1 The port of host 0 is 8400. I true
}
