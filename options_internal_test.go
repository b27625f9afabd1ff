package lcm

import (
	"testing"
	"time"
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
