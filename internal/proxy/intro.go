package proxy

import (
	_ "embed"
	"strings"
)

// intro is said before the first summary. The others say in it how the model looks deeper:
// with lcm's tools, or with the command line of lcm.
var (
	//go:embed intro.md
	intro string
	//go:embed deeper_tools.md
	deeperTools string
	//go:embed deeper_command.md
	deeperCommand string
)

// intro returns the text before the first summary. It names lcm's tools only if the
// requests of the session offer them, and the command line only if they offer tools at all:
// behind `lcm run --listen` nobody has connected the agent to lcm's tools. What was offered once
// counts for the session, so that the text stays the same.
func (s *session) intro() string {
	deeper := ""
	switch {
	case s.tools:
		deeper = " " + strings.TrimSpace(deeperTools)
	case s.commands:
		deeper = " " + strings.TrimSpace(deeperCommand)
	}
	return strings.Replace(intro, "{deeper}", deeper, 1)
}
