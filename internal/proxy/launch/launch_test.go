package launch_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/proxy/launch"
)

type fakeProxy struct{}

func (fakeProxy) URL(route string) string     { return "http://127.0.0.1:1/s3cret/" + route }
func (fakeProxy) BareURL(route string) string { return "http://127.0.0.1:1/-/" + route }
func (fakeProxy) Secret() string              { return "s3cret" }

// start prepares a program on a machine with the given files and variables.
func start(t *testing.T, host string, files, env map[string]string, args ...string) (launch.Child, map[string]string, error) {
	t.Helper()
	p := program(t, host, files, env, args...)
	urls, err := p.Routes()
	if err != nil {
		return launch.Child{}, nil, err
	}
	routes := map[string]string{}
	for name, u := range urls {
		routes[name] = u.String()
	}
	c, err := p.Child(fakeProxy{}, urls)
	return c, routes, err
}

// program is a program on a machine with the given files and variables.
func program(t *testing.T, host string, files, env map[string]string, args ...string) launch.Program {
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
	return launch.Program{
		Host: host, Path: "/bin/" + host, Args: args, Dir: filepath.Join(home, "work"), Server: []string{"/bin/lcm", "mcp", "--db", "/data/lcm.db"},
		Machine: hosts.Machine{Home: home, Getenv: func(name string) string { return env[name] }},
	}
}

// TestBaseURLs: the model API is the one that the program itself would use, and the user
// learns where a variable or a setting has another effect than it seems.
func TestBaseURLs(t *testing.T) {
	for name, c := range map[string]struct {
		host       string
		files, env map[string]string
		args       []string
		route      string // of the program's own API
		warning    string
	}{
		"a variable that Codex does not read": {host: "codex", env: map[string]string{"OPENAI_BASE_URL": "http://gateway/v1"},
			route: "https://api.openai.com/v1", warning: "Codex does not read OPENAI_BASE_URL"},
		"a setting that it reads": {host: "codex", files: map[string]string{".codex/config.toml": "openai_base_url = \"http://gateway/v1\"\n"},
			env: map[string]string{"OPENAI_BASE_URL": "http://other/v1"}, route: "http://gateway/v1"},
		"the setting as an argument": {host: "codex", args: []string{"-c", `openai_base_url="http://argument/v1"`}, route: "http://argument/v1"},
		"a setting that goes before lcm's": {host: "claude", files: map[string]string{".claude/settings.json": `{"env":{"ANTHROPIC_BASE_URL":"http://x"}}`},
			route: "https://api.anthropic.com", warning: "env.ANTHROPIC_BASE_URL in "},
		"that of the project": {host: "claude", files: map[string]string{"work/.claude/settings.local.json": `{"env":{"ANTHROPIC_BASE_URL":"http://x"}}`},
			route: "https://api.anthropic.com", warning: "settings.local.json goes before"},
		"neither": {host: "claude", files: map[string]string{".claude/settings.json": `{"env":{"A":"b"}}`}, route: "https://api.anthropic.com"},
	} {
		t.Run(name, func(t *testing.T) {
			p := program(t, c.host, c.files, c.env, c.args...)
			routes, err := p.Routes()
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range routes {
				if u.String() != c.route {
					t.Errorf("the API is %s, want %s", u, c.route)
				}
			}
			got := strings.Join(p.Warnings(), "\n")
			if (got == "") != (c.warning == "") || !strings.Contains(got, c.warning) {
				t.Errorf("the warning is %q, want %q", got, c.warning)
			}
		})
	}
	_, _, err := start(t, "claude", nil, map[string]string{"ANTHROPIC_BASE_URL": "nonsense"})
	if err == nil || !strings.Contains(err.Error(), `ANTHROPIC_BASE_URL is "nonsense"`) {
		t.Errorf("%v", err)
	}
}

func TestClaude(t *testing.T) {
	c, routes, err := start(t, "claude", nil, nil, "--resume")
	if err != nil {
		t.Fatal(err)
	}
	if routes["anthropic"] != "https://api.anthropic.com" || c.Args[1] != "--resume" ||
		c.Args[0] != `--mcp-config={"mcpServers":{"lcm":{"alwaysLoad":true,"args":["mcp","--db","/data/lcm.db"],"command":"/bin/lcm","type":"stdio"}}}` {
		t.Errorf("%v, routes %v", c.Args, routes)
	}
	for _, want := range []string{"ANTHROPIC_BASE_URL=http://127.0.0.1:1/s3cret/anthropic", "ENABLE_TOOL_SEARCH=true", "NO_PROXY=127.0.0.1,localhost"} {
		if !slices.Contains(c.Env, want) {
			t.Errorf("%s is not in %v", want, c.Env)
		}
	}
	// The user's own server stays, and tool search is not forced on it.
	c, routes, err = start(t, "claude", map[string]string{".claude.json": `{"mcpServers":{"lcm":{"command":"lcm","args":["mcp"]}}}`},
		map[string]string{"ANTHROPIC_BASE_URL": "http://gateway/a"}, "-p", "x")
	if err != nil || routes["anthropic"] != "http://gateway/a" || !slices.Equal(c.Args, []string{"-p", "x"}) || strings.Contains(strings.Join(c.Env, " "), "TOOL_SEARCH") {
		t.Errorf("%v %v %v %v", c.Args, c.Env, routes, err)
	}
	if c, _, err = start(t, "claude", nil, nil, "mcp", "list"); err != nil || !slices.Equal(c.Args, []string{"mcp", "list"}) {
		t.Errorf("a command that is no session: %v, %v", c.Args, err)
	}
	// The flag of a direct connection is never set, and taken away from a user's own.
	const direct = "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL"
	if c, _, err = start(t, "claude", nil, nil); err != nil || strings.Contains(strings.Join(c.Env, " "), direct) {
		t.Errorf("%v, %v", c.Env, err)
	}
	if c, _, err = start(t, "claude", nil, map[string]string{direct: "1"}); err != nil || !slices.Contains(c.Env, direct+"=") {
		t.Errorf("%v, %v", c.Env, err)
	}
	if _, _, err = start(t, "claude", nil, map[string]string{"CLAUDE_CODE_USE_BEDROCK": "1"}); err == nil {
		t.Error("Bedrock is not refused")
	}
}

func TestCodex(t *testing.T) {
	c, routes, err := start(t, "codex", nil, nil, "exec", "x")
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Join(c.Args, " ")
	if routes["openai"] != "https://api.openai.com/v1" || !strings.HasSuffix(line, " exec x") || strings.Contains(line, "s3cret") || strings.Contains(line, `"OpenAI"`) ||
		!strings.Contains(line, `-c model_providers.lcm.base_url="http://127.0.0.1:1/-/openai"`) || !strings.Contains(line, `mcp_servers.lcm.command="/bin/lcm"`) {
		t.Errorf("%s, routes %v", line, routes)
	}
	if !slices.Contains(c.Env, "LCM_PROXY_SECRET=s3cret") {
		t.Errorf("%v", c.Env)
	}
	_, routes, err = start(t, "codex", map[string]string{".codex/auth.json": `{"OPENAI_API_KEY":null,"tokens":{"access_token":"t"}}`}, nil)
	if err != nil || routes["openai"] != "https://chatgpt.com/backend-api/codex" {
		t.Errorf("with a ChatGPT login: %v, %v", routes, err)
	}
	c, routes, err = start(t, "codex", map[string]string{".codex/config.toml": "model_provider = \"mine\"\n[model_providers.mine]\nname = \"Mine\"\nbase_url = \"http://mine/v1\"\n"}, nil)
	if err != nil || routes["openai"] != "http://mine/v1" || !strings.Contains(strings.Join(c.Args, " "), `model_providers.mine.base_url="http://127.0.0.1:1/-/openai"`) ||
		strings.Contains(strings.Join(c.Args, " "), "model_provider=") {
		t.Errorf("with a provider of one's own: %v, %v, %v", c.Args, routes, err)
	}
}

func TestOpencode(t *testing.T) {
	c, routes, err := start(t, "opencode", map[string]string{
		".config/opencode/opencode.jsonc": "{ // mine\n\"provider\": {\"local\": {\"options\": {\"baseURL\": \"http://local/v1\", \"apiKey\": \"x\"}}}}",
		"work/opencode.json":              `{"provider":{"here":{"options":{"baseURL":"http://here/v1"}}}}`,
	}, map[string]string{"ANTHROPIC_API_KEY": "k", "OPENCODE_CONFIG_CONTENT": `{"theme":"x","provider":{"local":{"models":{}}}}`}, "run", "x")
	if err != nil {
		t.Fatal(err)
	}
	if routes["local"] != "http://local/v1" || routes["here"] != "http://here/v1" || routes["anthropic"] != "https://api.anthropic.com/v1" || routes["openai"] != "" {
		t.Errorf("%v", routes)
	}
	const want = `OPENCODE_CONFIG_CONTENT={"mcp":{"lcm":{"command":["/bin/lcm","mcp","--db","/data/lcm.db"],"enabled":true,"type":"local"}},"provider":{` +
		`"anthropic":{"options":{"baseURL":"http://127.0.0.1:1/s3cret/anthropic"}},"here":{"options":{"baseURL":"http://127.0.0.1:1/s3cret/here"}},` +
		`"local":{"models":{},"options":{"baseURL":"http://127.0.0.1:1/s3cret/local"}}},"theme":"x"}`
	if c.Env[0] != want || !slices.Equal(c.Args, []string{"run", "x"}) {
		t.Errorf("%s\n%v", c.Env[0], c.Args)
	}
	if _, _, err := start(t, "opencode", nil, nil); err == nil {
		t.Error("no provider, and no error")
	}
}

func TestHostOf(t *testing.T) {
	for name, want := range map[string]string{"claude": "claude", "/opt/bin/codex": "codex", "opencode.exe": "opencode", "vim": ""} {
		if got, err := launch.HostOf(name); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
