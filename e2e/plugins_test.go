//go:build e2e

package e2e

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/hosts/setup"
	"github.com/lossless-context/lcm/llms/llmtest"
)

// pluginAgent is an agent that takes plugins.
type pluginAgent interface {
	agent
	// install and uninstall have it take the plugin in a directory, or leave it.
	install(b *bed, dir string)
	uninstall(b *bed, dir string)
	// commands runs the commands of the plugin, if it has any.
	commands(b *bed)
}

// TestPlugins has each of the real agents load its plugin and recall with it, then also with
// `lcm setup`, and then without both. An added agent is one of them where LCM_E2E_HOST names it.
func TestPlugins(t *testing.T) {
	chosen := slices.DeleteFunc([]pluginAgent{claudeAgent{}, opencodeAgent{}, geminiAgent{}}, func(h pluginAgent) bool {
		host := os.Getenv("LCM_E2E_HOST")
		return host != "all" && host != h.name() && (host != "" || h == pluginAgent(geminiAgent{}))
	})
	for _, h := range chosen {
		programsOf(t, h) // while there is a network
	}
	if len(chosen) == 0 || !withoutNetwork(t) {
		return
	}
	for _, h := range chosen {
		t.Run(h.name(), func(t *testing.T) { drivePlugin(t, h) })
	}
}

func drivePlugin(t *testing.T, h pluginAgent) {
	home := filepath.Join(t.TempDir(), "home of plugins") // with blanks
	b := newBed(t, home, filepath.Join(home, "project"), play)
	b.programs = programsOf(t, h)
	b.write(filepath.Join(b.work, "notes.txt"), "low tide\n")
	h.prepare(b)
	before := b.settings()
	dir := b.plugin(h.name())
	h.install(b, dir)
	with := b.settings()

	t.Log(h.ask(b, tell))
	b.stored(h.records(b))
	ask := func() {
		t.Helper()
		asked := len(b.model.Exchanges())
		t.Log(h.ask(b, recall))
		b.told(b.model.Exchanges()[asked:])
		b.answered(b.model.Exchanges()[asked:])
		b.once(b.model.Exchanges()[asked:])
		b.stored(h.records(b))
	}
	ask()
	h.commands(b)
	b.found("connected by its plugin")

	t.Log(b.run(b.lcm, "setup", h.name(), "--yes", "--skill"))
	ask()
	b.found("it is connected by its settings and by its plugin")
	b.run(b.lcm, "setup", "--remove", h.name(), "--yes")
	b.restored(with, h.rewritten())
	ask()
	h.uninstall(b, dir)
	asked := len(b.model.Exchanges())
	h.ask(b, recall)
	for _, x := range b.model.Exchanges()[asked:] {
		if strings.Contains(string(x.Body), "lcm-context") || offered(x.Request, "lcm_grep") != "lcm_grep" {
			t.Error("without the plugin there is still something of lcm")
		}
	}
	b.restored(before, append(h.rewritten(), ".claude/settings.json")) // which keeps an empty list of plugins
}

// onPath puts lcm on the PATH, where plugins look for it.
func (b *bed) onPath() {
	b.Helper()
	bin := filepath.Join(b.home, "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.Symlink(b.lcm, filepath.Join(bin, "lcm")); err != nil {
		b.Fatal(err)
	}
	i := slices.IndexFunc(b.env, func(v string) bool { return strings.HasPrefix(v, "PATH=") })
	b.env[i] = "PATH=" + bin + ":" + os.Getenv("PATH")
}

// plugin writes the plugin for a host and returns its directory.
func (b *bed) plugin(host string) string {
	b.Helper()
	h, err := all.Named[setup.PluginHost](host)
	if err != nil {
		b.Fatal(err)
	}
	files, err := h.Plugin("0.0.1", new(lcm.Engine).Session("").Guidance(lcm.WithProjectScope()))
	if err != nil {
		b.Fatal(err)
	}
	dir := filepath.Join(b.home, "plugin")
	for name, content := range files {
		b.write(filepath.Join(dir, name), content)
		if filepath.Ext(name) == ".sh" {
			if err := os.Chmod(filepath.Join(dir, name), 0o700); err != nil {
				b.Fatal(err)
			}
		}
	}
	return dir
}

// found checks that `lcm doctor` says something, whatever else it finds.
func (b *bed) found(what string) {
	b.Helper()
	c := exec.CommandContext(b.Context(), b.lcm, "doctor")
	c.Dir, c.Env = b.work, b.env
	if out, err := c.CombinedOutput(); !strings.Contains(string(out), what) {
		b.Errorf("lcm doctor does not say %q: %v\n%s", what, err, out)
	}
}

// once checks that the first request has each tool of lcm once, and its blocks and skill at most once.
func (b *bed) once(asked []llmtest.Exchange) {
	b.Helper()
	for _, x := range asked {
		if len(x.Request.Tools) == 0 {
			continue
		}
		var tools []string
		for _, t := range x.Request.Tools {
			if name := toolOf(t.Name); strings.HasPrefix(name, "lcm_") || name == "expand" {
				tools = append(tools, name)
			}
		}
		slices.Sort(tools)
		if got := strings.Join(tools, " "); got != strings.Join(slices.Sorted(slices.Values(everyTool())), " ") {
			b.Errorf("the tools are %s", got)
		}
		for _, text := range []string{"Derived by lcm from its record", "found by lcm for this prompt", "How to recall what was said, decided, run"} {
			if n := strings.Count(string(x.Body), text); n > 1 {
				b.Errorf("%q is there %d times", text, n)
			}
		}
		return
	}
}

func (a claudeAgent) install(b *bed, dir string) {
	b.onPath()
	for _, args := range [][]string{{"validate", "--strict", filepath.Join(dir, "lcm")}, {"validate", "--strict", dir}, {"marketplace", "add", dir}, {"install", "lcm@lossless-context"}} {
		b.Log(b.run(a.program(b), append([]string{"plugin"}, args...)...))
	}
	b.flags = []string{"--allowedTools", "mcp__plugin_lcm_lcm"}
}

func (a claudeAgent) uninstall(b *bed, _ string) {
	b.run(a.program(b), "plugin", "uninstall", "lcm@lossless-context")
	b.run(a.program(b), "plugin", "marketplace", "remove", "lossless-context")
}

func (a claudeAgent) commands(b *bed) { b.commands(a) }

// commands runs the two commands of a plugin.
func (b *bed) commands(h agent) {
	b.Helper()
	for prompt, want := range map[string]string{"/lcm:recall the harbour gate": "from the record of earlier sessions: the harbour gate", "/lcm:status": "record bytes"} {
		asked := len(b.model.Exchanges())
		b.Log(h.ask(b, prompt))
		found := false
		for _, x := range b.model.Exchanges()[asked:] {
			found = found || strings.Contains(string(x.Body), want)
		}
		if !found {
			b.Errorf("%s does not say %q to the model", prompt, want)
		}
	}
}

// install names the package in the settings, installed as npm does it, beside the one with the
// program.
func (opencodeAgent) install(b *bed, dir string) {
	packages := filepath.Join(b.home, "node_modules", "@lossless-context")
	if err := os.MkdirAll(filepath.Join(packages, "lcm-linux-x64", "bin"), 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.Symlink(b.lcm, filepath.Join(packages, "lcm-linux-x64", "bin", "lcm")); err != nil {
		b.Fatal(err)
	}
	if err := os.Rename(dir, filepath.Join(packages, "opencode")); err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.home, ".config", "opencode", "opencode.jsonc")
	content, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	index := (&url.URL{Scheme: "file", Path: filepath.Join(packages, "opencode", "index.js")}).String()
	b.write(path, strings.Replace(string(content), "{", `{"plugin": ["`+index+`"],`, 1))
}

func (opencodeAgent) uninstall(b *bed, _ string) {
	path := filepath.Join(b.home, ".config", "opencode", "opencode.jsonc")
	content, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	b.write(path, regexp.MustCompile(`"plugin": .*?\],`).ReplaceAllString(string(content), ""))
}

func (opencodeAgent) commands(*bed) {} // its plugins have none

func (a geminiAgent) extensions(b *bed, args ...string) {
	line := a.line(b, "", false)
	b.Log(b.run(line[0], append([]string{"extensions"}, args...)...))
}

func (a geminiAgent) install(b *bed, dir string) {
	b.onPath()
	a.extensions(b, "validate", dir)
	a.extensions(b, "install", dir, "--consent")
}

func (a geminiAgent) uninstall(b *bed, _ string) { a.extensions(b, "uninstall", "lcm") }

func (a geminiAgent) commands(b *bed) { b.commands(a) }
