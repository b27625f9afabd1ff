package setup_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/hosts/setup"
)

// TestPlugins: every plugin starts the server and the hooks that setup writes, with --plugin.
func TestPlugins(t *testing.T) {
	for _, h := range all.Those[setup.PluginHost]() {
		name := h.About().Name
		files, err := h.Plugin("1.2.3", "Use it.")
		if err != nil {
			t.Fatal(name, err)
		}
		text := ""
		for file, content := range files {
			if strings.HasSuffix(file, ".json") && !json.Valid([]byte(content)) {
				t.Errorf("%s: %s is no JSON: %s", name, file, content)
			}
			text += strings.Join(strings.Fields(content), "")
		}
		for _, want := range []string{`"mcp","--plugin","` + name + `"`, "1.2.3"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no file of the plugin has %s", name, want)
			}
		}
		if !strings.Contains(text, "hook"+name+"--plugin"+name) && !strings.Contains(text, `"hook","`+name+`","--plugin","`+name+`"`) {
			t.Errorf("%s: the plugin has no hooks", name)
		}
		if strings.Contains(text, "statusline") {
			t.Errorf("%s: the plugin has a status line, which plugins cannot have", name)
		}
	}
}

// TestPackages: the npm package of an adapter has the script that setup writes, starts the engine with
// --plugin, and gets the program of its platform.
func TestPackages(t *testing.T) {
	found := all.Those[setup.PackageHost]()
	if len(found) < 2 {
		t.Errorf("%d hosts have a package", len(found))
	}
	for _, h := range found {
		name := h.About().Name
		files, err := h.Package("1.2.3")
		if err != nil {
			t.Fatal(name, err)
		}
		var manifest struct {
			Name, Version, Main  string
			OptionalDependencies map[string]string
		}
		if err := json.Unmarshal([]byte(files["package.json"]), &manifest); err != nil || manifest.Name != "@lossless-context/"+name || manifest.Version != "1.2.3" || manifest.OptionalDependencies["@lossless-context/lcm-linux-x64"] != "1.2.3" {
			t.Errorf("%s: %v, %s", name, err, files["package.json"])
		}
		script := files[manifest.Main]
		for _, want := range []string{`const ENGINE = ["lcm","engine","--plugin","` + name + `"]`, "createRequire", "@lossless-context/" + name} {
			if !strings.Contains(script, want) {
				t.Errorf("%s: the script has no %s", name, want)
			}
		}
		if strings.Contains(script, "/* engine */") || strings.Contains(script, "lcm setup") {
			t.Errorf("%s: %.200s", name, script)
		}
	}
}
