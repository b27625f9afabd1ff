package lcm

import (
	"testing"

	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
)

// A sub-agent whose session is closed is not asked again, and its transcript is
// let go.
func TestAClosedSubAgentIsNotAsked(t *testing.T) {
	asked := 0
	model := llmtest.New(func(llms.Request) llmtest.Reply { asked++; return llmtest.Say("12 fathoms") })
	agent, err := agents.New(agents.AgentConfig{LLMEngine: model, AgentName: "child"})
	if err != nil {
		t.Fatal(err)
	}
	s := &childSession{}
	s.agent.Store(agent)
	if text, err := s.Ask(t.Context(), "How deep?"); text != "12 fathoms" || err != nil {
		t.Fatalf("%q, %v", text, err)
	}
	s.Close()
	if text, err := s.Ask(t.Context(), "How deep?"); err == nil || asked != 1 {
		t.Errorf("after Close: %q, %v, %d calls", text, err, asked)
	}
	if s.agent.Load() != nil {
		t.Error("the sub-agent is still there")
	}
}
