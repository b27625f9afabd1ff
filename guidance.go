package lcm

import (
	_ "embed"
	"strings"
)

//go:embed prompts/guidance.md
var guidanceText string

// Guidance returns the paragraph about the memory for an agent's system prompt. It
// tells the agent when to use the tools of [Session.Tools]. An agent
// whose memory is a [Memory] gets it without asking.
func (s *Session) Guidance() string { return strings.TrimSpace(guidanceText) }

//go:embed prompts/tools.md
var toolsText string

// ToolsIntroduction returns the introduction of docs/TOOLS.md.
func ToolsIntroduction() string { return toolsText }
