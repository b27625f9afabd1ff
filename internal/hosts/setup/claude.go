package setup

import (
	"path/filepath"
	"slices"

	"github.com/lossless-context/lcm/internal/hosts"
)

// claude has the MCP server in its own state file, the hooks in the user's settings.
var claude = target{
	name: "claude", title: "Claude Code", program: "claude",
	dir: claudeDir,
	configured: func(m hosts.Machine) (configured, error) {
		return claudeConfigured(claudeState(m), filepath.Join(claudeDir(m), "settings.json"))
	},
	entries: func(dir string, o Options) []entry {
		server := struct {
			Type    string   `json:"type"`
			Command string   `json:"command"`
			Args    []string `json:"args"`
		}{"stdio", o.Binary, append([]string{"mcp"}, o.Args...)}
		return append([]entry{
			member(claudeState(o.Machine), "MCP server", server, "mcpServers", "lcm"),
			hooks(filepath.Join(dir, "settings.json"), "claude", claudeEvents, o.hook("claude")),
		}, guidance(o, filepath.Join(dir, "skills", "lcm-memory", "SKILL.md"), filepath.Join(dir, "CLAUDE.md"))...)
	},
	notes: []string{"Claude Code reads its settings when it starts: sessions that are running now do not have the tools yet"},
}

func claudeDir(m hosts.Machine) string {
	return m.Env("CLAUDE_CONFIG_DIR", filepath.Join(m.Home, ".claude"))
}

// claudeState is the file with Claude Code's own state and the user's MCP servers.
func claudeState(m hosts.Machine) string {
	return filepath.Join(m.Env("CLAUDE_CONFIG_DIR", m.Home), ".claude.json")
}

// The end of a turn updates the record. The start of a session and a prompt that refers to
// earlier work get context. Hosts do not always report the end of a session.
var claudeEvents = []event{{"SessionStart", 10}, {"UserPromptSubmit", 5}, {"Stop", 30}, {"SubagentStop", 30}, {"PreCompact", 30}, {"SessionEnd", 10}}

// hook returns the command line of a host's hooks.
func (o Options) hook(host string) string {
	words := slices.Concat([]string{o.Binary, "hook", host}, o.Args)
	return shellLine(words)
}
