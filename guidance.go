package lcm

import (
	_ "embed"
	"strings"
)

//go:embed prompts/guidance.md
var guidanceText string

// Guidance returns what an agent's system prompt has to say about the memory,
// so that the agent knows when to use the tools of [Session.Tools]. An agent
// whose memory is a [Memory] gets it without asking.
func (s *Session) Guidance() string { return strings.TrimSpace(guidanceText) }

//go:embed prompts/tools.md
var toolsText string

// ToolsIntroduction returns what docs/TOOLS.md says before the tools speak for
// themselves.
func ToolsIntroduction() string { return toolsText }
