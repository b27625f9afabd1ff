package codex

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/lossless-context/lcm/internal/hosts/launch"
)

// secretEnv is the variable with the proxy's secret: Codex takes settings as
// arguments, where a secret would be seen.
const secretEnv = "LCM_PROXY_SECRET"

// ownProvider is the name of lcm's provider. Codex has its provider compact for it if
// it is called OpenAI.
const ownProvider = "lcm"

// config is the part of the effective settings that says where requests go.
type config struct {
	Provider  string                    `toml:"model_provider"`
	Base      string                    `toml:"openai_base_url"` // of the built-in provider
	Providers map[string]map[string]any `toml:"model_providers"`
	Servers   map[string]map[string]any `toml:"mcp_servers"`
	Window    int                       `toml:"model_context_window"`
}

// openaiProvider is the name of Codex's built-in provider.
const openaiProvider = "openai"

// readConfig returns the settings as Codex layers them: the system's file, the user's, the
// profile's, and the arguments. An error means that it is not certain where requests go.
func readConfig(p launch.Program) (c config, err error) {
	for _, flag := range []string{"--oss", "--local-provider", "--ignore-user-config", "--remote"} {
		if slices.ContainsFunc(p.Args, func(a string) bool { return a == flag || strings.HasPrefix(a, flag+"=") }) {
			return c, fmt.Errorf("lcm does not know which model API codex %s uses", flag)
		}
	}
	home := Host{}.Settings(p.Machine)
	all := map[string]any{}
	for _, file := range []string{"/etc/codex/config.toml", filepath.Join(home, "config.toml")} {
		if err := addTOML(all, file); err != nil {
			return c, err
		}
	}
	overrides, _ := launch.FlagValues(p.Args, "-c", "--config")
	given := map[string]any{}
	for _, o := range overrides {
		setTOML(given, o)
	}
	if profiles, _ := launch.FlagValues(p.Args, "-p", "--profile"); len(profiles) > 0 {
		all["profile"] = profiles[len(profiles)-1]
	}
	if name, ok := cmp.Or(given["profile"], all["profile"]).(string); ok && name != "" {
		table, _ := all["profiles"].(map[string]any)
		settings, _ := table[name].(map[string]any) // of older versions
		launch.Merge(all, settings)
		file := filepath.Join(home, name+".config.toml")
		if _, err := os.Stat(file); err != nil && settings == nil {
			return c, fmt.Errorf("lcm does not find the profile %q of Codex in %s", name, home)
		}
		if err := addTOML(all, file); err != nil {
			return c, err
		}
	}
	launch.Merge(all, given)
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
	launch.Merge(all, layer)
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
func checkElsewhere(p launch.Program, home string) error {
	files := []string{"/etc/codex/managed_config.toml", filepath.Join(home, "managed_config.toml"), filepath.Join(home, "cloud-config-bundle-cache.json")}
	dir := p.Dir
	if given, _ := launch.FlagValues(p.Args, "-C", "--cd"); len(given) > 0 {
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
func (c config) check() error {
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
func (c config) builtIn() bool { return c.Provider == "" || c.Provider == openaiProvider }

// Session implements [launch.Host]. Other clients send a Session-Id too, beside their own
// header.
func (Host) Session(h http.Header) string {
	if h.Get("X-Session-Id") != "" {
		return h.Get("Thread-Id")
	}
	return cmp.Or(h.Get("Thread-Id"), h.Get("Session-Id"))
}

// Prepare implements [launch.Host].
func (Host) Prepare(p launch.Program) (s launch.Start, err error) {
	c, err := readConfig(p)
	if err != nil {
		return s, err
	}
	if c.Window > 0 {
		s.Windows = map[string]int{"": c.Window}
	}
	s.Child = func(x launch.Proxy) (launch.Child, error) { return c.child(p, x), nil }
	s.Routes = map[string]*url.URL{}
	source, base := "openai_base_url of Codex", cmp.Or(c.Base, launch.OpenAIAPI)
	if !c.builtIn() {
		source, base = "the base URL of Codex's provider "+c.Provider, c.Providers[c.Provider]["base_url"].(string)
	} else if c.Base == "" {
		if s.Routes["openai"+launch.Login], err = launch.ParseBase(source, launch.ChatGPTAPI); err != nil {
			return s, err
		}
	}
	s.Routes["openai"], err = launch.ParseBase(source, base)
	return s, err
}

// child returns the process with lcm's settings as arguments.
func (c config) child(p launch.Program, x launch.Proxy) launch.Child {
	var settings []string
	name := c.Provider
	if c.builtIn() {
		name = ownProvider
		settings = append(settings, "model_provider="+tomlString(name),
			"model_providers."+name+".name="+tomlString("OpenAI through lcm"),
			"model_providers."+name+".wire_api="+tomlString("responses"),
			"model_providers."+name+".requires_openai_auth=true")
	}
	settings = append(settings,
		"model_providers."+name+".base_url="+tomlString(x.BareURL("openai")),
		"model_providers."+name+".env_http_headers."+launch.SecretHeader+"="+tomlString(secretEnv))
	// Codex refuses a server that has both a URL, in the user's settings, and a command.
	// It does not ask before it calls tools that say that they only read, as lcm's do.
	if _, remote := c.Servers["lcm"]["url"]; len(p.Server) > 0 && !remote {
		settings = append(settings, "mcp_servers.lcm.command="+tomlString(p.Server[0]), "mcp_servers.lcm.args="+tomlStrings(p.Server[1:], ","))
	}
	// The last of several arguments counts, and Codex takes one wherever the user
	// has given one.
	_, after := launch.FlagValues(p.Args, "-c", "--config")
	args := slices.Clone(p.Args[:after])
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	return launch.Child{Args: append(args, p.Args[after:]...), Env: []string{secretEnv + "=" + x.Secret()}}
}
