package agents_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
	"github.com/lossless-context/lcm/tools"
)

// build returns an agent with a scripted model, and the model.
func build(t testing.TB, c agents.AgentConfig, replies ...llmtest.Reply) (*agents.Agent, *llmtest.Model) {
	t.Helper()
	engine := llmtest.New(llmtest.ByTurn(replies...))
	c.LLMEngine = engine
	if c.AgentName == "" {
		c.AgentName = "main"
	}
	agent, err := agents.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return agent, engine
}

func TestEventsAppearInOrder(t *testing.T) {
	agent, _ := build(t, agents.AgentConfig{Tools: []llms.Tool{tools.NewFooTool()}},
		llmtest.Reply{Reasoning: "let me see", Text: "I ask foo.", Usage: llms.Usage{InputTokens: 10, OutputTokens: 5},
			Calls: []llms.ToolCall{{ID: "c1", Name: "foo", Arguments: `{"echo":"hi"}`}}},
		llmtest.Reply{Text: "It says hi.", Usage: llms.Usage{InputTokens: 20, OutputTokens: 3}})
	var got []string
	for e := range agent.ChatStream("go").Start().Events() {
		line := string(e.Kind) + " " + e.Text
		switch {
		case e.Result != nil:
			line += e.Call.ID + "=" + e.Result.Text
		case e.Call != nil:
			line += e.Call.Name + e.Call.Arguments
		case e.Usage != nil:
			line += fmt.Sprint(*e.Usage)
		}
		got = append(got, line)
	}
	want := []string{
		"reasoning let ", "reasoning me ", "reasoning see", "text I ", "text ask ", "text foo.",
		`tool_call foo{"echo":"hi"}`, "usage {10 5 0 0}", "tool_result c1=hi",
		"text It ", "text says ", "text hi.", "usage {20 3 0 0}", "done It says hi.{30 8 0 0}",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestWhatTheModelCanMendReachesTheModel(t *testing.T) {
	given := []llms.Tool{
		tools.NewFooTool(),
		tool("fails", func(context.Context, map[string]any) (core.Result, error) {
			return core.Result{}, errors.New("no luck")
		}),
		tool("panics", func(context.Context, map[string]any) (core.Result, error) { panic("ouch") }),
		tool("exits", func(context.Context, map[string]any) (core.Result, error) {
			runtime.Goexit()
			return core.Result{}, nil
		}),
		tool("own", func(context.Context, map[string]any) (core.Result, error) {
			return core.Result{Text: "in its own words", IsError: true}, nil
		}),
		tool("shows", func(_ context.Context, args map[string]any) (core.Result, error) {
			return core.TextResult(fmt.Sprintf("%T %v", args["n"], args["n"])), nil
		}),
	}
	tests := []struct {
		name, tool, args, want string
		isError                bool
	}{
		{"good call", "foo", `{"echo":"x"}`, "x", false},
		{"unknown tool", "bar", `{}`, "Error: there is no tool 'bar'. Your tools are: foo, fails, panics, exits, own, shows", true},
		{"broken JSON", "foo", `{"echo":`, "Error: the arguments of tool 'foo' are not a JSON object: unexpected EOF. Send one JSON object", true},
		{"no object", "foo", `["x"]`, "Error: the arguments of tool 'foo' are not a JSON object: json: cannot unmarshal array into Go value of type map[string]interface {}. Send one JSON object", true},
		{"two values", "foo", `{"echo":"x"}{}`, "Error: the arguments of tool 'foo' are more than one JSON value. Send one JSON object", true},
		{"nothing", "own", ``, "Error: in its own words", true},
		{"null", "own", `null`, "Error: in its own words", true},
		{"bad arguments", "foo", `{"echo":{"a":7}}`, `Error: bad arguments for tool 'foo': argument "echo" must be a string, got {"a":7}`, true},
		{"error", "fails", `{}`, "Error: no luck", true},
		{"panic", "panics", `{}`, "Error: tool 'panics' crashed: ouch", true},
		{"goexit", "exits", `{}`, "Error: tool 'exits' ended without a result", true},
		{"a number is what Go expects", "shows", `{"n":5}`, "float64 5", false},
		{"a large id keeps its digits", "shows", `{"n":9007199254740993}`, "json.Number 9007199254740993", false},
		{"a large negative number", "shows", `{"n":-9007199254740993}`, "json.Number -9007199254740993", false},
		{"the largest number that is exact", "shows", `{"n":9007199254740992}`, "float64 9.007199254740992e+15", false},
		{"a fraction", "shows", `{"n":0.5}`, "float64 0.5", false},
		{"inside a list", "shows", `{"n":[0.50,{"k":0.50,"m":12345678901234567890}]}`, "[]interface {} [0.5 map[k:0.5 m:12345678901234567890]]", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			agent, engine := build(t, agents.AgentConfig{Tools: given},
				llmtest.Call(test.tool, test.args), llmtest.Say("ok"))
			if text, err := agent.ChatStream("go").Start().Text(); text != "ok" || err != nil {
				t.Fatalf("the chat ended with %q, %v", text, err)
			}
			results := engine.Requests()[1].Messages[2].ToolResults()
			if len(results) != 1 || results[0].IsError != test.isError {
				t.Fatalf("got %+v", results)
			}
			if diff := cmp.Diff(test.want, results[0].Output[0].Text); diff != "" {
				t.Errorf("the model reads (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPanicIsLoggedWithItsPlace(t *testing.T) {
	var log bytes.Buffer
	agent, _ := build(t, agents.AgentConfig{
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Tools:  []llms.Tool{tool("panics", func(context.Context, map[string]any) (core.Result, error) { panic("ouch") })},
	}, llmtest.Call("panics", "{}"), llmtest.Say("ok"))
	if _, err := agent.ChatStream("go").Start().Text(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "loop_test.go") {
		t.Errorf("the log does not say where: %s", log.String())
	}
}

func TestNoToolsAtAll(t *testing.T) {
	agent, engine := build(t, agents.AgentConfig{}, llmtest.Call("bar", "{}"), llmtest.Say("ok"))
	if _, err := agent.ChatStream("go").Start().Text(); err != nil {
		t.Fatal(err)
	}
	want := []string{"Error: there is no tool 'bar', and you have no tools at all: answer without"}
	if diff := cmp.Diff(want, toolOutputs(engine.Requests()[1])); diff != "" {
		t.Error(diff)
	}
}

// Tools of one turn run side by side: each waits for the other here. A result is recorded as soon
// as it is there, so that it is not lost if the program dies in another call; the model reads them
// in the order of its calls.
func TestToolCallsOfOneTurnRunInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var meet sync.WaitGroup
		meet.Add(2)
		memory := agents.NewTranscript()
		wait := func(name string, pause time.Duration) handmade {
			return tool(name, func(context.Context, map[string]any) (core.Result, error) {
				meet.Done()
				meet.Wait()
				time.Sleep(pause) // virtual time
				if turn, err := memory.Turn(t.Context()); name == "slow" && (err != nil || len(agents.PendingOf(turn).Calls) != 1) {
					t.Errorf("the finished call is not recorded while another one runs: %v, %v", turn, err)
				}
				return core.TextResult(name), nil
			})
		}
		agent, engine := build(t, agents.AgentConfig{Memory: memory, Tools: []llms.Tool{wait("slow", 2*time.Second), wait("fast", time.Second)}},
			llmtest.Call("slow", "{}").And("fast", "{}"), llmtest.Say("ok"))
		var finished []string
		for e := range agent.ChatStream("go").StartContext(t.Context()).Events() {
			if e.Kind == core.EventToolResult {
				finished = append(finished, e.Call.Name)
			}
		}
		if diff := cmp.Diff([]string{"fast", "slow"}, finished); diff != "" {
			t.Errorf("events come as tools finish (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"slow", "fast"}, toolOutputs(engine.Requests()[1])); diff != "" {
			t.Errorf("results keep the order of the calls (-want +got):\n%s", diff)
		}
	})
}

func TestParallelToolsAreBounded(t *testing.T) {
	var now, most atomic.Int32
	count := tool("count", func(context.Context, map[string]any) (core.Result, error) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		runtime.Gosched()
		now.Add(-1)
		return core.TextResult("1"), nil
	})
	calls := llmtest.Reply{}
	for range 50 {
		calls = calls.And("count", "{}")
	}
	agent, engine := build(t, agents.AgentConfig{Tools: []llms.Tool{count}, MaxParallelTools: 3}, calls, llmtest.Say("ok"))
	if _, err := agent.ChatStream("go").Start().Text(); err != nil {
		t.Fatal(err)
	}
	if got := len(toolOutputs(engine.Requests()[1])); got != 50 || most.Load() > 3 {
		t.Errorf("%d results, %d at once", got, most.Load())
	}
}

func TestAToolThatHangsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		deaf := tool("deaf", func(context.Context, map[string]any) (core.Result, error) {
			<-release
			return core.Result{}, nil
		})
		agent, engine := build(t, agents.AgentConfig{Tools: []llms.Tool{deaf}, ToolTimeout: 3 * time.Second},
			llmtest.Call("deaf", "{}"), llmtest.Say("ok"))
		if text, err := agent.ChatStream("go").StartContext(t.Context()).Text(); text != "ok" || err != nil {
			t.Errorf("got %q, %v", text, err)
		}
		want := []string{"Error: tool 'deaf' did not answer within 3s and was given up"}
		if diff := cmp.Diff(want, toolOutputs(engine.Requests()[1])); diff != "" {
			t.Error(diff)
		}
	})
}

func TestIterationsAreCapped(t *testing.T) {
	engine := llmtest.New(func(llms.Request) llmtest.Reply { return llmtest.Call("foo", `{"echo":"again"}`) })
	memory := agents.NewTranscript()
	agent, err := agents.New(agents.AgentConfig{LLMEngine: engine, AgentName: "main", Memory: memory,
		Tools: []llms.Tool{tools.NewFooTool()}, MaxToolIterations: 3})
	if err != nil {
		t.Fatal(err)
	}
	_, err = agent.ChatStream("go").Start().Text()
	if !errors.Is(err, agents.ErrTooManyIterations) {
		t.Errorf("got %v", err)
	}
	if got := len(engine.Requests()); got != 4 {
		t.Errorf("the model was asked %d times", got)
	}
	checkPairs(t, memory.Messages())
}

// checkPairs fails unless the results of all calls of a message are right after it, one each.
func checkPairs(t *testing.T, ms []llms.Message) {
	t.Helper()
	for i, m := range ms {
		calls := m.ToolCalls()
		results := map[string]int{}
		for _, after := range ms[i+1 : min(i+1+len(calls), len(ms))] {
			for _, r := range after.ToolResults() {
				results[r.CallID]++
			}
		}
		for _, call := range calls {
			if results[call.ID] != 1 {
				t.Errorf("call %s of message %d has %d results in its place", call.ID, i, results[call.ID])
			}
		}
	}
}

func TestCancellationEndsTheChatAndKeepsPairs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := tool("waits", func(ctx context.Context, _ map[string]any) (core.Result, error) {
			<-ctx.Done()
			return core.Result{}, ctx.Err()
		})
		memory := agents.NewTranscript()
		agent, _ := build(t, agents.AgentConfig{Tools: []llms.Tool{waits}, Memory: memory},
			llmtest.Call("waits", "{}").And("waits", "{}"), llmtest.Say("never said"))
		ctx, cancel := context.WithCancelCause(t.Context())
		stream := agent.ChatStream("go").StartContext(ctx)
		synctest.Wait()
		cancel(errors.New("the user went home"))
		_, err := stream.Text()
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "the user went home") {
			t.Errorf("got %v", err)
		}
		if got := len(memory.Messages()); got != 4 {
			t.Errorf("%d messages are recorded", got)
		}
		checkPairs(t, memory.Messages())
	})
}

func TestTimeoutBoundsTheChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent, _ := build(t, agents.AgentConfig{Timeout: time.Minute}, llmtest.Say("a b c").Broken(llmtest.FaultHang, 2))
		_, err := agent.ChatStream("go").StartContext(t.Context()).Text()
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "longer than 1m0s") {
			t.Errorf("got %v", err)
		}
	})
}

func TestModelFailuresEndTheChat(t *testing.T) {
	tests := []struct {
		name  string
		reply llmtest.Reply
		want  llms.Class
		said  string
	}{
		{"auth", llmtest.Status(http.StatusUnauthorized, "bad key"), llms.ClassAuth, ""},
		{"quota", llmtest.Status(http.StatusTooManyRequests, "slow down"), llms.ClassQuota, ""},
		{"cut", llmtest.Say("one two three").Broken(llmtest.FaultCut, 2), llms.ClassTransient, "one two "},
		{"cut at the end", llmtest.Say("one").Broken(llmtest.FaultCut, 9), llms.ClassTransient, "one"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			memory := agents.NewTranscript()
			agent, _ := build(t, agents.AgentConfig{Memory: memory}, test.reply)
			_, err := agent.ChatStream("go").Start().Text()
			if got := llms.ClassOf(err); got != test.want || !strings.Contains(err.Error(), `agent "main"`) {
				t.Errorf("class %q of %v", got, err)
			}
			said := ""
			for _, m := range memory.Messages()[1:] {
				said += m.PlainText()
				if m.Meta[agents.MetaInterrupted] != true {
					t.Error("the broken answer is not marked")
				}
			}
			if said != test.said || said == "" && len(memory.Messages()) > 1 {
				t.Errorf("recorded %q, want %q", said, test.said)
			}
		})
	}
}

// A call that fails has cost something too.
func TestTheCostOfABrokenCallIsReported(t *testing.T) {
	reply := llmtest.Say("one two three").Broken(llmtest.FaultCut, 2)
	reply.Usage = llms.Usage{InputTokens: 90, OutputTokens: 10}
	agent, engine := build(t, agents.AgentConfig{}, reply)
	last := agent.ChatStream("go").Start().Wait()
	if last.Err == nil || last.Usage == nil || *last.Usage != (llms.Usage{InputTokens: 90}) || *last.Usage != engine.Usage() {
		t.Errorf("the stream ends with usage %+v and %v", last.Usage, last.Err)
	}
}

func TestAnEmptyAnswerIsAnErrorAndNotRecorded(t *testing.T) {
	tests := map[string]struct {
		reply llmtest.Reply
		want  string
	}{
		"nothing":             {llmtest.Reply{}, "empty answer"},
		"blanks":              {llmtest.Say(" \n"), "empty answer"},
		"just reasoning":      {llmtest.Reply{Reasoning: "hm"}, "empty answer"},
		"cut before it began": {llmtest.Reply{Reasoning: "hm", Stop: llms.StopLength}, "limit of tokens"},
	}
	for name, test := range tests {
		memory := agents.NewTranscript()
		agent, _ := build(t, agents.AgentConfig{Memory: memory}, test.reply)
		if text, err := agent.ChatStream("go").Start().Text(); text != "" || !errors.Is(err, agents.ErrEmpty) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "limit of tokens") != (test.reply.Stop == llms.StopLength) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		if got := len(memory.Messages()); got != 1 {
			t.Errorf("%s: %d messages are recorded", name, got)
		}
	}
}

// A reader can tell an answer that was cut from one that is whole, also where
// a sub-agent's was.
func TestTheEndSaysWhyTheModelStopped(t *testing.T) {
	cut := llmtest.Reply{Text: "The answer is", Stop: llms.StopLength}
	agent, _ := build(t, agents.AgentConfig{}, cut)
	if last := agent.ChatStream("go").Start().Wait(); last.Err != nil || last.Stop != core.StopLength {
		t.Errorf("a cut answer: %q, %v", last.Stop, last.Err)
	}
	helper, _ := build(t, agents.AgentConfig{AgentName: "helper"}, cut)
	agent, _ = build(t, agents.AgentConfig{SubAgents: []core.SubAgent{helper}},
		llmtest.Call("delegate", delegation("helper", "count", "")), llmtest.Say("whole"))
	if last := agent.ChatStream("go").Start().Wait(); last.Err != nil || last.Stop != core.StopEnd {
		t.Errorf("a whole answer after a helper's that was cut: %q, %v", last.Stop, last.Err)
	}
}

func TestRefusalIsAnError(t *testing.T) {
	for text, want := range map[string]string{"": "refused to answer", "I will not.": "refused to answer: I will not."} {
		agent, _ := build(t, agents.AgentConfig{}, llmtest.Reply{Text: text, Stop: llms.StopRefusal})
		if _, err := agent.ChatStream("go").Start().Text(); !errors.Is(err, agents.ErrRefused) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v", err)
		}
	}
}

func TestRequestCarriesTheConfig(t *testing.T) {
	half := 0.5
	agent, engine := build(t, agents.AgentConfig{Model: "other", MaxTokens: 99, Temperature: &half, SystemPrompt: "Be brief."}, llmtest.Say("ok"))
	image := llms.Message{Role: llms.RoleUser, Parts: []llms.Part{{Kind: llms.PartBlob, Blob: &llms.Blob{MIME: "image/png", Data: []byte{1}}}}}
	if _, err := agent.ChatMessage(image).Start().Text(); err != nil {
		t.Fatal(err)
	}
	want := llms.Request{Model: "other", MaxTokens: 99, Temperature: &half, System: "Be brief.", Messages: []llms.Message{image}}
	if diff := cmp.Diff(want, engine.Requests()[0]); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestToolsSeeTheAgentAndHooksSeeTheTools(t *testing.T) {
	var hooked []string
	look := tool("look", func(ctx context.Context, _ map[string]any) (core.Result, error) {
		ac := core.AgentContextFrom(ctx)
		text, err := json.Marshal([]any{ac.AgentName(), len(ac.Tools()), len(ac.SubAgents())})
		return core.Result{Text: string(text), Blobs: []core.Blob{{MIME: "image/png", Data: []byte{1}}}}, err
	})
	agent, engine := build(t, agents.AgentConfig{
		Tools:     []llms.Tool{look},
		SubAgents: []core.SubAgent{&seedAgent{agentName: "helper"}},
		Hooks: []tools.Hook{{Before: func(_ context.Context, tool string, args map[string]any) (map[string]any, error) {
			hooked = append(hooked, tool)
			return args, nil
		}}},
	}, llmtest.Call("look", "{}"), llmtest.Say("ok"))
	if _, err := agent.ChatStream("go").Start().Text(); err != nil {
		t.Fatal(err)
	}
	result := engine.Requests()[1].Messages[2].ToolResults()[0]
	if result.Output[0].Text != `["main",2,1]` || result.Output[1].Blob.MIME != "image/png" {
		t.Errorf("the tool saw %+v", result)
	}
	if diff := cmp.Diff([]string{"look"}, hooked); diff != "" {
		t.Error(diff)
	}
}

// A tool that calls another goes through the hooks too; what explains itself
// is found through them.
func TestToolsAreReachedThroughTheirHooks(t *testing.T) {
	proxy := tool("proxy", func(ctx context.Context, _ map[string]any) (core.Result, error) {
		ac := core.AgentContextFrom(ctx)
		for _, other := range ac.Tools() {
			if other.GetName() == "foo" {
				return core.TextResult("foo said " + other.Call(ac, map[string]any{"echo": "x"})), nil
			}
		}
		return core.Result{}, errors.New("no foo")
	})
	agent, engine := build(t, agents.AgentConfig{
		Tools: []llms.Tool{tools.NewFooTool(), proxy, tools.NewExpandTool()},
		Hooks: []tools.Hook{{Before: func(_ context.Context, tool string, args map[string]any) (map[string]any, error) {
			if tool == "foo" {
				return nil, errors.New("foo is forbidden")
			}
			return args, nil
		}}},
	}, llmtest.Call("proxy", "{}").And("expand", map[string]any{"subject_type": "tool", "subject_name": "foo"}), llmtest.Say("ok"))
	if _, err := agent.ChatStream("go").Start().Text(); err != nil {
		t.Fatal(err)
	}
	got := toolOutputs(engine.Requests()[1])
	if got[0] != "foo said Error: foo is forbidden" || !strings.HasPrefix(got[1], "=== TOOL: foo ===") {
		t.Errorf("the model reads %q", got)
	}
}
