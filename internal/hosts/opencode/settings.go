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

// pluginSign identifies lcm's plugin, pluginCommand begins the line with its command.
const (
	pluginSign    = "// lcm for opencode"
	pluginCommand = "const COMMAND = "
)

// Settings implements [setup.Host].
func (Host) Settings(m hosts.Machine) string { return m.Env("OPENCODE_CONFIG_DIR", configDir(m)) }

// Entries implements [setup.Host]: the MCP server in the settings, and a small plugin that
// passes events on.
func (Host) Entries(dir string, o setup.Options) []setup.Entry {
	server := struct {
		Type    string   `json:"type"`
		Command []string `json:"command"`
		Enabled bool     `json:"enabled"`
	}{"local", o.ServerCommand(), true}
	file := filepath.Join(dir, "opencode.jsonc") // of two, opencode uses the one with comments
	if _, err := os.Lstat(file); err != nil {
		file = filepath.Join(dir, "opencode.json")
	}
	command, err := json.Marshal(o.HookCommand(Name))
	if err != nil {
		command = []byte("[]") // impossible: strings can be encoded
	}
	content := strings.Replace(plugin, pluginCommand+`["lcm", "hook", "opencode"]`, pluginCommand+string(command), 1)
	return []setup.Entry{
		setup.JSONServer(file, server, "mcp", "lcm"),
		setup.OwnFile(filepath.Join(dir, "plugins", "lcm.js"), "plugin", pluginSign, content, commandsIn),
		setup.Skill(filepath.Join(dir, "skills"), o),
	}
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
