package claude

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/launch"
	"github.com/lossless-context/lcm/internal/hosts/setup"
	"github.com/lossless-context/lcm/internal/hosts/setup/edit"
)

// The name of the marketplace is part of the plugin's full name, lcm@lossless-context.
const marketplace = "lossless-context"

// Plugin implements [setup.PluginHost]: a marketplace with one plugin.
func (h Host) Plugin(version, skill string) (map[string]string, error) {
	const root = "${CLAUDE_PLUGIN_ROOT}"
	status := `"` + root + "/" + setup.Starter + `" status`
	plugin := map[string]string{
		"commands/recall.md": "---\ndescription: Recall what was said, decided or done earlier\nargument-hint: what to recall\n---\n\n" + setup.RecallPrompt("$ARGUMENTS"),
		"commands/status.md": "---\ndescription: Tell whether lcm works, and what it holds\nallowed-tools: Bash(" + status + ")\n---\n\n" + setup.StatusPrompt("!`"+status+"`"),
	}
	if err := setup.PluginFiles(h, plugin, root, skill, ".mcp.json", "hooks/hooks.json"); err != nil {
		return nil, err
	}
	owner := map[string]string{"name": "The lcm authors"}
	manifests := map[string]any{
		".claude-plugin/marketplace.json": map[string]any{"name": marketplace, "description": setup.PluginAbout, "owner": owner, "plugins": []any{
			map[string]any{"name": "lcm", "source": "./lcm", "description": setup.PluginAbout},
		}},
		"lcm/.claude-plugin/plugin.json": map[string]any{
			"name": "lcm", "version": version, "description": setup.PluginAbout, "author": owner, "license": "Apache-2.0",
		},
	}
	files := map[string]string{}
	for name, content := range plugin {
		files["lcm/"+name] = content
	}
	for name, content := range manifests {
		text, err := json.MarshalIndent(content, "", "  ")
		if err != nil {
			return nil, err
		}
		files[name] = string(text) + "\n"
	}
	return files, nil
}

// HasPlugin implements [setup.PluginHost].
func (h Host) HasPlugin(m hosts.Machine) (has bool) {
	_ = launch.ReadSettings([]string{filepath.Join(h.Settings(m), "settings.json")}, func(_ string, d *edit.JSON) error {
		var enabled map[string]bool
		_ = json.Unmarshal(d.Get("enabledPlugins"), &enabled) // an unknown form has none
		for name, on := range enabled {
			has = has || on && strings.HasPrefix(name, "lcm@")
		}
		return nil
	}) // a file that cannot be read has none
	return has
}
