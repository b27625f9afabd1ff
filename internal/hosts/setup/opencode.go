package setup

import (
	_ "embed"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts"
)

//go:embed opencode.js
var opencodePlugin string

// pluginSign identifies lcm's plugin.
const pluginSign = "// lcm for opencode"

// opencode has the MCP server in its settings, and a small plugin that passes events on.
var opencode = target{
	name: "opencode", title: "opencode", program: "opencode",
	dir:        opencodeDir,
	configured: func(m hosts.Machine) (configured, error) { return opencodeConfigured(opencodeDir(m)) },
	entries: func(dir string, o Options) []entry {
		server := struct {
			Type    string   `json:"type"`
			Command []string `json:"command"`
			Enabled bool     `json:"enabled"`
		}{"local", slices.Concat([]string{o.Binary, "mcp"}, o.Args), true}
		command, err := json.Marshal(slices.Concat([]string{o.Binary, "hook", "opencode"}, o.Args))
		if err != nil {
			command = []byte("[]") // impossible: strings can be encoded
		}
		plugin := strings.Replace(opencodePlugin, `["lcm", "hook", "opencode"]`, string(command), 1)
		return append([]entry{
			member(opencodeFile(dir), "MCP server", server, "mcp", "lcm"),
			ownFile(filepath.Join(dir, "plugins", "lcm.js"), "plugin", pluginSign, plugin),
		}, guidance(o, filepath.Join(dir, "skills", "lcm-memory", "SKILL.md"), filepath.Join(dir, "AGENTS.md"))...)
	},
	notes: []string{"opencode reads its settings when it starts: start it anew"},
}

func opencodeDir(m hosts.Machine) string {
	return m.Env("OPENCODE_CONFIG_DIR", filepath.Join(m.Env("XDG_CONFIG_HOME", filepath.Join(m.Home, ".config")), "opencode"))
}

// opencodeFile is the settings file; of two, opencode uses the one with comments.
func opencodeFile(dir string) string {
	for _, name := range []string{"opencode.jsonc", "opencode.json"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return filepath.Join(dir, name)
		}
	}
	return filepath.Join(dir, "opencode.json")
}
