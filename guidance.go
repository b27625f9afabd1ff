package lcm

import "strings"

// Guidance returns the paragraph about the memory for an agent's system prompt. It
// tells the agent when to use the tools of [Session.Tools] and where they look; pass
// the options that the tools get. An agent whose memory is a [Memory] gets it
// without asking.
func (s *Session) Guidance(options ...ToolOption) string {
	t := newToolset(s, options)
	scope := "scope"
	if t.project {
		scope = "scope_project"
	}
	return strings.TrimSpace(prompt("guidance")) + "\n\n" + strings.TrimSpace(prompt(scope))
}
