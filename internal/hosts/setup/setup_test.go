package setup_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/hosts/setup"
	"github.com/lossless-context/lcm/internal/kit/hint"
)

// home is a home directory with a few files.
func home(t *testing.T, files map[string]string) hosts.Machine {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	return hosts.Machine{Home: dir, Getenv: func(string) string { return "" }}
}

// tree reads everything below a directory; a directory is a name with a slash.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if d.IsDir() {
			all[rel+"/"] = ""
			return nil
		}
		content, err := os.ReadFile(path)
		all[rel] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func named(t *testing.T, host string) setup.Host {
	t.Helper()
	h, err := all.Named[setup.Host](host)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func options(m hosts.Machine) setup.Options {
	return setup.Options{Machine: m, Binary: "/opt/lcm/bin/lcm"}
}

func apply(t *testing.T, host string, o setup.Options, dir string) setup.Plan {
	t.Helper()
	kept, err := setup.OpenReceipts(dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := setup.For(named(t, host), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Apply(kept); err != nil {
		t.Fatal(err)
	}
	return p
}

func remove(t *testing.T, host string, m hosts.Machine, dir string) setup.Plan {
	t.Helper()
	kept, err := setup.OpenReceipts(dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := setup.Removal(named(t, host), m, kept)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Undo(kept); err != nil {
		t.Fatal(err)
	}
	return p
}

// worlds are homes as people have them.
var worlds = map[string]map[string]string{
	"fresh": {
		".claude/x": "", ".codex/x": "", ".config/opencode/x": "",
		".config/kilo/x": "",
		".qwen/x":        "",
		".copilot/x":     "",
		".factory/x":     "",
		".gemini/x":      "",
		".cline/x":       "",
		".openclaw/x":    "",
		".pi/agent/x":    "",
	},
	"settled": {
		".claude.json":                                 "{\n  \"numStartups\": 3,\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"}\n  }\n}",
		".claude/settings.json":                        "{\"permissions\":{\"allow\":[\"Bash\"]},\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"say done\"}]}]}}\n",
		".claude/CLAUDE.md":                            "# Mine\n\nBe brief.\n",
		".codex/config.toml":                           "# my settings\nmodel = \"m\"\n\n[mcp_servers.other] # keep\ncommand = \"x\"\n",
		".codex/hooks.json":                            "{\r\n\t\"hooks\": {}\r\n}\r\n",
		".codex/AGENTS.md":                             "no line end",
		".config/opencode/opencode.jsonc":              "{\n  // mine\n  \"theme\": \"x\", // dark\n}\n",
		".config/opencode/plugins/theirs.js":           "x",
		".config/opencode/skills/a/SKILL.md":           "a",
		".copilot/mcp-config.json":                     "{ \"mcpServers\": { \"other\": {\"type\": \"local\", \"command\": \"x\"} } }",
		".copilot/hooks/mine.json":                     "{\"version\":1}",
		".qwen/settings.json":                          "{\n  \"hooks\": {\"Stop\": []}, // mine\n  \"mcpServers\": {\"other\": {\"command\": \"x\"}}\n}",
		".gemini/settings.json":                        "{\n  \"hooks\": {\"AfterAgent\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]}, // mine\n  \"ui\": {}\n}\n",
		".config/kilo/kilo.json":                       "{\n\t\"mcp\": {}\n}\n",
		".config/kilo/opencode.json":                   "{\"model\": \"m\"}",
		".factory/settings.json":                       "{\n  // mine\n  \"cloudSessionSync\": false,\n  \"hooks\": {\"PostToolUse\": []}\n}\n",
		".factory/mcp.json":                            "{}",
		".pi/agent/AGENTS.md":                          "Be brief.\n",
		".openclaw/openclaw.json":                      "{\n  // mine\n  \"agents\": {},\n  \"mcp\": {\"servers\": {},},\n}\n",
		".cline/data/settings/cline_mcp_settings.json": "{\n  \"mcpServers\": {\n    \"other\": {\"transport\": {\"type\": \"stdio\", \"command\": \"x\"}}\n  }\n}",
	},
}

// TestRemoveRestoresEveryByte: removal restores every byte, for every host and
// state of the home directory.
func TestRemoveRestoresEveryByte(t *testing.T) {
	for world, files := range worlds {
		for _, skill := range []string{"", "Use it."} {
			t.Run(world+"/"+skill, func(t *testing.T) {
				m, kept := home(t, files), filepath.Join(t.TempDir(), "kept")
				before := tree(t, m.Home)
				o := options(m)
				o.Skill = skill
				for _, host := range all.Names[setup.Host]() {
					what := ""
					for _, c := range apply(t, host, o, kept).Changes {
						what += c.What + ", "
					}
					h := named(t, host).About()
					switch {
					case strings.Contains(what, "extension"), strings.Contains(what, "context engine"): // it has the tools and tells of each turn
					case !strings.Contains(what, "MCP server") || !h.HidesInstructions && !strings.Contains(what, "hooks") && !strings.Contains(what, "plugin"):
						t.Errorf("%s: only %s change", host, what)
					}
					if p := apply(t, host, o, kept); len(p.Changes) != 0 {
						t.Errorf("%s: a second time %s changes:\n%s", host, p.Changes[0].Path, p.Changes[0].Diff())
					}
				}
				o.Binary = "/elsewhere/my lcm/lcm" // the program moved
				for _, host := range all.Names[setup.Host]() {
					apply(t, host, o, kept)
				}
				if now := tree(t, m.Home); strings.Contains(strings.Join(slices.Collect(maps.Values(now)), ""), "/opt/lcm") {
					t.Error("the old path is still there")
				}
				for _, host := range all.Names[setup.Host]() {
					remove(t, host, m, kept)
				}
				if diff := cmp.Diff(before, tree(t, m.Home)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// TestRemoveLeavesWhatOthersChanged: where somebody else wrote to a file after
// setup, only lcm's entries go.
func TestRemoveLeavesWhatOthersChanged(t *testing.T) {
	m, kept := home(t, worlds["settled"]), filepath.Join(t.TempDir(), "kept")
	before := tree(t, m.Home)
	for _, host := range all.Names[setup.Host]() {
		apply(t, host, options(m), kept)
	}
	edit := func(name, old, new string) {
		path := filepath.Join(m.Home, name)
		content, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(content), old) {
			t.Fatal(name, err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(content), old, new, 1)), 0o640); err != nil {
			t.Fatal(err)
		}
		before[name] = strings.Replace(before[name], old, new, 1)
	}
	edit(".claude.json", `"numStartups": 3`, `"numStartups": 4`)
	edit(".claude/settings.json", `"Bash"`, `"Bash","Edit"`)
	edit(".codex/config.toml", `model = "m"`, `model = "n"`)
	edit(".config/opencode/opencode.jsonc", `"x", // dark`, `"y", // light`)
	for _, host := range all.Names[setup.Host]() {
		p := remove(t, host, m, kept)
		if said := strings.Count(strings.Join(p.Notes, "\n"), "only lcm's entries"); said != map[string]int{"claude": 2, "codex": 1, "opencode": 1}[host] {
			t.Errorf("%s: %q", host, p.Notes)
		}
	}
	if diff := cmp.Diff(before, tree(t, m.Home)); diff != "" {
		t.Error(diff)
	}
}

// TestRemoveDirectories: the directories that setup made go, also if the skill came later.
func TestRemoveDirectories(t *testing.T) {
	m, kept := home(t, map[string]string{"bin/claude": ""}), filepath.Join(t.TempDir(), "kept")
	m.Getenv = func(name string) string { return map[string]string{"PATH": filepath.Join(m.Home, "bin")}[name] }
	before, o := tree(t, m.Home), options(m)
	apply(t, "claude", o, kept)
	o.Skill = "Recall."
	apply(t, "claude", o, kept)
	if p := remove(t, "claude", m, kept); len(p.Notes) > 0 {
		t.Error(p.Notes)
	}
	if diff := cmp.Diff(before, tree(t, m.Home)); diff != "" {
		t.Error(diff)
	}
}

func TestHooksOfOthersInTheSameGroup(t *testing.T) {
	m := home(t, map[string]string{".claude/settings.json": `{"hooks":{"Stop":[{"matcher":"x","hooks":[{"type":"command","command":"say"},{"type":"command","command":"'/a b/lcm' hook claude"}]}]}}`})
	remove(t, "claude", m, filepath.Join(t.TempDir(), "kept"))
	want := `{"hooks":{"Stop":[{"matcher":"x","hooks":[{"type":"command","command":"say"}]}]}}`
	if diff := cmp.Diff(want, tree(t, m.Home)[".claude/settings.json"]); diff != "" {
		t.Error(diff)
	}
}

// TestHookThatSomebodyMoved: a command that runs already is not added again.
func TestHookThatSomebodyMoved(t *testing.T) {
	const stop = `"Stop":[{"hooks":[{"type":"command","command":"say"},{"type":"command","command":"/opt/lcm/bin/lcm hook claude"}]}]`
	m := home(t, map[string]string{".claude/settings.json": `{"hooks":{` + stop + `}}`})
	apply(t, "claude", options(m), filepath.Join(t.TempDir(), "kept"))
	if got := tree(t, m.Home)[".claude/settings.json"]; !strings.Contains(got, stop) {
		t.Error(got)
	}
}

// TestBinaryOfAnotherName: a program that was downloaded under the name of a
// release is known again, also when it is replaced by one of another name.
func TestBinaryOfAnotherName(t *testing.T) {
	m := home(t, map[string]string{".claude/settings.json": "{}"})
	kept := filepath.Join(t.TempDir(), "kept")
	o := options(m)
	o.Binary = "/opt/my tools/lcm-linux_amd64-v1.2+3"
	apply(t, "claude", o, kept)
	if p := apply(t, "claude", o, kept); len(p.Changes) > 0 {
		t.Errorf("set up once more, %s changes", p.Changes[0].Path)
	}
	apply(t, "claude", options(m), kept)
	settings := tree(t, m.Home)[".claude/settings.json"]
	if strings.Contains(settings, "linux_amd64") || strings.Count(settings, "/opt/lcm/bin/lcm hook claude") != 7 {
		t.Error(settings)
	}
	if err := os.WriteFile(filepath.Join(m.Home, ".claude", "settings.json"), []byte(strings.Replace(settings, "{", `{"model":"m",`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	remove(t, "claude", m, kept)
	if got := tree(t, m.Home)[".claude/settings.json"]; strings.Contains(got, "lcm") {
		t.Error(got)
	}
}

// TestEntriesOfTheUsersOwn: an entry of the user, or of another program called lcm, is
// neither replaced nor removed.
func TestEntriesOfTheUsersOwn(t *testing.T) {
	for host, files := range map[string]map[string]string{
		"claude":   {".claude/x": "", ".claude.json": `{"mcpServers":{"lcm":{"command":"lcm","args":["mcp","--project-only"]}}}`},
		"codex":    {".codex/config.toml": "[mcp_servers.lcm] # mine\ncommand = \"npx\"\nstartup_timeout_sec = 9\n"},
		"opencode": {".config/opencode/opencode.json": `{"mcp":{"lcm":{"type":"local","command":["lcm","mcp"]}}}`},
		"copilot":  {".copilot/mcp-config.json": `{"mcpServers":{"lcm":{"type":"local","command":"lcm","args":["mcp"]}}}`},
		"qwen":     {".qwen/settings.json": `{"mcpServers":{"lcm":{"command":"lcm","args":["mcp"]}}}`},
		"gemini":   {".gemini/settings.json": `{"mcpServers":{"lcm":{"command":"lcm","args":["mcp"]}}}`},
		"kilo":     {".config/kilo/kilo.jsonc": `{"mcp":{"lcm":{"type":"local","command":["lcm","mcp"]}}}`},
		"openclaw": {".openclaw/extensions/lcm/index.js": "export default () => {} // mine\n"},
		"cline":    {".cline/data/settings/cline_mcp_settings.json": `{"mcpServers":{"lcm":{"transport":{"type":"stdio","command":"lcm","args":["mcp"]}}}}`},
		"pi":       {".pi/agent/extensions/lcm.js": "export default () => {} // mine\n"},
		"droid":    {".factory/mcp.json": `{"mcpServers":{"lcm":{"command":"lcm","args":["mcp"]}}}`},
	} {
		m := home(t, files)
		before := tree(t, m.Home)
		if _, err := setup.For(named(t, host), options(m)); err == nil || !strings.Contains(err.Error(), "did not write") {
			t.Errorf("%s: %v", host, err)
		}
		remove(t, host, m, filepath.Join(t.TempDir(), "kept"))
		if diff := cmp.Diff(before, tree(t, m.Home)); diff != "" {
			t.Errorf("%s: %s", host, diff)
		}
	}
}

// A user who wants to be asked before lcm's tools are called is not overruled.
func TestTrustIsTheUsers(t *testing.T) {
	m := home(t, map[string]string{".gemini/settings.json": `{"mcpServers":{"lcm":{"command":"/old/lcm","args":["mcp"],"trust":false}}}`})
	apply(t, "gemini", options(m), filepath.Join(t.TempDir(), "kept"))
	if text := tree(t, m.Home)[".gemini/settings.json"]; !strings.Contains(text, `"trust":false`) && !strings.Contains(text, `"trust": false`) || strings.Contains(text, "/old/lcm") {
		t.Error(text)
	}
}

// A host waits three minutes for an answer, since a question may take two, unless the user wrote
// another time.
func TestHostsWaitForAnswers(t *testing.T) {
	for _, test := range []struct{ host, file, mine, want string }{
		{"claude", ".claude.json", `{"mcpServers":{"lcm":{"command":"/old/lcm","args":["mcp"],"timeout":7}}}`, `"timeout":180000`},
		{"codex", ".codex/config.toml", "[mcp_servers.lcm]\ncommand = \"/old/lcm\"\nargs = [\"mcp\"]\ntool_timeout_sec = 7\n", `tool_timeout_sec=180`},
		{"opencode", ".config/opencode/opencode.json", `{"mcp":{"lcm":{"type":"local","command":["/old/lcm","mcp"],"timeout":7}}}`, `"timeout":180000`},
		{"kilo", ".config/kilo/kilo.json", `{"mcp":{"lcm":{"type":"local","command":["/old/lcm","mcp"],"timeout":7}}}`, `"timeout":180000`},
		{"gemini", ".gemini/settings.json", `{"mcpServers":{"lcm":{"command":"/old/lcm","timeout":7}}}`, `"timeout":180000`},
		{"qwen", ".qwen/settings.json", `{"mcpServers":{"lcm":{"command":"/old/lcm","timeout":7}}}`, `"timeout":180000`},
		{"copilot", ".copilot/mcp-config.json", `{"mcpServers":{"lcm":{"command":"/old/lcm","timeout":7}}}`, `"timeout":180000`},
		{"cline", ".cline/data/settings/cline_mcp_settings.json", `{"mcpServers":{"lcm":{"command":"/old/lcm","timeout":7}}}`, `"timeout":180`},
	} {
		written := func(files map[string]string) string {
			m := home(t, files)
			apply(t, test.host, options(m), filepath.Join(t.TempDir(), "kept"))
			return strings.ReplaceAll(tree(t, m.Home)[test.file], " ", "")
		}
		if text := written(worlds["fresh"]); !strings.Contains(text, test.want) {
			t.Errorf("%s: %s is missing: %s", test.host, test.want, text)
		}
		if text := written(map[string]string{test.file: test.mine, filepath.Dir(test.file) + "/.claude/x": ""}); !strings.Contains(text, strings.Split(strings.ReplaceAll(test.want, "=", ":"), ":")[0]) || strings.Contains(text, "180") || strings.Contains(text, "/old/lcm") {
			t.Errorf("%s: the user's time is overwritten: %s", test.host, text)
		}
	}
}

func TestBadInput(t *testing.T) {
	tests := []struct {
		name, host string
		files      map[string]string
		want       string
	}{
		{"not installed", "codex", nil, "Codex is not installed here"},
		{"broken JSON", "claude", map[string]string{".claude/settings.json": "{\n  \"a\": 1,,\n}"}, "settings.json: line 2, column 10"},
		{"broken TOML", "codex", map[string]string{".codex/config.toml": "a = 1\nb = = 2\n"}, "config.toml: line 2"},
		{"hooks of another shape", "claude", map[string]string{".claude/settings.json": `{"hooks": []}`}, "hooks is not an object"},
		{"opencode's plugin", "kilo", map[string]string{".config/kilo/plugins/lcm.js": "// lcm for opencode"}, "lcm did not write"},
		{"somebody else's plugin", "opencode", map[string]string{".config/opencode/plugins/lcm.js": "mine"}, "lcm did not write"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := home(t, tt.files)
			before := tree(t, m.Home)
			_, err := setup.For(named(t, tt.host), options(m))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if p := new(hint.Error); !errors.As(err, &p) || p.Hint == "" {
				t.Errorf("%v has no hint", err)
			}
			if diff := cmp.Diff(before, tree(t, m.Home)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLinksAreEditedAtTheirTarget(t *testing.T) {
	m := home(t, map[string]string{".claude/x": "", "dotfiles/settings.json": "{}\n"})
	link := filepath.Join(m.Home, ".claude", "settings.json")
	if err := os.Symlink(filepath.Join("..", "dotfiles", "settings.json"), link); err != nil {
		t.Skip(err)
	}
	kept := filepath.Join(t.TempDir(), "kept")
	apply(t, "claude", options(m), kept)
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Fatal("the link is no link any more")
	}
	info, err := os.Stat(link)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode became %v, %v", info.Mode(), err)
	}
	if !strings.Contains(tree(t, m.Home)["dotfiles/settings.json"], "/opt/lcm/bin/lcm hook claude") {
		t.Error("the target was not edited")
	}
	remove(t, "claude", m, kept)
	if got := tree(t, m.Home)["dotfiles/settings.json"]; got != "{}\n" {
		t.Errorf("%q", got)
	}
}

func TestChangedMeanwhile(t *testing.T) {
	m := home(t, worlds["settled"])
	p, err := setup.For(named(t, "claude"), options(m))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(m.Home, ".claude.json")
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	kept, err := setup.OpenReceipts(filepath.Join(t.TempDir(), "kept"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Apply(kept); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("%v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "{}" {
		t.Errorf("what another program wrote was overwritten: %q", got)
	}
}

func TestReadOnlyHome(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	m := home(t, worlds["fresh"])
	dir := filepath.Join(m.Home, ".claude")
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	p, err := setup.For(named(t, "claude"), options(m))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := setup.OpenReceipts(filepath.Join(t.TempDir(), "kept"))
	if err != nil {
		t.Fatal(err)
	}
	problem := new(hint.Error)
	if err := p.Apply(kept); !errors.As(err, &problem) || !strings.Contains(problem.Hint, "--dry-run") {
		t.Errorf("%v", err)
	}
}

func TestDiff(t *testing.T) {
	m := home(t, map[string]string{".codex/config.toml": "a = 1\nb = 2\nc = 3\nd = 4\n"})
	p, err := setup.For(named(t, "codex"), options(m))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(p.Changes[0].Diff(), m.Home, "~")
	want := `--- ~/.codex/config.toml
+++ ~/.codex/config.toml
@@ -2,3 +2,8 @@
 b = 2
 c = 3
 d = 4
+
+[mcp_servers.lcm]
+command = "/opt/lcm/bin/lcm"
+args = ["mcp"]
+tool_timeout_sec = 180
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
