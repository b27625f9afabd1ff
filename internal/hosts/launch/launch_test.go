package launch_test

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/hosts/launch"
)

type fakeProxy struct{}

func (fakeProxy) URL(route string) string     { return "http://127.0.0.1:1/s3cret/" + route }
func (fakeProxy) BareURL(route string) string { return "http://127.0.0.1:1/-/" + route }
func (fakeProxy) Secret() string              { return "s3cret" }

// start prepares a program on a machine with the given files and variables.
func start(t *testing.T, host string, files, env map[string]string, args ...string) (launch.Child, map[string]string, error) {
	t.Helper()
	s, err := launch.Prepare(program(t, host, files, env, args...))
	if err != nil {
		return launch.Child{}, nil, err
	}
	routes := map[string]string{}
	for name, u := range s.Routes {
		routes[name] = u.String()
	}
	c, err := s.Child(fakeProxy{})
	return c, routes, err
}

// program is a program on a machine with the given files and variables.
func program(t *testing.T, host string, files, env map[string]string, args ...string) (launch.Host, launch.Program) {
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
	h, err := all.Named[launch.Host](host)
	if err != nil {
		t.Fatal(err)
	}
	return h, launch.Program{
		Path: "/bin/" + host, Args: args, Dir: filepath.Join(home, "work"), Server: []string{"/bin/lcm", "mcp", "--db", "/data/lcm.db"},
		Machine: hosts.Machine{Home: home, Getenv: func(name string) string { return env[name] }},
	}
}

// TestBaseURLs: the model API is the one that the program itself would use. Where that is
// not certain, there is an error, and the program is started without the proxy. The forms
// of Codex 0.166.0, Claude Code 2.1.197 and opencode 1.18.33 were tried with the programs.
func TestBaseURLs(t *testing.T) {
	const (
		openai  = "https://api.openai.com/v1"
		chatgpt = "https://chatgpt.com/backend-api/codex"
		two     = "model_provider = \"base\"\n[model_providers.base]\nname = \"B\"\nbase_url = \"http://base/v1\"\n[model_providers.corp]\nname = \"C\"\nbase_url = \"http://corp/v1\"\n"
		gateway = `{"env":{"ANTHROPIC_BASE_URL":"http://x"}}`
		local   = `{"provider":{"local":{"options":{"baseURL":"http://local/v1"}}}}`
		droids  = `{"customModels":[{"model":"a","baseUrl":"http://a/v1"},{"model":"b","baseUrl":"http://b"},], /* mine */}`
	)
	codex := func(config string) map[string]string { return map[string]string{".codex/config.toml": config} }
	work := map[string]string{".codex/config.toml": two, ".codex/work.config.toml": "model_provider = \"corp\"\n"}
	for name, c := range map[string]struct {
		host       string
		files, env map[string]string
		args       string
		dir        string // below the home directory; "" is work
		api        string // of the program
		problem    string // why it is not certain
	}{
		"codex":                                     {host: "codex", api: openai + " " + chatgpt},
		"a variable that Codex does not read":       {host: "codex", env: map[string]string{"OPENAI_BASE_URL": "http://gateway/v1"}, api: openai + " " + chatgpt},
		"a setting that it reads":                   {host: "codex", files: codex("openai_base_url = \"http://gateway/v1\"\n"), api: "http://gateway/v1"},
		"the setting as an argument":                {host: "codex", args: `-c openai_base_url="http://argument/v1"`, api: "http://argument/v1"},
		"a provider":                                {host: "codex", files: codex(two), api: "http://base/v1"},
		"a profile":                                 {host: "codex", files: work, args: "exec -p work", api: "http://corp/v1"},
		"a profile before the command":              {host: "codex", files: work, args: "-pwork exec", api: "http://corp/v1"},
		"a profile in one argument":                 {host: "codex", files: work, args: "exec --profile=work", api: "http://corp/v1"},
		"an argument goes before a profile":         {host: "codex", files: work, args: "-c model_provider=base exec -p work", api: "http://base/v1"},
		"a profile of older versions":               {host: "codex", files: codex(two + "[profiles.old]\nmodel_provider = \"corp\"\n"), args: "-p old", api: "http://corp/v1"},
		"such a profile as a setting":               {host: "codex", files: codex("profile = \"old\"\n" + two + "[profiles.old]\nmodel_provider = \"corp\"\n"), api: "http://corp/v1"},
		"a profile that is not there":               {host: "codex", files: codex(two), args: "-p other", problem: `the profile "other"`},
		"-c":                                        {host: "codex", files: codex(two), args: "exec hi -c model_provider=corp", api: "http://corp/v1"},
		"-c in one argument":                        {host: "codex", files: codex(two), args: "exec -cmodel_provider=corp hi", api: "http://corp/v1"},
		"-c=":                                       {host: "codex", files: codex(two), args: "exec -c=model_provider='corp' hi", api: "http://corp/v1"},
		"--config":                                  {host: "codex", files: codex(two), args: `exec --config model_provider="corp" hi`, api: "http://corp/v1"},
		"--config=":                                 {host: "codex", files: codex(two), args: `--config=model_provider="corp" exec hi`, api: "http://corp/v1"},
		"the last argument counts":                  {host: "codex", files: codex(two), args: "-c model_provider=corp exec -c model_provider=base hi", api: "http://base/v1"},
		"a provider as an argument":                 {host: "codex", files: codex(two), args: `-c model_provider=n -c model_providers.n={name="N",base_url="http://n/v1"}`, api: "http://n/v1"},
		"its base URL as an argument":               {host: "codex", files: codex(two), args: "-c model_providers.base.base_url=http://other/v1", api: "http://other/v1"},
		"text after --":                             {host: "codex", files: codex(two), args: "exec -- -c model_provider=corp", api: "http://base/v1"},
		"a provider of Codex that is not OpenAI's":  {host: "codex", args: "-c model_provider=amazon-bedrock", problem: "has no base URL"},
		"a provider with a signature":               {host: "codex", files: codex(two + "aws = {region = \"x\"}\n"), args: "-c model_provider=corp", problem: "the setting aws"},
		"a provider called openai":                  {host: "codex", files: codex("[model_providers.openai]\nbase_url = \"http://x\"\n"), problem: "called openai"},
		"a local model":                             {host: "codex", args: "--oss", problem: "codex --oss"},
		"settings that are not read":                {host: "codex", files: codex(two), args: "exec --ignore-user-config hi", problem: "--ignore-user-config"},
		"a provider of the project":                 {host: "codex", files: map[string]string{"work/.codex/config.toml": two}, problem: "mentions a model provider"},
		"a provider of the administrator":           {host: "codex", files: map[string]string{".codex/managed_config.toml": two}, problem: "mentions a model provider"},
		"settings that cannot be read":              {host: "codex", files: codex("a = = b"), problem: "config.toml"},
		"claude":                                    {host: "claude", files: map[string]string{".claude/settings.json": `{"env":{"A":"b"}}`}, api: "https://api.anthropic.com"},
		"a setting that goes before lcm's":          {host: "claude", files: map[string]string{".claude/settings.json": gateway}, problem: "env.ANTHROPIC_BASE_URL in "},
		"that of the project":                       {host: "claude", files: map[string]string{"work/.claude/settings.local.json": gateway}, problem: "settings.local.json does not reach"},
		"a file of settings":                        {host: "claude", files: map[string]string{"work/s.json": gateway}, args: "-p hi --settings s.json", problem: "s.json does not reach"},
		"a file of settings in one argument":        {host: "claude", files: map[string]string{"work/s.json": gateway}, args: "--settings=s.json", problem: "s.json does not reach"},
		"settings as an argument":                   {host: "claude", args: "--settings " + gateway, problem: "--settings does not reach"},
		"settings with another API":                 {host: "claude", args: `--settings={"env":{"CLAUDE_CODE_USE_VERTEX":1}}`, problem: "CLAUDE_CODE_USE_VERTEX in --settings"},
		"settings that are no JSON":                 {host: "claude", files: map[string]string{".claude/settings.json": "{"}, problem: "cannot be read"},
		"Bedrock":                                   {host: "claude", env: map[string]string{"CLAUDE_CODE_USE_BEDROCK": "1"}, problem: "CLAUDE_CODE_USE_BEDROCK"},
		"a variable that is no address":             {host: "claude", env: map[string]string{"ANTHROPIC_BASE_URL": "nonsense"}, problem: `ANTHROPIC_BASE_URL is "nonsense"`},
		"opencode reads the variable":               {host: "opencode", env: map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://gateway/v1"}, api: "http://gateway/v1"},
		"opencode's settings go before it":          {host: "opencode", files: map[string]string{"work/opencode.json": `{"provider":{"openai":{"options":{"baseURL":"http://file/v1"}}}}`}, env: map[string]string{"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://gateway/v1"}, api: "http://file/v1"},
		"a variable in its settings":                {host: "opencode", files: map[string]string{"work/opencode.json": `{"provider":{"a":{"options":{"baseURL":"{env:GW}/v1"}}}}`}, env: map[string]string{"GW": "http://gw"}, api: "http://gw/v1"},
		"a file in its settings":                    {host: "opencode", files: map[string]string{"work/opencode.json": `{"provider":{"a":{"options":{"baseURL":"{file:x}"}}}}`}, problem: "opencode's provider a"},
		"its directory":                             {host: "opencode", files: map[string]string{".opencode/opencode.json": local}, api: "http://local/v1"},
		"another directory beside the user's":       {host: "opencode", files: map[string]string{".config/opencode/opencode.json": local}, env: map[string]string{"OPENCODE_CONFIG_DIR": "/nowhere"}, api: "http://local/v1"},
		"settings of a server":                      {host: "opencode", files: map[string]string{".config/opencode/opencode.json": local, ".local/share/opencode/auth.json": `{"https://x":{"type":"wellknown"}}`}, problem: "settings from a server"},
		"Qwen's variable":                           {host: "qwen", env: map[string]string{"OPENAI_BASE_URL": "http://q/v1"}, files: map[string]string{".qwen/settings.json": `{"security":{"auth":{"selectedType":"openai"}}} // mine`}, api: "http://q/v1"},
		"Qwen without it":                           {host: "qwen", problem: "OPENAI_BASE_URL is not set"},
		"Qwen's providers":                          {host: "qwen", env: map[string]string{"OPENAI_BASE_URL": "http://q/v1"}, files: map[string]string{"work/.qwen/settings.json": `{"modelProviders":{"openai":[]}}`}, problem: "modelProviders"},
		"Qwen's flag":                               {host: "qwen", env: map[string]string{"OPENAI_BASE_URL": "http://q/v1"}, args: "--openai-base-url http://x/v1", problem: "goes before"},
		"Qwen's project goes before the user":       {host: "qwen", env: map[string]string{"OPENAI_BASE_URL": "http://q/v1"}, files: map[string]string{".qwen/settings.json": `{"security":{"auth":{"selectedType":"openai"}}}`, "work/.qwen/settings.json": `{"security":{"auth":{"selectedType":"anthropic"}}}`}, problem: "not of anthropic"},
		"Qwen's flag goes before settings":          {host: "qwen", env: map[string]string{"OPENAI_BASE_URL": "http://q/v1"}, files: map[string]string{".qwen/settings.json": `{"security":{"auth":{"selectedType":"anthropic"}}}`}, args: "--auth-type=openai", api: "http://q/v1"},
		"another API of Qwen's":                     {host: "qwen", env: map[string]string{"OPENAI_BASE_URL": "http://q/v1"}, args: "--auth-type gemini", problem: "not of gemini"},
		"Kilo's own files":                          {host: "kilo", files: map[string]string{".config/kilo/kilo.jsonc": local, ".config/opencode/opencode.json": `{"provider":{"b":{"options":{"baseURL":"http://other/v1"}}}}`}, api: "http://local/v1"},
		"Kilo's old names go before":                {host: "kilo", files: map[string]string{"work/kilo.json": `{"provider":{"a":{"options":{"baseURL":"http://x/v1"}}}}`, ".kilocode/opencode.json": `{"provider":{"a":{"options":{"baseURL":"http://old/v1"}}}}`}, api: "http://old/v1"},
		"Copilot's provider":                        {host: "copilot", env: map[string]string{"COPILOT_PROVIDER_BASE_URL": "http://mine/v1", "COPILOT_PROVIDER_TYPE": "anthropic"}, api: "http://mine/v1"},
		"Gemini's API":                              {host: "gemini", files: map[string]string{".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}}} // mine`}, api: "https://generativelanguage.googleapis.com"},
		"Gemini's variable":                         {host: "gemini", files: map[string]string{".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}}} // mine`}, env: map[string]string{"GOOGLE_GEMINI_BASE_URL": "http://g"}, api: "http://g"},
		"Gemini with a login":                       {host: "gemini", files: map[string]string{".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}}} // mine`, "work/.gemini/settings.json": `{"security":{"auth":{"selectedType":"oauth-personal"}}}`}, problem: `is "oauth-personal"`},
		"Gemini without a choice":                   {host: "gemini", env: map[string]string{"GEMINI_API_KEY": "k"}, problem: `is ""`},
		"Gemini's file of variables":                {host: "gemini", files: map[string]string{".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}}} // mine`, "work/.env": "GOOGLE_GEMINI_BASE_URL=http://x"}, problem: ".env may name the model API"},
		"Gemini's sandbox":                          {host: "gemini", files: map[string]string{".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}}} // mine`}, args: "-s", problem: "sandbox"},
		"Gemini behind a proxy":                     {host: "gemini", files: map[string]string{".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}}} // mine`}, env: map[string]string{"HTTPS_PROXY": "http://p"}, problem: "HTTPS_PROXY is set"},
		"GitHub's own models":                       {host: "copilot", problem: "COPILOT_PROVIDER_BASE_URL is not set"},
		"a provider of another kind":                {host: "copilot", env: map[string]string{"COPILOT_PROVIDER_BASE_URL": "http://mine/v1", "COPILOT_PROVIDER_TYPE": "azure"}, problem: `"azure", which lcm does not know`},
		"WebSockets":                                {host: "copilot", env: map[string]string{"COPILOT_PROVIDER_BASE_URL": "http://mine/v1", "COPILOT_PROVIDER_TRANSPORT": "websockets"}, problem: "COPILOT_PROVIDER_TRANSPORT"},
		"Droid's models":                            {host: "droid", files: map[string]string{".factory/settings.json": droids}, api: "http://a/v1 http://b"},
		"Factory's own models":                      {host: "droid", files: map[string]string{".factory/settings.json": "{}"}, problem: "no models of the user's own"},
		"models of the project":                     {host: "droid", files: map[string]string{".factory/settings.json": droids, "work/.factory/settings.json": droids}, problem: "names models"},
		"models of a directory above":               {host: "droid", files: map[string]string{".factory/settings.json": droids, "work/.factory/settings.json": droids, "work/in/x": ""}, dir: "work/in", problem: "names models"},
		"models above the repository":               {host: "droid", files: map[string]string{".factory/settings.json": droids, "work/.factory/settings.json": droids, "work/in/.git/x": ""}, dir: "work/in", api: "http://a/v1 http://b"},
		"Droid in the home directory":               {host: "droid", files: map[string]string{".factory/settings.json": droids}, dir: ".", api: "http://a/v1 http://b"},
		"the user's local models":                   {host: "droid", files: map[string]string{".factory/settings.json": droids, ".factory/settings.local.json": droids}, problem: "names models"},
		"Droid's settings for one process":          {host: "droid", files: map[string]string{".factory/settings.json": droids}, args: "exec --settings x.json hi", problem: "only one file"},
		"a model without an address":                {host: "droid", files: map[string]string{".factory/settings.json": `{"customModels":[{"model":"m"}]}`}, problem: "customModels[0].baseUrl"},
		"no provider of opencode that lcm may know": {host: "opencode", problem: "no provider of opencode"},
	} {
		t.Run(name, func(t *testing.T) {
			h, p := program(t, c.host, c.files, c.env, strings.Fields(c.args)...)
			if c.dir != "" {
				p.Dir = filepath.Join(p.Machine.Home, c.dir)
			}
			s, err := launch.Prepare(h, p)
			routes := s.Routes
			if c.problem != "" {
				if err == nil || !strings.Contains(err.Error(), c.problem) {
					t.Errorf("the APIs are %v, %v; want an error about %s", routes, err, c.problem)
				}
				return
			}
			var apis []string
			for _, route := range slices.Sorted(maps.Keys(routes)) {
				apis = append(apis, routes[route].String())
			}
			if got := strings.Join(apis, " "); err != nil || got != c.api {
				t.Errorf("the API is %s, %v; want %s", got, err, c.api)
			}
		})
	}
}

// TestSandbox: a sandbox that does not reach lcm is noticed however it is turned on.
func TestSandbox(t *testing.T) {
	for host, variable := range map[string]string{"gemini": "GEMINI_SANDBOX", "qwen": "QWEN_SANDBOX"} {
		base := map[string]string{"OPENAI_BASE_URL": "http://q/v1"}
		const auth = `{"security":{"auth":{"selectedType":"gemini-api-key"}}}`
		try := func(name, content string, env map[string]string, args ...string) error {
			files := map[string]string{name: content}
			if host == "gemini" {
				files[".gemini/settings.json"] = auth
			}
			_, err := launch.Prepare(program(t, host, files, env, args...))
			return err
		}
		for _, args := range []string{"", "-p x", "--sandbox=false", "--session-id s", "-- -s", "-m=gpt-s"} {
			if err := try("work/x", "", base, strings.Fields(args)...); err != nil {
				t.Errorf("%s %s: %v", host, args, err)
			}
		}
		problems := map[string]error{
			"variable": try("work/x", "", map[string]string{"OPENAI_BASE_URL": "http://q/v1", variable: "docker"}),
			".env":     try(".env", variable+"=docker\n", base),
			"own .env": try("work/."+host+"/.env", variable+"=docker\n", base),
			"settings": try("work/."+host+"/settings.json", `{"tools":{"sandbox":"docker"}}`, base),
		}
		for _, args := range []string{"-s", "--sandbox", "--sandbox=true", "-sp x", "--s"} {
			problems[args] = try("work/x", "", base, strings.Fields(args)...)
		}
		for name, err := range problems {
			if err == nil || !strings.Contains(err.Error(), "sandbox") {
				t.Errorf("%s, %s: %v", host, name, err)
			}
		}
	}
}

func TestCopilot(t *testing.T) {
	env := map[string]string{"COPILOT_PROVIDER_BASE_URL": "http://mine/v1", "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "64000"}
	c, _, err := start(t, "copilot", nil, env, "-p", "x")
	const config = `--additional-mcp-config={"mcpServers":{"lcm":{"args":["mcp","--db","/data/lcm.db"],"command":"/bin/lcm","tools":["*"],"type":"local"}}}`
	if err != nil || !slices.Equal(c.Args, []string{config, "-p", "x"}) ||
		!slices.Contains(c.Env, "COPILOT_PROVIDER_BASE_URL=http://127.0.0.1:1/s3cret/copilot") || !slices.Contains(c.Env, "COPILOT_PROVIDER_MAX_PROMPT_TOKENS=1000000000") {
		t.Errorf("%v %v %v", c.Args, c.Env, err)
	}
	if c, _, err = start(t, "copilot", nil, env, "mcp", "list"); err != nil || !slices.Equal(c.Args, []string{"mcp", "list"}) {
		t.Errorf("a command that is no session: %v, %v", c.Args, err)
	}
}

// TestDroid: the file for one process has the models behind the proxy. The environment, which
// the commands of the model inherit, has no key.
func TestDroid(t *testing.T) {
	const settings = `{"customModels":[{"model":"a","displayName":"A","baseUrl":"http://a/v1","apiKey":"sk-1"},{"model":"b","baseUrl":"http://b/v1","apiKey":"${MINE}"}]}`
	c, _, err := start(t, "droid", map[string]string{".factory/settings.json": settings}, nil, "exec", "x")
	if err != nil || len(c.Files) != 1 || !slices.Equal(c.Args, []string{"exec", "x"}) || strings.Contains(strings.Join(c.Env, " "), "sk-1") ||
		!slices.Contains(c.Env, "FACTORY_RUNTIME_SETTINGS_PATH="+c.Files[0]) {
		t.Fatalf("%+v %v", c, err)
	}
	t.Cleanup(func() { os.Remove(c.Files[0]) })
	got, err := os.ReadFile(c.Files[0])
	const want = `{"compactionThresholdCheckEnabled":false,"customModels":[{"apiKey":"sk-1","baseUrl":"http://127.0.0.1:1/s3cret/droid-0","displayName":"A","model":"a"},` +
		`{"apiKey":"${MINE}","baseUrl":"http://127.0.0.1:1/s3cret/droid-1","model":"b"}]}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	if info, err := os.Stat(c.Files[0]); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("others may read the file: %v, %v", info, err)
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
	// Tool search is not forced on the user's own server.
	c, routes, err = start(t, "claude", nil, map[string]string{"ANTHROPIC_BASE_URL": "http://gateway/a"}, "-p", "x")
	if err != nil || routes["anthropic"] != "http://gateway/a" || !slices.Equal(c.Args[1:], []string{"-p", "x"}) || strings.Contains(strings.Join(c.Env, " "), "TOOL_SEARCH") {
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
	if !slices.Contains(c.Env, launch.RunEnv+"=codex") {
		t.Errorf("an adapter would not stand back: %q", c.Env)
	}
	if !slices.Contains(c.Env, "LCM_PROXY_SECRET=s3cret") {
		t.Errorf("%v", c.Env)
	}
	c, routes, err = start(t, "codex", map[string]string{".codex/config.toml": "model_provider = \"mine\"\n[model_providers.mine]\nname = \"Mine\"\nbase_url = \"http://mine/v1\"\n"}, nil)
	if err != nil || routes["openai"] != "http://mine/v1" || !strings.Contains(strings.Join(c.Args, " "), `model_providers.mine.base_url="http://127.0.0.1:1/-/openai"`) ||
		strings.Contains(strings.Join(c.Args, " "), "model_provider=") {
		t.Errorf("with a provider of one's own: %v, %v, %v", c.Args, routes, err)
	}
	// The user's own arguments must not go before lcm's.
	c, _, err = start(t, "codex", nil, nil, "exec", "-c", "model_provider=n", `--config=model_providers.n={base_url="http://n/v1"}`, "hi", "--", "-c")
	line = strings.Join(c.Args, " ")
	if err != nil || !strings.HasPrefix(line, "exec -c model_provider=n --config=") || !strings.HasSuffix(line, " hi -- -c") ||
		strings.Index(line, `model_providers.n.base_url="http://127.0.0.1:1/-/openai"`) < strings.Index(line, "http://n/v1") {
		t.Errorf("%s, %v", line, err)
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
}

// TestAllowed: the tools that the program may call belong to lcm's own server, also where
// the user's settings have another one, and the user's permissions stay.
func TestAllowed(t *testing.T) {
	allowed := func(host string, files, env map[string]string, args ...string) string {
		t.Helper()
		h, p := program(t, host, files, env, args...)
		p.Allow = []string{"lcm_grep", "expand"}
		s, err := launch.Prepare(h, p)
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.Child(fakeProxy{})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(append(c.Args, c.Env...), " ")
	}
	got := allowed("claude", map[string]string{".claude.json": `{"mcpServers":{"lcm":{"command":"lcm","args":["mcp"]}}}`}, nil, "-p", "x", "--allowedTools", "Bash")
	if !strings.HasPrefix(got, `--mcp-config={"mcpServers":{"lcm":`) || !strings.Contains(got, "} --allowedTools=mcp__lcm__lcm_grep,mcp__lcm__expand -p x --allowedTools Bash ") {
		t.Error(got)
	}
	got = allowed("qwen", nil, map[string]string{"OPENAI_BASE_URL": "http://q/v1"}, "-p", "x")
	if !strings.HasPrefix(got, `--allowed-tools=mcp__lcm__lcm_grep --allowed-tools=mcp__lcm__expand --mcp-config={"mcpServers":{"lcm":{"alwaysLoadTools":true,`) || !strings.Contains(got, "} -p x OPENAI_BASE_URL=http://127.0.0.1:1/s3cret/openai") {
		t.Error(got)
	}
	if got = allowed("kilo", nil, map[string]string{"OPENAI_API_KEY": "k"}); !strings.Contains(got, "KILO_CONFIG_CONTENT={") || !strings.Contains(got, `KILO_PERMISSION={"lcm_expand":"allow"`) {
		t.Error(got)
	}
	got = allowed("opencode", nil, map[string]string{"OPENAI_API_KEY": "k", "OPENCODE_PERMISSION": `{"bash":"deny"}`})
	if !strings.Contains(got, `OPENCODE_PERMISSION={"bash":"deny","lcm_expand":"allow","lcm_lcm_grep":"allow"}`) || !strings.Contains(got, `"command":["/bin/lcm"`) {
		t.Error(got)
	}
	if got = allowed("codex", map[string]string{".codex/config.toml": "[mcp_servers.lcm]\ncommand = \"old\"\n"}, nil); !strings.Contains(got, `mcp_servers.lcm.command="/bin/lcm"`) {
		t.Error(got)
	}
	if got = allowed("codex", map[string]string{".codex/config.toml": "[mcp_servers.lcm]\nurl = \"http://x/mcp\"\n"}, nil); strings.Contains(got, "mcp_servers.lcm") {
		t.Errorf("Codex refuses a server with a URL and a command: %s", got)
	}
}

func hostOf(program string) (string, error) {
	h, err := launch.HostOf(program, all.Those[launch.Host]())
	if err != nil {
		return "", err
	}
	return h.About().Name, nil
}

func TestHostOf(t *testing.T) {
	for name, want := range map[string]string{"claude": "claude", "/opt/bin/codex": "codex", "opencode.exe": "opencode", "kilo": "kilo", "qwen": "qwen", "vim": ""} {
		if got, err := hostOf(name); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	// A link to it, and the link as which installers make it.
	dir := t.TempDir()
	for link, target := range map[string]string{"claude": "versions/2.1.197", "cc": "claude", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	for name, want := range map[string]string{"cc": "claude", "claude": "claude", "loop": ""} {
		if got, _ := hostOf(filepath.Join(dir, name)); got != want {
			t.Errorf("a link called %s: %q", name, got)
		}
	}
}

// TestWindows: the windows of models are those of the program's settings.
func TestWindows(t *testing.T) {
	for host, c := range map[string]struct {
		files map[string]string
		args  []string
		model string
		want  int
	}{
		"opencode": {files: map[string]string{".config/opencode/opencode.jsonc": `{"provider": {"x": {"options": {"baseURL": "http://x/v1"}, "models": {"name": {"id": "small", "limit": {"context": 64000, "output": 4000}}}}}} // mine`},
			model: "small", want: 60_000},
		"codex":  {files: map[string]string{".codex/config.toml": "model_context_window = 128000\n"}, args: []string{"-c", "model_context_window=96000"}, want: 96_000},
		"claude": {},
	} {
		s, err := launch.Prepare(program(t, host, c.files, nil, c.args...))
		if got := s.Windows[c.model]; err != nil || got != c.want {
			t.Errorf("%s: %d, want %d, %v", host, got, c.want, err)
		}
	}
}
