package setup_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAdapters: every adapter has the part that speaks with the engine, starts this program, is
// short, and is valid JavaScript.
func TestAdapters(t *testing.T) {
	m := home(t, worlds["fresh"])
	node, _ := exec.LookPath("node") // without it the syntax is not checked
	for host, file := range map[string]string{
		"pi": ".pi/agent/extensions/lcm.js", "opencode": ".config/opencode/plugins/lcm.js", "kilo": ".config/kilo/plugins/lcm.js", "openclaw": ".openclaw/extensions/lcm/index.js",
	} {
		apply(t, host, options(m), filepath.Join(t.TempDir(), "kept"))
		script := tree(t, m.Home)[filepath.FromSlash(file)]
		if !strings.Contains(script, "\nconst ENGINE = [\"/opt/lcm/bin/lcm\",\"engine\"]\n") || !strings.Contains(script, "const HOST = \""+host+"\"") || strings.Contains(script, "/* engine */") {
			t.Errorf("%s does not start the engine:\n%.2000s", file, script)
		}
		if n := strings.Count(script, "\n"); n > 400 {
			t.Errorf("%s has %d lines", file, n)
		}
		if host == "openclaw" && strings.Count(script, `"verb":`) != 3 {
			t.Errorf("%s has not the three tools", file)
		}
		if node == "" {
			continue
		}
		check := exec.CommandContext(t.Context(), node, "--check", "--input-type=module", "-")
		check.Stdin = strings.NewReader(script)
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
	}
}
