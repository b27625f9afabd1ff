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
