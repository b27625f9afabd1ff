// Command embed gives an agent of this module's runtime a memory that forgets
// nothing: a session of the engine. It needs no key: the model is scripted.
//
//	go run ./examples/embed
//
// The first chats fill the memory far beyond the budget of 4,000 tokens. The
// last one asks for something that the model no longer sees, and the model
// finds it with lcm_grep.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/store/sqlite"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "embed:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	db, err := sqlite.Open(ctx, sqlite.Memory, sqlite.Options{}) // a path keeps it on disk
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	engine, err := lcm.New(db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close(ctx)) }()

	// Any llms.Model will do: anthropic.New, openai.New, or your own.
	var model llms.Model = llmtest.New(scripted)
	session := engine.Session("embed/demo")
	agent, err := agents.New(agents.AgentConfig{
		LLMEngine: model, AgentName: "assistant", SystemPrompt: "You keep the log of a harbour.",
		Memory: session.Memory(4_000, lcm.WithCallerModel(model)), // brings the tools and their guidance
	})
	if err != nil {
		return err
	}
	for i := range 120 {
		if _, err := agent.ChatStream(entry(i)).StartContext(ctx).Text(); err != nil {
			return err
		}
	}
	view, err := session.Context(ctx, 0)
	if err != nil {
		return err
	}
	kept, err := session.Conversation(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d messages of %d tokens are kept; the model sees %d tokens\n", kept.Messages, kept.Tokens, view.Tokens)
	return ask(ctx, agent, "Which berth did the Halcyon get?", out)
}

// ask prints the tool calls of the agent and its answer.
func ask(ctx context.Context, agent *agents.Agent, question string, out io.Writer) error {
	fmt.Fprintf(out, "> %s\n", question)
	stream := agent.ChatStream(question).StartContext(ctx)
	for e := range stream.Events() {
		switch e.Kind {
		case core.EventToolCall:
			fmt.Fprintf(out, "→ %s %s\n", e.Call.Name, e.Call.Arguments)
		case core.EventDone:
			fmt.Fprintln(out, e.Text)
		case core.EventError:
			return e.Err
		}
	}
	return nil
}

func entry(i int) string {
	if i == 3 {
		return "The Halcyon came in at dawn and got berth 17, beside the old crane."
	}
	return fmt.Sprintf("Log entry %d: wind from the west at %d knots, %d ships at anchor, nothing else to report from the watch.", i, i%30, i%9)
}

// scripted stands for a model: it takes notes, and looks up the answer to a question.
func scripted(r llms.Request) llmtest.Reply {
	if results := r.Messages[len(r.Messages)-1].ToolResults(); len(results) > 0 {
		if strings.Contains(results[0].Output[0].Text, "berth 17") {
			return llmtest.Say("Berth 17, beside the old crane.")
		}
		return llmtest.Say("The log does not say.")
	}
	if strings.HasPrefix(llmtest.LastUserText(r), "Which") {
		return llmtest.Call(lcm.GrepName, map[string]any{"pattern": "Halcyon", "scope": "messages"})
	}
	return llmtest.Say("Noted.")
}
