// Command support shows an agent with a memory and a tool of its own. Every run is a new session, and
// the agent finds what the customer said in earlier ones. It sees no other customer's sessions.
//
//	go run ./examples/support ann "Where is order 4711? Leave it with my neighbour Mr Lund, please."
//	go run ./examples/support ann "Which neighbour takes my parcels?"
//
// With ANTHROPIC_API_KEY or OPENAI_API_KEY set it uses a real model, else a scripted one.
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/anthropic"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/llms/openai"
	"github.com/lossless-context/lcm/recall"
	"github.com/lossless-context/lcm/record"
	"github.com/lossless-context/lcm/store/sqlite"
)

func main() {
	if err := run(context.Background(), "support.db", os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "support:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, path string, args []string, out io.Writer) (err error) {
	if len(args) != 2 {
		return errors.New(`use support CUSTOMER "what the customer says"`)
	}
	db, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	engine, err := lcm.New(db, lcm.WithProjects(record.Project{Root: "customers/" + args[0]})) // for it, nothing else is in the store
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close(ctx)) }()
	llm, err := model()
	if err != nil {
		return err
	}
	session := engine.Session(args[0] + "/" + rand.Text())
	agent, err := agents.New(agents.AgentConfig{
		LLMEngine: llm, AgentName: "support", SystemPrompt: "You help the customers of a shop.",
		Tools:  []llms.Tool{orderStatus},
		Memory: session.Memory(32_000, lcm.WithProjectScope()), // brings lcm_grep, which looks in all sessions of the customer
	})
	if err != nil {
		return err
	}
	stream := agent.ChatStream(args[1]).StartContext(ctx)
	for e := range stream.Events() {
		if e.Kind == core.EventToolCall {
			fmt.Fprintf(out, "→ %s %s\n", e.Call.Name, e.Call.Arguments)
		}
	}
	text, err := stream.Text()
	if err == nil {
		_, err = fmt.Fprintln(out, text)
	}
	return err
}

var orderStatus = core.MustTool(
	core.ToolInfo{Name: "order_status", Description: "Tells where an order is.", Behavior: core.Behavior{ReadOnly: true}},
	func(_ context.Context, in struct {
		Order string `json:"order" description:"Number of the order"`
	}) (core.Result, error) {
		if in.Order != "4711" {
			return core.Result{}, fmt.Errorf("there is no order %s", in.Order) // the model reads it
		}
		return core.TextResult("Order 4711 arrives on Thursday."), nil
	})

// model is a real one if there is a key, else a script.
func model() (llms.Model, error) {
	switch {
	case os.Getenv("ANTHROPIC_API_KEY") != "":
		return anthropic.New(anthropic.Config{Model: "claude-sonnet-4-5"})
	case os.Getenv("OPENAI_API_KEY") != "":
		return openai.New(openai.Config{Model: "gpt-5-mini"})
	}
	return llmtest.New(func(r llms.Request) llmtest.Reply {
		if results := r.Messages[len(r.Messages)-1].ToolResults(); len(results) > 0 {
			var found recall.GrepAnswer
			if err := json.Unmarshal([]byte(results[0].Output[0].Text), &found); err == nil && len(found.Matches) > 0 {
				return llmtest.Say("You said: " + found.Matches[0].Snippet)
			}
			return llmtest.Say("The tool says: " + results[0].Output[0].Text)
		}
		if order := regexp.MustCompile(`order (\d+)`).FindStringSubmatch(llmtest.LastUserText(r)); order != nil {
			return llmtest.Call("order_status", map[string]string{"order": order[1]})
		}
		return llmtest.Call(lcm.GrepName, map[string]string{"pattern": llmtest.LastUserText(r), "mode": "full_text"})
	}), nil
}
