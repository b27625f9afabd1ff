package codex

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/lossless-context/lcm/internal/hosts/setup"
)

// Entries implements [setup.Host]. The MCP server is in config.toml, the hooks are in a file
// of their own. Codex writes its last record before the end of the session, and waits three
// seconds for it.
func (Host) Entries(dir string, o setup.Options) []setup.Entry {
	command := o.ServerCommand()
	return []setup.Entry{
		setup.TOMLServer(filepath.Join(dir, "config.toml"), []string{"command = " + tomlString(command[0]), "args = " + tomlStrings(command[1:], ", "), fmt.Sprint("tool_timeout_sec = ", setup.ToolSeconds)}, "mcp_servers", "lcm"),
		setup.Hooks(filepath.Join(dir, "hooks.json"), Name, o, setup.InSeconds, 3, "SubagentStart"),
		setup.Skill(filepath.Join(dir, "skills"), o),
	}
}

// tomlString writes a basic string: the escapes of JSON are those of TOML.
func tomlString(s string) string { return string(hujson.String(s)) }

func tomlStrings(words []string, separator string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = tomlString(w)
	}
	return "[" + strings.Join(quoted, separator) + "]"
}
