package gemini

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/setup"
)

// manifest is the file of an extension that describes it, and has its MCP servers.
const manifest = "gemini-extension.json"

// Plugin implements [setup.PluginHost]: an extension.
func (h Host) Plugin(version, skill string) (map[string]string, error) {
	about, err := json.MarshalIndent(map[string]string{"name": "lcm", "version": version, "description": setup.PluginAbout}, "", "  ")
	if err != nil {
		return nil, err
	}
	files := map[string]string{
		manifest:                   string(about) + "\n",
		"commands/lcm/recall.toml": command("Recall what was said, decided or done earlier", setup.RecallPrompt("{{args}}")),
		"commands/lcm/status.toml": command("Tell whether lcm works, and what it holds", setup.StatusPrompt("!{lcm doctor}\n\n!{lcm db status}")),
	}
	return files, setup.PluginFiles(h, files, "${extensionPath}", skill, manifest, "hooks/hooks.json")
}

// command is the file of a command.
func command(description, prompt string) string {
	return "description = \"" + description + "\"\nprompt = '''\n" + prompt + "'''\n"
}

// HasPlugin implements [setup.PluginHost].
func (h Host) HasPlugin(m hosts.Machine) bool {
	_, err := os.Stat(filepath.Join(h.Settings(m), "extensions", "lcm", manifest))
	return err == nil
}
