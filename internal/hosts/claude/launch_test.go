package claude

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/launch"
)

type fakeProxy struct{}

func (fakeProxy) URL(route string) string     { return "http://proxy/secret/" + route }
func (fakeProxy) BareURL(route string) string { return "http://proxy/" + route }
func (fakeProxy) Secret() string              { return "secret" }

// machine has files in its home, and variables.
func machine(t *testing.T, files, env map[string]string) hosts.Machine {
	t.Helper()
	home := t.TempDir()
	for name, content := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return hosts.Machine{Home: home, Getenv: func(name string) string { return env[name] }}
}

// A program whose requests would pass the proxy by is not started behind it; one that only has a
// provider switched off is.
func TestPrepareRefusesOtherRoutes(t *testing.T) {
	user := func(name, value string) map[string]string {
		return map[string]string{".claude/settings.json": `{"env":{"` + name + `":` + value + `}}`}
	}
	for name, c := range map[string]struct {
		env, files map[string]string
		args       []string
		problem    string
	}{
		"nothing":                           {},
		"a provider":                        {env: map[string]string{"CLAUDE_CODE_USE_VERTEX": "1"}, problem: "CLAUDE_CODE_USE_VERTEX is set"},
		"a provider that is off":            {env: map[string]string{"CLAUDE_CODE_USE_VERTEX": "0", "CLAUDE_CODE_USE_BEDROCK": "false"}},
		"a provider in settings":            {files: user("CLAUDE_CODE_USE_VERTEX", "true"), problem: "env.CLAUDE_CODE_USE_VERTEX in "},
		"a provider that is off there":      {files: user("CLAUDE_CODE_USE_VERTEX", `"0"`)},
		"an empty address":                  {files: user("ANTHROPIC_BASE_URL", `""`)},
		"a proxy":                           {files: user("HTTPS_PROXY", `"http://x"`), problem: "env.HTTPS_PROXY"},
		"certificates that are not checked": {files: user("NODE_TLS_REJECT_UNAUTHORIZED", `"0"`), problem: "env.NODE_TLS_REJECT_UNAUTHORIZED"},
		"remote settings":                   {files: map[string]string{".claude/remote-settings.json": `{"env":{"HTTPS_PROXY":"x"}}`}, problem: "remote-settings.json does not reach"},
		"another directory":                 {env: map[string]string{"CLAUDE_CONFIG_DIR": "/nowhere"}, files: user("HTTPS_PROXY", `"http://x"`)},
		"settings as an argument":           {args: []string{"--settings", ` {"env":{"HTTPS_PROXY":"x"}}`}, problem: "env.HTTPS_PROXY in --settings"},
		"harmless ones, then a file":        {args: []string{"--settings={}", "--settings=s.json"}, files: map[string]string{"work/s.json": `{"env":{"HTTPS_PROXY":"x"}}`}, problem: "s.json does not reach"},
		"a file that is not there":          {args: []string{"--settings=gone.json"}},
		"a file below a file":               {args: []string{"--settings=s.json/x"}, files: map[string]string{"work/s.json": "{}"}},
		"a directory":                       {args: []string{"--settings=."}, problem: "is a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			m := machine(t, c.files, c.env)
			dir := filepath.Join(m.Home, "work")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			_, err := Host{}.Prepare(launch.Program{Machine: m, Dir: dir, Args: c.args})
			if (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%v, want %q", err, c.problem)
			}
		})
	}
}

// An absolute file of settings is read where it is, not below the working directory; an
// administrator's are read too.
func TestSettingsElsewhere(t *testing.T) {
	m := machine(t, map[string]string{"s.json": `{"env":{"HTTPS_PROXY":"x"}}`}, nil)
	p := launch.Program{Machine: m, Dir: t.TempDir(), Args: []string{"--settings", filepath.Join(m.Home, "s.json")}}
	if _, err := (Host{}).Prepare(p); err == nil {
		t.Error("the settings were not read")
	}
	if files, _ := settingsFiles(p); !slices.Contains(files, filepath.Join("/etc/claude-code", "managed-settings.json")) {
		t.Errorf("the settings are in %q", files)
	}
}

// The program gets the proxy's address, and the tools of lcm if it starts a session.
func TestChild(t *testing.T) {
	const server = `--mcp-config={"mcpServers":{"lcm":{"alwaysLoad":true,"args":["mcp"],"command":"lcm","type":"stdio"}}}`
	for name, c := range map[string]struct {
		args, server, allow []string
		env                 map[string]string
		want, wantEnv       []string
	}{
		"a session":              {args: []string{"-p"}, server: []string{"lcm", "mcp"}, want: []string{server, "-p"}, wantEnv: []string{"ENABLE_TOOL_SEARCH=true"}},
		"without arguments":      {server: []string{"lcm", "mcp"}, allow: []string{"a", "b"}, want: []string{server, "--allowedTools=mcp__lcm__a,mcp__lcm__b"}, wantEnv: []string{"ENABLE_TOOL_SEARCH=true"}},
		"it has the tools":       {args: []string{"-p"}, want: []string{"-p"}, wantEnv: []string{"ENABLE_TOOL_SEARCH=true"}},
		"no session":             {args: []string{"mcp", "list"}, server: []string{"lcm", "mcp"}, want: []string{"mcp", "list"}, wantEnv: []string{"ENABLE_TOOL_SEARCH=true"}},
		"the user's own choice":  {env: map[string]string{"ENABLE_TOOL_SEARCH": "false"}},
		"another server":         {env: map[string]string{"ANTHROPIC_BASE_URL": "http://gateway"}},
		"it claims to be direct": {env: map[string]string{firstParty: "1", "ENABLE_TOOL_SEARCH": "x"}, wantEnv: []string{firstParty + "="}},
	} {
		t.Run(name, func(t *testing.T) {
			p := launch.Program{Machine: machine(t, nil, c.env), Args: c.args, Server: c.server, Allow: c.allow}
			s, err := Host{}.Prepare(p)
			if err != nil {
				t.Fatal(err)
			}
			child, err := s.Child(fakeProxy{})
			if err != nil || !slices.Equal(child.Args, c.want) {
				t.Errorf("arguments %q %v, want %q", child.Args, err, c.want)
			}
			if want := append([]string{"ANTHROPIC_BASE_URL=http://proxy/secret/anthropic"}, c.wantEnv...); !slices.Equal(child.Env, want) {
				t.Errorf("environment %q, want %q", child.Env, want)
			}
		})
	}
}

// A request belongs to the session that its headers name, one of a sub-agent to the sub-agent's.
func TestSessionOfARequest(t *testing.T) {
	for _, c := range []struct{ id, agent, want string }{
		{"", "", ""}, {"s", "", "s"}, {"", "a1", ""}, {"s", "a1", "s/agent-a1"}, {"s", "agent-a1", "s/agent-a1"},
	} {
		h := http.Header{}
		h.Set("X-Claude-Code-Session-Id", c.id)
		h.Set("X-Claude-Code-Agent-Id", c.agent)
		if got := (Host{}).Session(h); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// Only the program's whole order asks for a summary, not a user who uses some of its words.
func TestAsksForSummary(t *testing.T) {
	for text, want := range map[string]bool{
		orders[0] + ". Please " + orders[1]: true, orders[0]: false, "please " + orders[1]: false, "": false,
	} {
		if got := (Host{}).AsksForSummary(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// lcm stands back for its plugin only where the plugin is on.
func TestHasPlugin(t *testing.T) {
	for settings, want := range map[string]bool{
		`{"enabledPlugins":{"lcm@lossless-context":true}}`:               true,
		`{"enabledPlugins":{"lcm@lossless-context":false}}`:              false,
		`{"enabledPlugins":{"other@x":true}}`:                            false,
		`{"enabledPlugins":{"lcm@a":true,"other@x":true,"lcm@b":false}}`: true,
		`{"enabledPlugins":[]}`:                                          false, `{`: false,
	} {
		if got := (Host{}).HasPlugin(machine(t, map[string]string{".claude/settings.json": settings}, nil)); got != want {
			t.Errorf("%s: %v", settings, got)
		}
	}
}
