package opencode

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/setup"
)

//go:embed plugin.js
var plugin string

// Settings implements [setup.Host].
func (h Host) Settings(m hosts.Machine) string { return m.Env(h.env("CONFIG_DIR"), h.configDir(m)) }

// Entries implements [setup.Host]: the MCP server in the settings, and a small plugin that
// passes events on.
func (h Host) Entries(dir string, o setup.Options) []setup.Entry {
	file := filepath.Join(dir, h.Name+".json")
	for _, name := range h.fileNames() {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			file = filepath.Join(dir, name) // the last one goes before the others
		}
	}
	return []setup.Entry{
		setup.JSONServer(file, serverEntry(o), "mcp", "lcm"),
		setup.Script(filepath.Join(dir, "plugins", "lcm.js"), "plugin", "// lcm for "+h.Name, h.plugin(o)),
		setup.Skill(filepath.Join(dir, "skills"), o),
	}
}

// serverEntry is the MCP server in the settings.
func serverEntry(o setup.Options) any {
	return struct {
		Type    string   `json:"type"`
		Command []string `json:"command"`
		Enabled bool     `json:"enabled"`
		Timeout int      `json:"timeout"`
	}{"local", o.ServerCommand(), true, setup.ToolSeconds * setup.InMillis}
}

// plugin is the plugin that passes events on and owns the context.
func (h Host) plugin(o setup.Options) string {
	return setup.WithEngine(setup.WithCommand(strings.ReplaceAll(plugin, "opencode", h.Name), o.HookCommand(h.Name)), o)
}

// fileNames are the names of the settings files, in the order of their weight.
func (h Host) fileNames() (names []string) {
	for _, name := range h.Files {
		names = append(names, name+".json", name+".jsonc")
	}
	return names
}
