package launch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/lossless-context/lcm/internal/proxy"
)

// Where Codex finds OpenAI's models, with an API key and with a ChatGPT login.
const (
	openaiAPI  = "https://api.openai.com/v1"
	chatgptAPI = "https://chatgpt.com/backend-api/codex"
)

// secretEnv is the variable with the proxy's secret: Codex takes settings as
// arguments, where a secret would be seen.
const secretEnv = "LCM_PROXY_SECRET"

// ownProvider is the name of lcm's provider. Codex has its provider compact for it if
// it is called OpenAI.
const ownProvider = "lcm"

// codexConfig is the part of the effective settings that says where requests go.
type codexConfig struct {
	Provider  string                    `toml:"model_provider"`
	Base      string                    `toml:"openai_base_url"` // of the built-in provider
	Profile   string                    `toml:"profile"`         // in settings of older versions
	Providers map[string]map[string]any `toml:"model_providers"`
	Servers   map[string]map[string]any `toml:"mcp_servers"`
	Window    int                       `toml:"model_context_window"`
}

// openaiProvider is the name of Codex's built-in provider.
const openaiProvider = "openai"

// readCodex returns the settings as Codex layers them: the system's file, the user's, the
// profile's, and the arguments. An error means that it is not certain where requests go.
func readCodex(p Program) (c codexConfig, err error) {
	for _, flag := range []string{"--oss", "--local-provider", "--ignore-user-config", "--remote"} {
		if slices.ContainsFunc(p.Args, func(a string) bool { return a == flag || strings.HasPrefix(a, flag+"=") }) {
			return c, fmt.Errorf("lcm does not know which model API codex %s uses", flag)
		}
	}
	home := p.Machine.Env("CODEX_HOME", filepath.Join(p.Machine.Home, ".codex"))
	all := map[string]any{}
	for _, file := range []string{"/etc/codex/config.toml", filepath.Join(home, "config.toml")} {
		if err := addTOML(all, file); err != nil {
			return c, err
		}
	}
	overrides, _ := flagValues(p.Args, "-c", "--config")
	given := map[string]any{}
	for _, o := range overrides {
		setTOML(given, o)
	}
	if profiles, _ := flagValues(p.Args, "-p", "--profile"); len(profiles) > 0 {
		all["profile"] = profiles[len(profiles)-1]
	}
	if name, ok := cmp.Or(given["profile"], all["profile"]).(string); ok && name != "" {
		table, _ := all["profiles"].(map[string]any)
		settings, _ := table[name].(map[string]any) // of older versions
		merge(all, settings)
		file := filepath.Join(home, name+".config.toml")
		if _, err := os.Stat(file); err != nil && settings == nil {
			return c, fmt.Errorf("lcm does not find the profile %q of Codex in %s", name, home)
		}
		if err := addTOML(all, file); err != nil {
			return c, err
		}
	}
	merge(all, given)
	if err := checkElsewhere(p, home); err != nil {
		return c, err
	}
	var text bytes.Buffer
	if err := toml.NewEncoder(&text).Encode(all); err != nil {
		return c, fmt.Errorf("the settings of Codex: %w", err)
	}
	if _, err := toml.NewDecoder(&text).Decode(&c); err != nil {
		return c, fmt.Errorf("the settings of Codex: %w", err)
	}
	return c, c.check()
}

// addTOML lays a file over settings. A missing file is empty.
func addTOML(all map[string]any, file string) error {
	layer := map[string]any{}
	if _, err := toml.DecodeFile(file, &layer); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", file, err)
	}
	merge(all, layer)
	return nil
}

// setTOML sets a value of a dotted path, given as path=value. A value that is no TOML is a
// string.
func setTOML(all map[string]any, override string) {
	path, value, _ := strings.Cut(override, "=")
	var parsed struct{ V any }
	if _, err := toml.Decode("V = "+value, &parsed); err != nil {
		parsed.V = strings.Trim(strings.TrimSpace(value), `"'`)
	}
	keys := strings.Split(strings.TrimSpace(path), ".")
	for _, key := range keys[:len(keys)-1] {
		inner, ok := all[key].(map[string]any)
		if !ok {
			inner = map[string]any{}
			all[key] = inner
		}
		all = inner
	}
	all[keys[len(keys)-1]] = parsed.V
}

// checkElsewhere looks into settings that lcm does not interpret: those of the project,
// which some versions of Codex ignore, and those of an administrator. If one of them
// mentions a provider, it is not certain which one is used.
func checkElsewhere(p Program, home string) error {
	files := []string{"/etc/codex/managed_config.toml", filepath.Join(home, "managed_config.toml"), filepath.Join(home, "cloud-config-bundle-cache.json")}
	dir := p.Dir
	if given, _ := flagValues(p.Args, "-C", "--cd"); len(given) > 0 {
		if dir = given[len(given)-1]; !filepath.IsAbs(dir) {
			dir = filepath.Join(p.Dir, dir)
		}
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if own := filepath.Join(dir, ".codex"); own != filepath.Clean(home) {
			files = append(files, filepath.Join(own, "config.toml"))
		}
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err == nil && (bytes.Contains(src, []byte("model_provider")) || bytes.Contains(src, []byte("openai_base_url"))) {
			return fmt.Errorf("%s mentions a model provider, and lcm cannot tell which one Codex uses", file)
		}
	}
	return nil
}

// plainProvider lists the settings of a provider with which requests to another base URL
// are the same requests.
var plainProvider = strings.Fields("name base_url env_key env_key_instructions experimental_bearer_token auth wire_api query_params http_headers env_http_headers " +
	"request_max_retries stream_max_retries stream_idle_timeout_ms requires_openai_auth")

// check returns an error if requests of the provider cannot go through the proxy.
func (c codexConfig) check() error {
	provider, own := c.Providers[c.Provider]
	if c.builtIn() {
		if _, own := c.Providers[openaiProvider]; own {
			return errors.New("lcm cannot tell what a provider called openai in the settings of Codex means")
		}
		return nil
	}
	if base, ok := provider["base_url"].(string); !own || !ok || base == "" {
		return fmt.Errorf("the provider %q of Codex has no base URL in its settings", c.Provider)
	}
	for key := range provider {
		if !slices.Contains(plainProvider, key) {
			return fmt.Errorf("lcm does not know the setting %s of Codex's provider %q", key, c.Provider)
		}
	}
	return nil
}

// builtIn reports whether Codex uses its own provider.
func (c codexConfig) builtIn() bool { return c.Provider == "" || c.Provider == openaiProvider }

var codexCLI = host{
	windows: func(p Program) map[string]int {
		c, err := readCodex(p)
		if err != nil || c.Window <= 0 {
			return nil
		}
		return map[string]int{"": c.Window}
	},
	routes: func(p Program) (map[string]*url.URL, error) {
		c, err := readCodex(p)
		if err != nil {
			return nil, err
		}
		source, base := "openai_base_url of Codex", c.Base
		if !c.builtIn() {
			source, base = "the base URL of Codex's provider "+c.Provider, c.Providers[c.Provider]["base_url"].(string)
		}
		if base != "" {
			u, err := ParseBase(source, base)
			return map[string]*url.URL{"openai": u}, err
		}
		api, err := ParseBase("the base URL of Codex", openaiAPI)
		if err != nil {
			return nil, err
		}
		login, err := ParseBase("the base URL of Codex", chatgptAPI)
		return map[string]*url.URL{"openai": api, "openai" + proxy.Login: login}, err
	},
	child: func(p Program, x Proxy, _ map[string]*url.URL, connect bool) (Child, error) {
		c, err := readCodex(p)
		if err != nil {
			return Child{}, err
		}
		var settings []string
		name := c.Provider
		if c.builtIn() {
			name = ownProvider
			settings = append(settings, "model_provider="+tomlText(name),
				"model_providers."+name+".name="+tomlText("OpenAI through lcm"),
				"model_providers."+name+".wire_api="+tomlText("responses"),
				"model_providers."+name+".requires_openai_auth=true")
		}
		settings = append(settings,
			"model_providers."+name+".base_url="+tomlText(x.BareURL("openai")),
			"model_providers."+name+".env_http_headers."+proxy.SecretHeader+"="+tomlText(secretEnv))
		// Codex refuses a server that has both a URL, in the user's settings, and a command.
		// It does not ask before it calls tools that say that they only read, as lcm's do.
		if _, remote := c.Servers["lcm"]["url"]; connect && !remote {
			args := make([]string, len(p.Server)-1)
			for i, a := range p.Server[1:] {
				args[i] = tomlText(a)
			}
			settings = append(settings, "mcp_servers.lcm.command="+tomlText(p.Server[0]), "mcp_servers.lcm.args=["+strings.Join(args, ",")+"]")
		}
		// The last of several arguments counts, and Codex takes one wherever the user
		// has given one.
		_, after := flagValues(p.Args, "-c", "--config")
		child := Child{Path: p.Path, Args: slices.Clone(p.Args[:after]), Env: []string{secretEnv + "=" + x.Secret()}}
		for _, s := range settings {
			child.Args = append(child.Args, "-c", s)
		}
		child.Args = append(child.Args, p.Args[after:]...)
		return child, nil
	},
}

// tomlText writes a basic string: the escapes of JSON are those of TOML.
func tomlText(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""` // impossible: strings can be encoded
	}
	return string(b)
}
