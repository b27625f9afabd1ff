package qwen

import (
	"path/filepath"

	"github.com/lossless-context/lcm/internal/hosts/setup"
)

// Entries implements [setup.Host]. Everything is in the user's settings, the hooks in the form
// of Claude Code.
func (Host) Entries(dir string, o setup.Options) []setup.Entry {
	file := filepath.Join(dir, "settings.json")
	return []setup.Entry{
		setup.JSONServer(file, o.TrustedServer().Waiting(setup.InMillis), "mcpServers", "lcm"),
		setup.Hooks(file, Name, o, setup.InMillis, 10),
		setup.Skill(filepath.Join(dir, "skills"), o),
	}
}
