package copilot

import (
	"path/filepath"

	"github.com/lossless-context/lcm/internal/hosts/setup"
)

// Entries implements [setup.Host]. The hooks are a file of lcm's own: the program reads every
// file of the directory, and events with the names of Claude Code come in its form.
func (Host) Entries(dir string, o setup.Options) []setup.Entry {
	command := o.ServerCommand()
	server := struct {
		Type    string   `json:"type"`
		Command string   `json:"command"`
		Args    []string `json:"args"`
		Tools   []string `json:"tools"`
	}{"local", command[0], command[1:], []string{"*"}}
	return []setup.Entry{
		setup.JSONServer(filepath.Join(dir, "mcp-config.json"), server, "mcpServers", "lcm"),
		setup.Hooks(filepath.Join(dir, "hooks", "lcm.json"), Name, o, 10, "PostToolUse"),
		setup.Skill(filepath.Join(dir, "skills"), o),
	}
}
