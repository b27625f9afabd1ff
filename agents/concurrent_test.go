package agents_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
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

// One agent serves a thousand chats at once. A third is canceled at some random
// event, which may be too late; a sixth has a model that hangs at a random
// place, and is canceled at a random time. No stream loses a chunk or ends
// twice, no answer ends up in another chat, and no goroutine stays.
func TestAThousandConcurrentChats(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	const chats = 1000
	engine := llmtest.New(scholar)
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
			c := checkedChat{question: fmt.Sprintf("q%d", i), cancel: cancel, cancelAt: -1}
			switch random.IntN(6) {
			case 0, 1:
				c.cancelAt = random.IntN(40)
			case 2:
				c.hangs = true
				c.question += fmt.Sprintf("/%d/%d", random.IntN(2), random.IntN(15))
				running.Go(func() {
					for range random.IntN(500) {
						runtime.Gosched()
					}
					cancel()
				})
			}
			if c.check(t, agent.ChatStream(c.question).StartContext(ctx)) {
				completed.Add(1)
			} else {
				canceled.Add(1)
			}
		})
	}
	running.Wait()
	t.Logf("%d completed, %d canceled", completed.Load(), canceled.Load())
	if completed.Load() < chats/3 || canceled.Load() < chats/8 {
		t.Errorf("%d completed, %d canceled", completed.Load(), canceled.Load())
	}
}

// scholar calls three tools at once for the main agent and then answers with
// the question; the helper answers at once. A question "q/turn/piece" makes it
// hang in that turn, after that piece.
func scholar(r llms.Request) llmtest.Reply {
	question := llmtest.LastUserText(r)
	if strings.HasPrefix(question, "help ") {
		return llmtest.Say("helping with " + question)
	}
	reply := llmtest.Say(answerTo(question))
	if llmtest.Turn(r) == 0 {
		reply = llmtest.Say("Let me ask around.").And("foo", map[string]any{"echo": question}).
			And("expand", map[string]any{"subject_type": "agent", "subject_name": "helper"}).
			And("delegate", map[string]any{"agent_name": "helper", "task": "help " + question})
	}
	var turn, piece int
	if _, where, hangs := strings.Cut(question, "/"); hangs {
		if _, err := fmt.Sscanf(where, "%d/%d", &turn, &piece); err == nil && turn == llmtest.Turn(r) {
			return reply.Broken(llmtest.FaultHang, piece)
		}
	}
	return reply
}

func answerTo(question string) string {
	return strings.TrimSpace(strings.Repeat(question+" ", 20))
}

// checkedChat is one chat and what is to happen to it.
type checkedChat struct {
	question string
	hangs    bool
	cancelAt int // the event at which its reader cancels it, or -1
	cancel   func()
}

// check reads the stream to its end and reports whether it was completed.
func (c checkedChat) check(t *testing.T, stream *core.Stream) bool {
	var said strings.Builder
	seen, ends := 0, 0
	var last core.Event
	for e := range stream.Events() {
		if seen == c.cancelAt {
			c.cancel()
		}
		seen++
		switch {
		case e.Terminal():
			ends++
		case e.Kind == core.EventText && len(e.From) == 0:
			said.WriteString(e.Text)
		case e.Kind == core.EventToolResult && e.Call.Name == "foo" && !e.Result.IsError && e.Result.Text != c.question:
			t.Errorf("%s got the tool result %q", c.question, e.Result.Text)
		}
		last = e
	}
	if ends != 1 {
		t.Errorf("%s ended %d times", c.question, ends)
	}
	if last.Kind == core.EventError {
		if c.cancelAt < 0 && !c.hangs || !errors.Is(last.Err, context.Canceled) {
			t.Errorf("%s: %v", c.question, last.Err)
		}
		return false
	}
	if c.hangs {
		t.Errorf("%s was answered by a model that hangs", c.question)
	}
	if last.Text != answerTo(c.question) || said.String() != "Let me ask around."+last.Text {
		t.Errorf("%s lost something: streamed %q, ended with %q", c.question, said.String(), last.Text)
	}
	return true
}

func BenchmarkChatWithTools(b *testing.B) {
	engine := llmtest.New(scholar)
	helper := agents.NewAgent(agents.AgentConfig{LLMEngine: engine, AgentName: "helper"})
	agent := agents.NewAgent(agents.AgentConfig{LLMEngine: engine, AgentName: "main",
		Tools: []llms.Tool{tools.NewFooTool(), tools.NewExpandTool()}, SubAgents: []core.SubAgent{helper}})
	for b.Loop() {
		if _, err := agent.ChatStream("q").Start().Text(); err != nil {
			b.Fatal(err)
		}
	}
}
