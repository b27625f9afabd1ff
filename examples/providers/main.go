// Command providers asks one question of whichever model the environment names,
// with a tool at hand.
//
//	ANTHROPIC_API_KEY=… go run ./examples/providers "what is 12*34?"
//	OPENAI_API_KEY=…    go run ./examples/providers "what is 12*34?"
//	OPENAI_BASE_URL=http://localhost:11434/v1 MODEL=llama3.2 go run ./examples/providers "what is 12*34?"
//
// Without any of them it uses a scripted model.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/anthropic"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/llms/openai"
	"github.com/lossless-context/lcm/tools"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	question := strings.Join(os.Args[1:], " ")
	if question == "" {
		question = "What is 12 times 34?"
	}
	if err := ask(ctx, os.Getenv, question, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "providers:", err)
		if llms.ClassOf(err) == llms.ClassQuota {
			fmt.Fprintln(os.Stderr, "Try again later.")
		}
		os.Exit(1)
	}
}

func ask(ctx context.Context, getenv func(string) string, question string, out io.Writer) error {
	engine, err := choose(getenv)
	if err != nil {
		return err
	}
	multiply, err := multiplyTool()
	if err != nil {
		return err
	}
	agent, err := agents.New(agents.AgentConfig{
		LLMEngine:    engine,
		AgentName:    "calculator",
		SystemPrompt: "You calculate with the tools you have. Answer in one sentence.",
		Tools:        []llms.Tool{multiply, tools.NewExpandTool()},
	})
	if err != nil {
		return err
	}
	stream := agent.ChatStream(question).StartContext(ctx)
	for e := range stream.Events() {
		switch e.Kind {
		case core.EventText:
			fmt.Fprint(out, e.Text)
		case core.EventToolCall:
			fmt.Fprintf(out, "[%s %s]\n", e.Call.Name, e.Call.Arguments)
		case core.EventDone:
			fmt.Fprintf(out, "\n(%s, %d tokens)\n", engine.Name(), e.Usage.Total())
		}
	}
	_, err = stream.Text()
	return err
}

// choose returns the engine that the environment asks for.
func choose(getenv func(string) string) (llms.Model, error) {
	model := func(usual string) string {
		if m := getenv("MODEL"); m != "" {
			return m
		}
		return usual
	}
	switch {
	case getenv("OPENAI_BASE_URL") != "":
		if getenv("MODEL") == "" {
			return nil, errors.New("set MODEL to a model of the server at OPENAI_BASE_URL")
		}
		return openai.New(openai.Config{Model: getenv("MODEL"), BaseURL: getenv("OPENAI_BASE_URL"), APIKey: getenv("OPENAI_API_KEY")})
	case getenv("ANTHROPIC_API_KEY") != "":
		return anthropic.New(anthropic.Config{Model: model("claude-sonnet-4-5"), APIKey: getenv("ANTHROPIC_API_KEY")})
	case getenv("OPENAI_API_KEY") != "":
		return openai.New(openai.Config{Model: model("gpt-5-mini"), APIKey: getenv("OPENAI_API_KEY")})
	}
	return llmtest.New(llmtest.ByTurn(
		llmtest.Call("multiply", map[string]any{"a": 12, "b": 34}), llmtest.Say("12 times 34 is 408."))), nil
}

func multiplyTool() (*core.FuncTool, error) {
	type args struct {
		A float64 `json:"a" description:"The first factor"`
		B float64 `json:"b" description:"The second factor"`
	}
	return core.NewTool(core.ToolInfo{Name: "multiply", Description: "Multiplies two numbers."},
		func(_ context.Context, in args) (core.Result, error) {
			return core.TextResult(fmt.Sprint(in.A * in.B)), nil
		})
}
