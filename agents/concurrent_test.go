package agents_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/tools"
)

// One agent serves a thousand chats at once while a third of them is canceled
// at some random event. No stream loses a chunk or ends twice, no answer ends
// up in another chat, and no goroutine stays.
func TestAThousandConcurrentChats(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	const chats = 1000
	engine := llmtest.NewEngine(scholar)
	helper, err := agents.New(agents.AgentConfig{LLMEngine: engine, AgentName: "helper", Description: "helps"})
	if err != nil {
		t.Fatal(err)
	}
	agent, err := agents.New(agents.AgentConfig{LLMEngine: engine, AgentName: "main",
		Tools: []llms.Tool{tools.NewFooTool(), tools.NewExpandTool()}, SubAgents: []core.SubAgent{helper}})
	if err != nil {
		t.Fatal(err)
	}
	var completed, canceled atomic.Int32
	var running sync.WaitGroup
	for i := range chats {
		random := rand.New(rand.NewPCG(7, uint64(i)))
		running.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cancelAt := -1
			if random.IntN(3) == 0 {
				cancelAt = random.IntN(40)
			}
			if checkChat(t, agent, i, ctx, cancel, cancelAt) {
				completed.Add(1)
			} else {
				canceled.Add(1)
			}
		})
	}
	running.Wait()
	t.Logf("%d completed, %d canceled", completed.Load(), canceled.Load())
	if completed.Load() < chats/2 || canceled.Load() == 0 {
		t.Errorf("%d completed, %d canceled", completed.Load(), canceled.Load())
	}
}

// scholar calls three tools at once for the main agent and then answers with
// the number it was asked about; the helper answers at once.
func scholar(r llms.Request) llmtest.Reply {
	question := llmtest.LastUserText(r)
	switch {
	case strings.HasPrefix(question, "help "):
		return llmtest.Say("helping with " + question)
	case llmtest.Turn(r) == 0:
		return llmtest.Call("foo", map[string]any{"echo": question}).
			And("expand", map[string]any{"subject_type": "agent", "subject_name": "helper"}).
			And("delegate", map[string]any{"agent_name": "helper", "task": "help " + question})
	}
	return llmtest.Say(answerTo(question))
}

func answerTo(question string) string {
	return strings.TrimSpace(strings.Repeat(question+" ", 20))
}

// checkChat runs one chat and reports whether it was completed.
func checkChat(t *testing.T, agent *agents.Agent, i int, ctx context.Context, cancel func(), cancelAt int) bool {
	question := fmt.Sprintf("q%d", i)
	stream := agent.ChatStream(question).StartContext(ctx)
	var said strings.Builder
	seen, ends := 0, 0
	var last core.Event
	for e := range stream.Events() {
		if seen == cancelAt {
			cancel()
		}
		seen++
		if e.Kind == core.EventText && len(e.From) == 0 {
			said.WriteString(e.Text)
		}
		if e.Kind == core.EventToolResult && e.Call.Name == "foo" && !e.Result.IsError && e.Result.Text != question {
			t.Errorf("chat %d got the tool result %q", i, e.Result.Text)
		}
		if e.Terminal() {
			ends++
		}
		last = e
	}
	if ends != 1 {
		t.Errorf("chat %d ended %d times", i, ends)
	}
	if last.Kind == core.EventError {
		if cancelAt < 0 || !errors.Is(last.Err, context.Canceled) {
			t.Errorf("chat %d: %v", i, last.Err)
		}
		return false
	}
	if last.Text != answerTo(question) || said.String() != last.Text {
		t.Errorf("chat %d lost something: streamed %q, ended with %q", i, said.String(), last.Text)
	}
	return true
}

func BenchmarkChatWithTools(b *testing.B) {
	engine := llmtest.NewEngine(scholar)
	helper := agents.NewAgent(agents.AgentConfig{LLMEngine: engine, AgentName: "helper"})
	agent := agents.NewAgent(agents.AgentConfig{LLMEngine: engine, AgentName: "main",
		Tools: []llms.Tool{tools.NewFooTool(), tools.NewExpandTool()}, SubAgents: []core.SubAgent{helper}})
	for b.Loop() {
		if _, err := agent.ChatStream("q").Start().Text(); err != nil {
			b.Fatal(err)
		}
	}
}
