package launch

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/hint"
)

// anthropicAPI is where Anthropic's models are.
const anthropicAPI = "https://api.anthropic.com"

// firstParty is a variable of Claude Code that lcm never sets.
const firstParty = "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL"

var claudeCode = host{
	routes: func(p Program) (map[string]*url.URL, error) {
		for _, name := range []string{"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"} {
			if v := p.Machine.Env(name, ""); v != "" && v != "0" && v != "false" {
				return nil, hint.New("start Claude Code without lcm run", "%s is set: lcm run has Anthropic's API only", name)
			}
		}
		u, err := ParseBase("ANTHROPIC_BASE_URL", p.Machine.Env("ANTHROPIC_BASE_URL", anthropicAPI))
		return map[string]*url.URL{"anthropic": u}, err
	},
	child: func(p Program, x Proxy, routes map[string]*url.URL, connect bool) (Child, error) {
		c := Child{Path: p.Path, Args: slices.Clone(p.Args), Env: []string{"ANTHROPIC_BASE_URL=" + x.URL("anthropic")}}
		// Claude Code switches the search for tools off behind a base URL of the
		// user's own, because not every server has it. Anthropic's has.
		if routes["anthropic"].String() == anthropicAPI && p.Machine.Env("ENABLE_TOOL_SEARCH", "") == "" {
			c.Env = append(c.Env, "ENABLE_TOOL_SEARCH=true")
		}
		// With this variable Claude Code claims to speak to Anthropic directly, and
		// signs bodies that the proxy may change.
		if p.Machine.Env(firstParty, "") != "" {
			c.Env = append(c.Env, firstParty+"=")
		}
		if connect && !claudeSubcommand(p.Args) {
			// The first request waits for the server. Without alwaysLoad the tools may
			// appear with the second one, and the provider's cache of the first is lost.
			server := map[string]any{"type": "stdio", "command": p.Server[0], "args": p.Server[1:], "alwaysLoad": true}
			config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"lcm": server}})
			if err != nil {
				return c, err
			}
			c.Args = append([]string{"--mcp-config=" + string(config)}, c.Args...)
		}
		return c, nil
	},
	warnings: func(p Program) (found []string) {
		for _, file := range claudeSettings(p) {
			src, err := os.ReadFile(file)
			if err != nil {
				continue // most of the files do not exist
			}
			var settings struct {
				Env map[string]string `json:"env"`
			}
			if json.Unmarshal(src, &settings) == nil && settings.Env["ANTHROPIC_BASE_URL"] != "" {
				found = append(found, "env.ANTHROPIC_BASE_URL in "+file+" goes before lcm's: Claude Code will not use lcm. Remove it there and set the variable in the shell")
			}
		}
		return found
	},
}

// claudeSettings are the files from which Claude Code may take variables.
func claudeSettings(p Program) []string {
	return []string{
		filepath.Join(p.Machine.Env("CLAUDE_CONFIG_DIR", filepath.Join(p.Machine.Home, ".claude")), "settings.json"),
		filepath.Join(p.Dir, ".claude", "settings.json"),
		filepath.Join(p.Dir, ".claude", "settings.local.json"),
		"/etc/claude-code/managed-settings.json",
	}
}

// claudeSubcommand reports whether the arguments begin with a command that is no
// session, and does not take the flags of one.
func claudeSubcommand(args []string) bool {
	return len(args) > 0 && slices.Contains(strings.Fields("agents auth auto-mode config doctor install mcp migrate-installer plugin plugins setup-token update upgrade"), args[0])
}
