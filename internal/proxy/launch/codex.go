package launch

import (
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

// codexConfig is the part of config.toml that matters.
type codexConfig struct {
	Provider  string                    `toml:"model_provider"`
	Base      string                    `toml:"openai_base_url"` // of the built-in provider
	Providers map[string]map[string]any `toml:"model_providers"`
}

func readCodex(p Program) (c codexConfig, err error) {
	dir := p.Machine.Env("CODEX_HOME", filepath.Join(p.Machine.Home, ".codex"))
	src, err := os.ReadFile(filepath.Join(dir, "config.toml"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	if err := toml.Unmarshal(src, &c); err != nil {
		return c, fmt.Errorf("%s: %w", filepath.Join(dir, "config.toml"), err)
	}
	// Arguments go before the file.
	for i, a := range p.Args {
		if i == 0 || p.Args[i-1] != "-c" && p.Args[i-1] != "--config" {
			continue
		}
		if value, ok := strings.CutPrefix(a, "model_provider="); ok {
			c.Provider = strings.Trim(value, `"'`)
		}
		if value, ok := strings.CutPrefix(a, "openai_base_url="); ok {
			c.Base = strings.Trim(value, `"'`)
		}
	}
	return c, nil
}

// custom returns the base URL of the user's own provider, if there is one.
func (c codexConfig) custom() (base string, ok bool) {
	base, ok = c.Providers[c.Provider]["base_url"].(string)
	return base, ok && c.Provider != "" && c.Provider != "openai"
}

// chatgpt reports whether Codex is logged in with a ChatGPT account.
func chatgpt(p Program) bool {
	dir := p.Machine.Env("CODEX_HOME", filepath.Join(p.Machine.Home, ".codex"))
	src, err := os.ReadFile(filepath.Join(dir, "auth.json"))
	if err != nil {
		return false
	}
	var login struct {
		Key    *string         `json:"OPENAI_API_KEY"`
		Tokens json.RawMessage `json:"tokens"`
	}
	return json.Unmarshal(src, &login) == nil && (login.Key == nil || *login.Key == "") && len(login.Tokens) > len("null")
}

var codexCLI = host{
	routes: func(p Program) (map[string]*url.URL, error) {
		c, err := readCodex(p)
		if err != nil {
			return nil, err
		}
		source := "the base URL of Codex's provider"
		base, ok := c.custom()
		switch {
		case ok:
		case c.Base != "":
			source, base = "openai_base_url of Codex", c.Base
		case chatgpt(p):
			base = chatgptAPI
		default:
			base = openaiAPI
		}
		u, err := ParseBase(source, base)
		return map[string]*url.URL{"openai": u}, err
	},
	child: func(p Program, x Proxy, _ map[string]*url.URL, connect bool) (Child, error) {
		c, err := readCodex(p)
		if err != nil {
			return Child{}, err
		}
		var settings []string
		name := c.Provider
		if _, ok := c.custom(); !ok {
			name = ownProvider
			settings = append(settings, "model_provider="+tomlText(name),
				"model_providers."+name+".name="+tomlText("OpenAI through lcm"),
				"model_providers."+name+".wire_api="+tomlText("responses"),
				"model_providers."+name+".requires_openai_auth=true")
		}
		settings = append(settings,
			"model_providers."+name+".base_url="+tomlText(x.BareURL("openai")),
			"model_providers."+name+".env_http_headers."+proxy.SecretHeader+"="+tomlText(secretEnv))
		if connect {
			args := make([]string, len(p.Server)-1)
			for i, a := range p.Server[1:] {
				args[i] = tomlText(a)
			}
			settings = append(settings, "mcp_servers.lcm.command="+tomlText(p.Server[0]), "mcp_servers.lcm.args=["+strings.Join(args, ",")+"]")
		}
		child := Child{Path: p.Path, Env: []string{secretEnv + "=" + x.Secret()}}
		for _, s := range settings {
			child.Args = append(child.Args, "-c", s)
		}
		child.Args = slices.Concat(child.Args, p.Args)
		return child, nil
	},
	// Codex 0.166.0 does not read the variable that the other clients of OpenAI's API do.
	warnings: func(p Program) []string {
		c, err := readCodex(p)
		if _, custom := c.custom(); err != nil || custom || c.Base != "" || p.Machine.Env("OPENAI_BASE_URL", "") == "" {
			return nil
		}
		return []string{"Codex does not read OPENAI_BASE_URL, and neither does lcm for it: set openai_base_url in its config.toml"}
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
