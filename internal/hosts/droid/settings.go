package droid

import (
	"path/filepath"

	"github.com/lossless-context/lcm/internal/hosts/setup"
)

// Entries implements [setup.Host]. Hooks have the form of Claude Code.
func (Host) Entries(dir string, o setup.Options) []setup.Entry {
	return []setup.Entry{
		setup.JSONServer(filepath.Join(dir, "mcp.json"), o.StdioServer("stdio"), "mcpServers", "lcm"),
		setup.Hooks(filepath.Join(dir, "settings.json"), Name, o, setup.InSeconds, 10, "PostToolUse"),
		setup.Skill(filepath.Join(dir, "skills"), o),
	}
}
