package copilot

import (
	"path/filepath"

	"github.com/lossless-context/lcm/internal/hosts/setup"
)

// Entries implements [setup.Host]. The hooks are a file of lcm's own: the program reads every
// file of the directory, and events with the names of Claude Code come in its form.
func (Host) Entries(dir string, o setup.Options) []setup.Entry {
	return []setup.Entry{
		setup.JSONServer(filepath.Join(dir, "mcp-config.json"), o.StdioServer("local", "*").Waiting(setup.InMillis), "mcpServers", "lcm"),
		setup.Hooks(filepath.Join(dir, "hooks", "lcm.json"), Name, o, setup.InSeconds, 10, "PostToolUse"),
		setup.Skill(filepath.Join(dir, "skills"), o),
	}
}
