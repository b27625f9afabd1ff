package opencode

import (
	_ "embed"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/setup"
	"github.com/lossless-context/lcm/internal/hosts/setup/edit"
)

//go:embed package.js
var packaged string

// packageName is the name of the npm package with the plugin.
func (h Host) packageName() string { return setup.PackageName(h.Name) }

// Plugin implements [setup.PluginHost]: an npm package with the plugin that setup writes, which
// also adds the MCP server to the settings. Such a package has no skill.
func (h Host) Plugin(version, _ string) (map[string]string, error) {
	o := setup.Options{Binary: "lcm", Args: []string{"--plugin", h.Name}}
	server, err := json.Marshal(serverEntry(o))
	if err != nil {
		return nil, err
	}
	return setup.PackageFiles(h, version, strings.Replace(h.plugin(o), "const SERVER = null", "const SERVER = "+string(server), 1)+packaged, nil, nil)
}

// HasPlugin implements [setup.PluginHost].
func (h Host) HasPlugin(m hosts.Machine) bool {
	for _, name := range h.fileNames() {
		src, err := os.ReadFile(filepath.Join(h.Settings(m), name))
		if err != nil {
			continue
		}
		if d, err := edit.ParseJSON(src); err == nil && strings.Contains(string(d.Get("plugin")), h.packageName()) {
			return true
		}
	}
	return false
}
