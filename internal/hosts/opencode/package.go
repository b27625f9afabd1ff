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
func (h Host) packageName() string { return "@lossless-context/" + h.Name }

// platforms are those of the packages with the program, as npm names them.
var platforms = []string{"linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64", "win32-x64", "win32-arm64"}

// Plugin implements [setup.PluginHost]: an npm package with the plugin that setup writes, which
// also adds the MCP server to the settings. Such a package has no skill.
func (h Host) Plugin(version, _ string) (map[string]string, error) {
	o := setup.Options{Binary: "lcm", Args: []string{"--plugin", h.Name}}
	server, err := json.Marshal(serverEntry(o))
	if err != nil {
		return nil, err
	}
	programs := map[string]string{}
	for _, platform := range platforms {
		programs["@lossless-context/lcm-"+platform] = version
	}
	manifest, err := json.MarshalIndent(map[string]any{
		"name": h.packageName(), "version": version, "description": setup.PluginAbout + ", for " + h.Title, "license": "Apache-2.0",
		"type": "module", "main": "index.js", "files": []string{"index.js"}, "optionalDependencies": programs,
	}, "", "  ")
	if err != nil {
		return nil, err
	}
	_, code, _ := strings.Cut(h.plugin(o), "\n") // the first line is about setup
	return map[string]string{
		"package.json": string(manifest) + "\n",
		"index.js":     "// lcm for " + h.Title + ", as the npm package " + h.packageName() + ".\n" + strings.Replace(code, "const SERVER = null", "const SERVER = "+string(server), 1) + packaged,
	}, nil
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
