package claude

import (
	"path/filepath"

	"github.com/lossless-context/lcm/internal/hosts/setup"
)

// Entries implements [setup.Host]. The MCP server is in the program's own state file, the
// hooks are in the user's settings. The end of a turn updates the record. The start of a
// session or a sub-agent and a prompt that refers to earlier work get context. Hosts do not always report
// the end of a session. The status line is taken where the user has none.
func (Host) Entries(dir string, o setup.Options) []setup.Entry {
	state := filepath.Join(o.Machine.Env("CLAUDE_CONFIG_DIR", o.Machine.Home), ".claude.json")
	return []setup.Entry{
		setup.JSONServer(state, o.StdioServer("stdio").Waiting(setup.InMillis), "mcpServers", "lcm"),
		setup.Hooks(filepath.Join(dir, "settings.json"), Name, o, setup.InSeconds, 10, "SubagentStart"),
		setup.StatusLine(filepath.Join(dir, "settings.json"), o),
		setup.Skill(filepath.Join(dir, "skills"), o),
	}
}
