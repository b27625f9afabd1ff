package openclaw

import (
	_ "embed"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/core"
	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/setup"
	"github.com/lossless-context/lcm/internal/kit/jsonstring"
	"github.com/lossless-context/lcm/internal/kit/toolname"
)

// The files of the plugin.
var (
	//go:embed plugin/index.js
	index string
	//go:embed plugin/openclaw.plugin.json
	contract string
	//go:embed plugin/package.json
	packageFile string
)

// Settings implements [setup.Host].
func (Host) Settings(m hosts.Machine) string {
	return m.Env("OPENCLAW_STATE_DIR", filepath.Join(m.Home, ".openclaw"))
}

// Entries implements [setup.Host]: the plugin, its place in the settings, and a skill. An older
// lcm wrote an MCP server, whose tools the model had to search for.
func (Host) Entries(dir string, o setup.Options) []setup.Entry {
	file, plugin := filepath.Join(dir, "openclaw.json"), filepath.Join(dir, "extensions", "lcm")
	return []setup.Entry{
		setup.OwnFile(filepath.Join(plugin, "package.json"), "plugin", "@lossless-context/openclaw", packageFile, nil),
		setup.OwnFile(filepath.Join(plugin, "openclaw.plugin.json"), "plugin", `"id": "lcm"`, manifest(), nil),
		setup.Script(filepath.Join(plugin, "index.js"), "plugin", "// lcm for OpenClaw", script(o)),
		setup.Slot(file, "legacy", o, "plugins", "slots", "contextEngine"),
		setup.Listed(file, "plugins", "allow"),
		setup.Retired(setup.JSONServer(file, o.StdioServer(""), "mcp", "servers", "lcm")),
		setup.Skill(filepath.Join(dir, "skills"), o),
	}
}

// Package implements [setup.PackageHost].
func (h Host) Package(version string) (map[string]string, error) {
	more := map[string]any{"openclaw": map[string]any{"extensions": []string{"./index.js"}}}
	return setup.PackageFiles(h, version, script(setup.Options{Binary: "lcm", Args: []string{"--plugin", Name}}), more, map[string]string{"openclaw.plugin.json": manifest()})
}

// manifest is the plugin's own, with the names of the tools.
func manifest() string {
	list, _ := jsonstring.Marshal(append(toolname.Agent(), toolname.Expand)) // strings can be written
	return strings.Replace(contract, `"tools": []`, `"tools": `+string(list), 1)
}

// script is the plugin's program with the texts of the tools: they are registered before the
// engine can be asked for them.
func script(o setup.Options) string {
	type offer struct {
		Verb        string          `json:"verb"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	var tools []offer
	for _, t := range new(lcm.Engine).Session("").Tools(lcm.WithProjectScope()) {
		if name := t.GetName(); slices.Contains(toolname.Agent(), name) {
			tools = append(tools, offer{toolname.Short(name), name, core.BasicDescription(t), t.Parameters()})
		}
	}
	list, err := jsonstring.Marshal(tools)
	if err != nil || len(tools) != len(toolname.Agent()) {
		return "" // impossible: the texts are part of the program
	}
	return setup.WithEngine(strings.Replace(index, "const TOOLS = []", "const TOOLS = "+string(list), 1), o)
}
