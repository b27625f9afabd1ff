package lcm_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/llms"
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
