package setup

import (
	"path/filepath"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/lossless-context/lcm/internal/hosts"
)

// codex has the MCP server in config.toml, the hooks in a file of their own.
var codex = target{
	name: "codex", title: "Codex", program: "codex",
	dir:        codexDir,
	configured: func(m hosts.Machine) (configured, error) { return codexConfigured(codexDir(m)) },
	entries: func(dir string, o Options) []entry {
		args := make([]string, 0, 1+len(o.Args))
		for _, a := range append([]string{"mcp"}, o.Args...) {
			args = append(args, tomlString(a))
		}
		server := []string{"command = " + tomlString(o.Binary), "args = [" + strings.Join(args, ", ") + "]"}
		return append([]entry{
			table(filepath.Join(dir, "config.toml"), "MCP server", server, "mcp_servers", "lcm"),
			hooks(filepath.Join(dir, "hooks.json"), "codex", codexEvents, o.hook("codex")),
		}, guidance(o, filepath.Join(dir, "skills", "lcm-memory", "SKILL.md"), filepath.Join(dir, "AGENTS.md"))...)
	},
	notes: []string{"Codex runs hooks only after you have trusted them: start it, type /hooks, and trust those of lcm"},
	trust: "start Codex, type /hooks, and trust those of lcm",
}

func codexDir(m hosts.Machine) string { return m.Env("CODEX_HOME", filepath.Join(m.Home, ".codex")) }

// Codex writes its last record before the end of the session, and waits three seconds for it.
var codexEvents = []event{{"SessionStart", 10}, {"UserPromptSubmit", 5}, {"Stop", 30}, {"SubagentStop", 30}, {"PreCompact", 30}, {"SessionEnd", 3}}

// tomlString writes a basic string: the escapes of JSON are those of TOML.
func tomlString(s string) string { return string(hujson.String(s)) }
