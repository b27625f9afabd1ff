package agents_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
)

type weather struct {
	City    string `json:"city" description:"Its name"`
	Degrees int    `json:"degrees" description:"In Celsius"`
}

func TestRunReturnsATypedAnswer(t *testing.T) {
	agent, engine := build(t, agents.AgentConfig{Memory: agents.NewTranscript()},
		llmtest.Say("It is :-} warm :-{ today."), llmtest.Say(`{"city":"Bergen","degrees":"warm"}`), llmtest.Say("```json\n{\"city\":\"Bergen\",\"degrees\":12}\n```"))
	got, err := agents.Run[weather](t.Context(), agent, "How is the weather?")
	if err != nil || got != (weather{"Bergen", 12}) {
		t.Errorf("%+v, %v", got, err)
	}
	requests := engine.Requests()
	if len(requests) != 3 || !strings.Contains(string(requests[0].Schema), `"degrees"`) || !strings.Contains(requests[0].System, `"degrees"`) {
		t.Errorf("%d requests, schema %s", len(requests), requests[0].Schema)
	}
	for i, want := range []string{"no JSON object", "degrees"} {
		if said := llmtest.LastUserText(requests[i+1]); !strings.Contains(said, want) {
			t.Errorf("the model is told %q, which lacks %q", said, want)
		}
	}
}

func TestRunEndsWhereNoAnswerFits(t *testing.T) {
	engine := llmtest.New(func(llms.Request) llmtest.Reply { return llmtest.Say("It is warm.") })
	agent := agents.NewAgent(agents.AgentConfig{LLMEngine: engine, AgentName: "main"})
	if _, err := agents.Run[weather](t.Context(), agent, "How is the weather?"); !errors.Is(err, agents.ErrMisfit) || len(engine.Requests()) != 3 {
		t.Errorf("%d requests, then %v", len(engine.Requests()), err)
	}
}

// An agent that cannot chat cannot answer with a type either.
func TestRunOfAnAgentThatIsWrong(t *testing.T) {
	agent := agents.NewAgent(agents.AgentConfig{})
	if _, err := agents.Run[weather](t.Context(), agent, "How is the weather?"); err == nil || !errors.Is(err, agent.Err()) {
		t.Errorf("%v, want %v", err, agent.Err())
	}
}

// The answer of a turn that waited for approval has its type too.
func TestContinueReturnsATypedAnswer(t *testing.T) {
	memory, looked := agents.NewTranscript(), 0
	agent, engine := build(t, agents.AgentConfig{Memory: memory, Tools: []llms.Tool{counted("look", core.Behavior{NeedsApproval: true}, &looked)}},
		llmtest.Call("look", `{}`), llmtest.Say("Warm."), llmtest.Say(`{"city":"Bergen","degrees":12}`))
	_, err := agents.Run[weather](t.Context(), agent, "How is the weather?")
	waits, ok := errors.AsType[*agents.ApprovalError](err)
	if !ok {
		t.Fatal(err)
	}
	if err := agents.Decide(t.Context(), memory, waits.Calls[0].ID, agents.Decision{Approved: true, By: "Ann"}); err != nil {
		t.Fatal(err)
	}
	got, err := agents.Continue[weather](t.Context(), agent)
	if err != nil || got != (weather{"Bergen", 12}) || looked != 1 || len(engine.Requests()) != 3 {
		t.Errorf("%+v, %v after %d requests", got, err, len(engine.Requests()))
	}
}
