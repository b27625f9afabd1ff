package droid

import (
	"path/filepath"

	"github.com/lossless-context/lcm/internal/hosts/setup"
)

// Entries implements [setup.Host]. Hooks have the form of Claude Code.
func (Host) Entries(dir string, o setup.Options) []setup.Entry {
	command := o.ServerCommand()
	server := struct {
		Type    string   `json:"type"`
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}{"stdio", command[0], command[1:]}
	return []setup.Entry{
		setup.JSONServer(filepath.Join(dir, "mcp.json"), server, "mcpServers", "lcm"),
		setup.Hooks(filepath.Join(dir, "settings.json"), Name, o, 10, "PostToolUse"),
		setup.Skill(filepath.Join(dir, "skills"), o),
	}
}
