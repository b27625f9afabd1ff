package lcm_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/recall"
	"github.com/lossless-context/lcm/record"
	"github.com/lossless-context/lcm/store/sqlite"
)

// open makes an engine on a database in a temporary directory.
func open(ctx context.Context, options ...lcm.Option) (engine *lcm.Engine, done func()) {
	dir, err := os.MkdirTemp("", "lcm")
	if err != nil {
		log.Fatal(err)
	}
	db, err := sqlite.Open(ctx, filepath.Join(dir, "agent.db"), sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if engine, err = lcm.New(db, options...); err != nil {
		log.Fatal(err)
	}
	return engine, func() {
		engine.Close(ctx)
		db.Close()
		os.RemoveAll(dir)
	}
}

// A program appends what is said and asks what the model should see.
func Example() {
	ctx := context.Background()
	engine, done := open(ctx)
	defer done()

	session := engine.Session("support-bot/42")
	if err := session.Append(ctx,
		llms.User("Why does the build fail?"),
		llms.Assistant("go.mod asks for Go 1.26, the image has 1.24."),
	); err != nil {
		log.Fatal(err)
	}
	view, err := session.Context(ctx, 128_000)
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range view.Messages {
		fmt.Printf("%s: %s\n", m.Role, m.PlainText())
	}
	// Output:
	// user: Why does the build fail?
	// assistant: go.mod asks for Go 1.26, the image has 1.24.
}

// An engine stands on a store, and options say how it folds.
func ExampleNew() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "lcm")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := sqlite.Open(ctx, filepath.Join(dir, "agent.db"), sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	engine, err := lcm.New(db, lcm.WithBudget(32_000), lcm.WithThresholds(0.6, 0.9))
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close(ctx)

	_, err = lcm.New(db, lcm.WithThresholds(0.9, 0.6))
	fmt.Println(err != nil)
	// Output: true
}

// A key names a session for good: whoever asks for it goes on where it ended.
func ExampleEngine_Session() {
	ctx := context.Background()
	engine, done := open(ctx)
	defer done()

	first := engine.Session("support-bot/42", lcm.WithAgent("support-bot"), lcm.WithTitle("A broken build"))
	if err := first.Append(ctx, llms.User("Why does the build fail?")); err != nil {
		log.Fatal(err)
	}
	conversation, err := engine.Session("support-bot/42").Conversation(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(conversation.Title, conversation.Messages)
	// Output: A broken build 1
}

// A message with an ID is stored once, however often it is sent.
func ExampleSession_Append() {
	ctx := context.Background()
	engine, done := open(ctx)
	defer done()

	session := engine.Session("agent")
	question := llms.User("Is it plugged in?")
	question.ID = "q-1"
	for range 2 {
		if err := session.Append(ctx, question); err != nil {
			log.Fatal(err)
		}
	}
	conversation, err := session.Conversation(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(conversation.Messages)
	// Output: 1
}

// What does not fit a budget is folded before Context returns.
func ExampleSession_Context() {
	ctx := context.Background()
	engine, done := open(ctx)
	defer done()

	session := engine.Session("long")
	for i := range 200 {
		if err := session.Append(ctx, llms.User(fmt.Sprintf("Line %d of a long log, from host-%02d.example.com.", i, i%20))); err != nil {
			log.Fatal(err)
		}
	}
	whole, err := session.Context(ctx, 128_000)
	if err != nil {
		log.Fatal(err)
	}
	small, err := session.Context(ctx, 2_000)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(whole.Messages), whole.Compaction == nil)
	fmt.Println(small.Tokens <= 2_000, small.Items[0].IsSummary())
	// Output:
	// 200 true
	// true true
}

// An agent that resends its whole history each turn gives all of it to Sync.
func ExampleSession_Sync() {
	ctx := context.Background()
	engine, done := open(ctx)
	defer done()

	session := engine.Session("agent")
	history := []llms.Message{llms.User("hello"), llms.Assistant("hi")}
	first, err := session.Sync(ctx, history)
	if err != nil {
		log.Fatal(err)
	}
	second, err := session.Sync(ctx, append(history, llms.User("what is new?")))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(first.Stored), "then", len(second.Stored))
	// Output: 2 then 1
}

// Older messages are folded into summaries; what the model sees stays within
// the budget.
func ExampleSession_Compact() {
	ctx := context.Background()
	engine, done := open(ctx, lcm.WithBudget(4_000))
	defer done()

	session := engine.Session("long")
	for i := range 300 {
		text := fmt.Sprintf("Step %d: the worker on host-%02d.example.com retried after %d ms and then went on.", i, i%20, 50+i)
		if err := session.Append(ctx, llms.User(text), llms.Assistant("Noted.")); err != nil {
			log.Fatal(err)
		}
	}
	if _, err := session.Compact(ctx, lcm.CompactOptions{}); err != nil {
		log.Fatal(err)
	}
	view, err := session.Context(ctx, 4_000)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(view.Tokens <= 4_000, view.Items[0].IsSummary())
	// Output: true true
}

// Verify proves that nothing was lost.
func ExampleSession_Verify() {
	ctx := context.Background()
	engine, done := open(ctx)
	defer done()

	session := engine.Session("proof")
	if err := session.Append(ctx, llms.User("kept byte for byte: \x00\xff")); err != nil {
		log.Fatal(err)
	}
	v, err := session.Verify(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v.Messages, "message,", len(v.Faults), "faults")
	// Output: 1 message, 0 faults
}

// A fork shares everything up to a message and then goes its own way.
func ExampleSession_Fork() {
	ctx := context.Background()
	engine, done := open(ctx)
	defer done()

	session := engine.Session("main")
	if err := session.Append(ctx, llms.User("plan a"), llms.Assistant("ok"), llms.User("go on")); err != nil {
		log.Fatal(err)
	}
	fork, err := session.Fork(ctx, "what-if", 2)
	if err != nil {
		log.Fatal(err)
	}
	if err := fork.Append(ctx, llms.User("plan b instead")); err != nil {
		log.Fatal(err)
	}
	view, err := fork.Context(ctx, 0)
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range view.Messages {
		fmt.Println(m.PlainText())
	}
	// Output:
	// plan a
	// ok
	// plan b instead
}

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

// A program searches the record itself. Recall has no current conversation, so the
// request says where to look.
func ExampleEngine_Grep() {
	ctx := context.Background()
	engine, done := open(ctx)
	defer done()

	if err := engine.Session("monday").Append(ctx, llms.User("The staging port is 8473.")); err != nil {
		log.Fatal(err)
	}
	found, err := engine.Grep(ctx, recall.GrepRequest{
		Pattern: "which port has staging?", Mode: recall.FullText,
		Where: recall.Where{AllConversations: true},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range found.Matches {
		fmt.Printf("%s, %s: %s\n", m.ID, m.Role, m.Snippet)
	}
	// Output: msg_1, user: The staging port is 8473.
}

// headlines is a Summariser that keeps the first words of each message.
type headlines struct{}

func (headlines) Summarise(_ context.Context, r record.SummaryRequest) (record.SummaryText, error) {
	var b strings.Builder
	for _, s := range r.Sources {
		line := strings.Join(strings.Fields(s.Text)[:2], " ") + "\n"
		if r.Counter.Count(b.String()+line) > r.Target {
			break
		}
		b.WriteString(line)
	}
	return record.SummaryText{Text: b.String() + "Expand for details about: the rest of each message", Method: "headlines"}, nil
}

// A program's own type writes the summaries.
func ExampleWithSummariser() {
	ctx := context.Background()
	engine, done := open(ctx, lcm.WithBudget(4_000), lcm.WithSummariser(headlines{}))
	defer done()

	session := engine.Session("long")
	for i := range 300 {
		text := fmt.Sprintf("Step %d: the worker on host-%02d.example.com retried after %d ms and then went on.", i, i%20, 50+i)
		if err := session.Append(ctx, llms.User(text)); err != nil {
			log.Fatal(err)
		}
	}
	if _, err := session.Compact(ctx, lcm.CompactOptions{}); err != nil {
		log.Fatal(err)
	}
	view, err := session.Context(ctx, 4_000)
	if err != nil {
		log.Fatal(err)
	}
	summary := view.Messages[0].PlainText()
	fmt.Println(strings.Contains(summary, "Step 0:\n"))
	// Output: true
}

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
