// Command approval shows a turn that waits for a person across processes: the agent wants to
// refund an order, somebody approves or denies it later, and the turn goes on.
//
//	go run ./examples/approval ask "refund order 4711"
//	go run ./examples/approval approve Ann "the parcel was lost"
//	go run ./examples/approval continue
//
// With ANTHROPIC_API_KEY set it uses a real model, else a scripted one.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/anthropic"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/store/sqlite"
)

func main() {
	if err := run(context.Background(), "approval.db", os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "approval:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, path string, args []string, out io.Writer) (err error) {
	db, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	engine, err := lcm.New(db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close(ctx)) }()
	session := engine.Session("approval/demo")
	args = append(args, "", "", "")
	switch args[0] {
	case "ask", "continue":
		return chat(ctx, session, args[0] == "ask", args[1], out)
	case "approve", "deny":
		return decide(ctx, session, args[0] == "approve", args[1], args[2], out)
	}
	return errors.New(`use ask "…", approve NAME [REASON], deny NAME [REASON] or continue`)
}

// chat begins a turn, or goes on with one.
func chat(ctx context.Context, session *lcm.Session, ask bool, prompt string, out io.Writer) error {
	refund := core.MustTool(core.ToolInfo{Name: "refund", Description: "Refunds an order.", Behavior: core.Behavior{NeedsApproval: true}},
		func(_ context.Context, in struct {
			Order string `json:"order" description:"Number of the order"`
		}) (core.Result, error) {
			fmt.Fprintf(out, "(refunding %s)\n", in.Order)
			return core.TextResult("refunded"), nil
		})
	llm, err := model()
	if err != nil {
		return err
	}
	agent, err := agents.New(agents.AgentConfig{LLMEngine: llm, AgentName: "support", Memory: session.Memory(32_000), Tools: []llms.Tool{refund}})
	if err != nil {
		return err
	}
	call := agent.Continue(ctx)
	if ask {
		call = agent.ChatStream(prompt)
	}
	text, err := call.StartContext(ctx).Text()
	if waits, ok := errors.AsType[*agents.ApprovalError](err); ok {
		_, err = fmt.Fprintf(out, "%s waits for approval: %s\n", waits.Calls[0].Name, waits.Calls[0].Arguments)
		return err
	}
	if err == nil {
		_, err = fmt.Fprintln(out, text)
	}
	return err
}

// decide answers all calls that wait.
func decide(ctx context.Context, session *lcm.Session, approve bool, by, reason string, out io.Writer) error {
	answer := session.Deny
	if approve {
		answer = session.Approve
	}
	pending, err := session.Pending(ctx)
	for _, call := range pending.Waiting() {
		if err := answer(ctx, call.ID, by, reason); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s decided on %s\n", by, call.Name)
	}
	return err
}

// model is a real one if there is a key, else a script.
func model() (llms.Model, error) {
	if key := os.Getenv("ANTHROPIC_API_KEY"); key != "" {
		return anthropic.New(anthropic.Config{Model: "claude-sonnet-4-5", APIKey: key})
	}
	return llmtest.New(func(r llms.Request) llmtest.Reply {
		if results := r.Messages[len(r.Messages)-1].ToolResults(); len(results) > 0 {
			return llmtest.Say("The tool says: " + results[0].Output[0].Text)
		}
		return llmtest.Call("refund", `{"order": "4711"}`)
	}), nil
}
