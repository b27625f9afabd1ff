//go:build e2e

package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRunAllowed: the model may look into what was folded, with the permissions that people
// have: an agent that must not ask, or may do nothing without asking. With --no-allow it
// may not.
func TestRunAllowed(t *testing.T) {
	if !withoutNetwork(t) {
		return
	}
	const asks = `{"permission": {"*": "ask"}}`
	for name, c := range map[string]struct {
		host     agent
		flags    []string // of the agent
		settings string   // of the project, for opencode
		own      []string // flags of lcm run
		denied   bool
	}{
		"claude that may use the shell": {host: claudeAgent{}, flags: []string{"--allowedTools", "Bash"}},
		"claude in plan mode":           {host: claudeAgent{}, flags: []string{"--permission-mode", "plan"}},
		"claude that has to ask":        {host: claudeAgent{}, flags: []string{"--allowedTools", "Bash"}, own: []string{"--no-allow"}, denied: true},
		"codex":                         {host: codexAgent{}},
		"codex that only reads":         {host: codexAgent{}, flags: []string{"-s", "read-only"}},
		"opencode that asks":            {host: opencodeAgent{}, settings: asks},
		"opencode that has to ask":      {host: opencodeAgent{}, settings: asks, own: []string{"--no-allow"}, denied: true},
	} {
		t.Run(name, func(t *testing.T) {
			wrap := proxied(sceneBudget)
			b := newRunBed(t, c.host, slices.Insert(wrap, len(wrap)-1, c.own...), apiOptions{})
			if c.settings != "" {
				b.write(filepath.Join(b.work, "opencode.json"), c.settings)
			}
			b.flags = c.flags
			b.logs(3, 2_000)
			b.ask("The harbour gate opens with " + needle + ". play:read0a")
			o := b.ask("What opens it? play:recall0b")
			if found := strings.Contains(o.Answer, "says lcm_grep"); found == c.denied || o.Code != 0 {
				t.Errorf("code %d, %q\n%s", o.Code, o.Answer, o.log)
			}
		})
	}
}
