package agents_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/tools"
)

func TestMemoryContinuesTheConversation(t *testing.T) {
	agent, engine := build(t, agents.AgentConfig{Memory: agents.NewTranscript(llms.User("my name is Ann"), llms.Assistant("hello Ann"))},
		llmtest.Say("never"), llmtest.Say("Ann"), llmtest.Say("you asked already"))
	for _, question := range []string{"what is my name?", "what is my name?"} {
		if _, err := agent.ChatStream(question).Start().Text(); err != nil {
			t.Fatal(err)
		}
	}
	var said []string
	for _, m := range engine.Requests()[1].Messages {
		said = append(said, m.PlainText())
	}
	want := []string{"my name is Ann", "hello Ann", "what is my name?", "Ann", "what is my name?"}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("the model saw (-want +got):\n%s", diff)
	}
}

func TestWithoutMemoryChatsStandAlone(t *testing.T) {
	agent, engine := build(t, agents.AgentConfig{}, llmtest.Say("ok"))
	for range 2 {
		if _, err := agent.ChatStream("hi").Start().Text(); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(engine.Requests()[1].Messages); got != 1 {
		t.Errorf("the second chat began with %d messages", got)
	}
}

// Chats that share a memory take turns, so calls and results stay together
// however many come at once.
func TestChatsOnOneMemoryTakeTurns(t *testing.T) {
	memory := agents.NewTranscript()
	engine := llmtest.New(func(r llms.Request) llmtest.Reply {
		if r.Messages[len(r.Messages)-1].Role == llms.RoleUser {
			return llmtest.Call("foo", `{"echo":"x"}`)
		}
		return llmtest.Say("ok")
	})
	agent, err := agents.New(agents.AgentConfig{LLMEngine: engine, AgentName: "main", Memory: memory, Tools: []llms.Tool{tools.NewFooTool()}})
	if err != nil {
		t.Fatal(err)
	}
	var chats sync.WaitGroup
	for i := range 50 {
		chats.Go(func() {
			if _, err := agent.ChatStream(fmt.Sprint(i)).Start().Text(); err != nil {
				t.Error(err)
			}
		})
	}
	chats.Wait()
	messages := memory.Messages()
	if len(messages) != 200 {
		t.Errorf("%d messages", len(messages))
	}
	checkPairs(t, messages)
	for i, m := range messages {
		if want := []llms.Role{llms.RoleUser, llms.RoleAssistant, llms.RoleTool, llms.RoleAssistant}[i%4]; m.Role != want {
			t.Fatalf("message %d is by %s", i, m.Role)
		}
	}
}

// Agents that share a memory take turns too.
func TestAgentsOnOneMemoryTakeTurns(t *testing.T) {
	var memory agents.Transcript
	var chats sync.WaitGroup
	for i := range 8 {
		engine := llmtest.New(func(r llms.Request) llmtest.Reply {
			if r.Messages[len(r.Messages)-1].Role == llms.RoleUser {
				return llmtest.Call("foo", `{"echo":"x"}`)
			}
			return llmtest.Say("ok")
		})
		agent, err := agents.New(agents.AgentConfig{LLMEngine: engine, AgentName: fmt.Sprint(i), Memory: &memory, Tools: []llms.Tool{tools.NewFooTool()}})
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			chats.Go(func() {
				if _, err := agent.ChatStream("go").Start().Text(); err != nil {
					t.Error(err)
				}
			})
		}
	}
	chats.Wait()
	for i, m := range memory.Messages() {
		if want := []llms.Role{llms.RoleUser, llms.RoleAssistant, llms.RoleTool, llms.RoleAssistant}[i%4]; m.Role != want {
			t.Fatalf("message %d is by %s", i, m.Role)
		}
	}
}

// A sub-agent on its caller's memory could only wait for it for ever, or speak
// between a call and its result. It is told apart at once.
func TestASubAgentOnItsCallersMemoryFails(t *testing.T) {
	memory := agents.NewTranscript()
	helper, _ := build(t, agents.AgentConfig{AgentName: "helper", Memory: memory}, llmtest.Say("never"))
	root, engine := build(t, agents.AgentConfig{Memory: memory, SubAgents: []core.SubAgent{helper}},
		llmtest.Call("delegate", delegation("helper", "work", "")), llmtest.Say("ok"))
	if text, err := root.ChatStream("go").Start().Text(); text != "ok" || err != nil {
		t.Fatalf("got %q, %v", text, err)
	}
	if got := toolOutputs(engine.Requests()[1]); !strings.Contains(got[0], agents.ErrSharedMemory.Error()) {
		t.Errorf("the root reads %q", got)
	}
	checkPairs(t, memory.Messages())
}

func TestWaitingForATurnCanBeCanceled(t *testing.T) {
	started := make(chan struct{})
	release := make(chan struct{})
	block := tool("block", func(context.Context, map[string]any) (core.Result, error) {
		close(started)
		<-release
		return core.TextResult("ok"), nil
	})
	agent, _ := build(t, agents.AgentConfig{Memory: agents.NewTranscript(), Tools: []llms.Tool{block}},
		llmtest.Call("block", "{}"), llmtest.Say("ok"))
	first := agent.ChatStream("one").Start()
	<-started
	ctx, cancel := context.WithCancel(t.Context())
	second := agent.ChatStream("two").StartContext(ctx)
	cancel()
	if _, err := second.Text(); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(release)
	if _, err := first.Text(); err != nil {
		t.Error(err)
	}
}

// failing is a memory that refuses from the given append on.
type failing struct {
	*agents.Transcript
	left int
}

func (f *failing) Append(ctx context.Context, ms ...llms.Message) error {
	if f.left--; f.left < 0 {
		return errors.New("disk full")
	}
	return f.Transcript.Append(ctx, ms...)
}

func TestAMemoryThatCannotRecordEndsTheChat(t *testing.T) {
	for left, want := range []string{"recording the message: disk full", "recording the answer: disk full", "recording tool results: disk full"} {
		agent, _ := build(t, agents.AgentConfig{Memory: &failing{agents.NewTranscript(), left}, Tools: []llms.Tool{tools.NewFooTool()}},
			llmtest.Call("foo", `{"echo":"x"}`), llmtest.Say("ok"))
		if _, err := agent.ChatStream("hi").Start().Text(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}

// blind is a memory that cannot be read.
type blind struct{ *agents.Transcript }

func (blind) Context(context.Context) ([]llms.Message, error) { return nil, errors.New("no light") }

func TestAMemoryThatCannotBeReadEndsTheChat(t *testing.T) {
	agent, _ := build(t, agents.AgentConfig{Memory: blind{agents.NewTranscript()}}, llmtest.Say("ok"))
	if _, err := agent.ChatStream("hi").Start().Text(); err == nil || !strings.Contains(err.Error(), "reading the conversation: no light") {
		t.Errorf("got %v", err)
	}
}
