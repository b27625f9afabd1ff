package lcm

import (
	"fmt"
	"testing"
	"time"

	"github.com/lossless-context/lcm/agents"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
)

// The settings that a user gives the command reach a program that embeds the
// engine.
func TestWithSettings(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("LCM_MAX_EXPAND_TOKENS", "777")
	t.Setenv("LCM_DELEGATION_TIMEOUT_MS", "4000")
	var s settings
	if err := WithSettings()(&s); err != nil {
		t.Fatal(err)
	}
	if l := s.expansion.limits; l.ExpandTokens != 777 || l.Timeout != 4*time.Second {
		t.Errorf("limits %+v", l)
	}
	if s.budget == 0 || s.soft == 0 || s.privacy.Redact == "" {
		t.Errorf("settings %+v", s)
	}
	t.Setenv("LCM_MAX_EXPAND_TOKENS", "many")
	if err := WithSettings()(&s); err == nil {
		t.Error("a bad setting is taken")
	}
}

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

func TestBudgetsForgetOldSessions(t *testing.T) {
	b := budgets{usual: 128_000}
	use := func(key string, named, want int) {
		t.Helper()
		if got, err := b.use(key, named); err != nil || got != want {
			t.Errorf("%s with %d: %d, want %d (%v)", key, named, got, want, err)
		}
	}
	use("first", 0, 128_000)
	use("first", 8_000, 8_000)
	use("used", 9_000, 9_000)
	for i := range 3 * maxBudgets {
		use(fmt.Sprint("other ", i), 10_000, 10_000)
		use("used", 0, 9_000)
	}
	use("first", 0, 128_000)
	if n := len(b.last) + len(b.old); n > 2*maxBudgets {
		t.Errorf("%d budgets are remembered", n)
	}
	if _, err := b.use("first", MinBudget-1); err == nil {
		t.Error("a budget that is too small is taken")
	}
}
