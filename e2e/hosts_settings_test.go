//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// settingsFiles are the files of a home that setup may change, and some beside them.
var settingsFiles = []string{
	".claude.json", ".claude/settings.json", ".claude/CLAUDE.md",
	".codex/config.toml", ".codex/hooks.json", ".codex/AGENTS.md",
	".config/opencode/opencode.json", ".config/opencode/opencode.jsonc", ".config/opencode/AGENTS.md", ".config/opencode/plugins/lcm.js",
	".qwen/settings.json",
	".config/kilo/kilo.json", ".config/kilo/kilo.jsonc", ".config/kilo/plugins/lcm.js",
	".copilot/mcp-config.json", ".copilot/hooks/mine.json", ".copilot/hooks/lcm.json",
	".gemini/settings.json", ".gemini/skills/lcm-memory/SKILL.md",
	".factory/settings.json", ".factory/mcp.json",
	".openclaw/openclaw.json", ".openclaw/skills/lcm-memory/SKILL.md",
	".cline/data/settings/cline_mcp_settings.json", ".cline/data/settings/providers.json", ".cline/skills/lcm-memory/SKILL.md",
}

// settings reads the settings of the home.
func (b *bed) settings() map[string]string {
	b.Helper()
	all := map[string]string{}
	for _, name := range settingsFiles {
		content, err := os.ReadFile(filepath.Join(b.home, name))
		if err == nil {
			all[name] = string(content)
		}
	}
	return all
}

// restored checks that the settings are what they were: to the byte, but for
// what the agent itself wrote meanwhile, in which nothing of lcm is left.
func (b *bed) restored(before map[string]string, rewritten []string) {
	b.Helper()
	after := b.settings()
	for _, name := range rewritten {
		if own := regexp.MustCompile(`mcp_servers\.lcm|"lcm": ?{|lcm hook|lcm:begin`).FindString(after[name]); own != "" {
			b.Errorf("%s still has %q:\n%s", name, own, after[name])
		}
		delete(after, name)
		before = without(before, name)
	}
	if fmt.Sprint(before) != fmt.Sprint(after) {
		b.Errorf("the settings were\n%v\nand are now\n%v", before, after)
	}
}

func without(m map[string]string, name string) map[string]string {
	out := map[string]string{}
	for k, v := range m {
		if k != name {
			out[k] = v
		}
	}
	return out
}
