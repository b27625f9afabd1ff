package opencode

import (
	_ "embed"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/setup"
)

//go:embed plugin.js
var plugin string

// pluginCommand begins the line with the plugin's command.
const pluginCommand = "const COMMAND = "

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
		setup.OwnFile(filepath.Join(dir, "plugins", "lcm.js"), "plugin", "// lcm for "+h.Name, h.plugin(o), commandsIn),
		setup.Skill(filepath.Join(dir, "skills"), o),
	}
}

// serverEntry is the MCP server in the settings.
func serverEntry(o setup.Options) any {
	return struct {
		Type    string   `json:"type"`
		Command []string `json:"command"`
		Enabled bool     `json:"enabled"`
	}{"local", o.ServerCommand(), true}
}

// plugin is the plugin that passes events on.
func (h Host) plugin(o setup.Options) string {
	command, err := json.Marshal(o.HookCommand(h.Name))
	if err != nil {
		command = []byte("[]") // impossible: strings can be encoded
	}
	content := strings.Replace(plugin, pluginCommand+`["lcm", "hook", "opencode"]`, pluginCommand+string(command), 1)
	return strings.ReplaceAll(content, "opencode", h.Name)
}

// fileNames are the names of the settings files, in the order of their weight.
func (h Host) fileNames() (names []string) {
	for _, name := range h.Files {
		names = append(names, name+".json", name+".jsonc")
	}
	return names
}

// commandsIn returns the command of a plugin.
func commandsIn(plugin []byte) (all [][]string, err error) {
	for line := range strings.Lines(string(plugin)) {
		var command []string
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), pluginCommand); ok && json.Unmarshal([]byte(rest), &command) == nil {
			all = append(all, command)
		}
	}
	return all, nil
}
