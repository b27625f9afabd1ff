package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"

	"github.com/lossless-context/lcm/internal/hint"
	"github.com/lossless-context/lcm/internal/hosts/setup/edit"
)

// configEnv is the variable with settings that go before opencode's files.
const configEnv = "OPENCODE_CONFIG_CONTENT"

// builtIn are the providers that opencode knows by itself, and the variable with the
// key of each.
var builtIn = map[string]struct{ base, key string }{
	"anthropic": {anthropicAPI + "/v1", "ANTHROPIC_API_KEY"},
	"openai":    {openaiAPI, "OPENAI_API_KEY"},
}

var openCode = host{
	routes: func(p Program) (map[string]*url.URL, error) {
		bases := map[string]string{}
		for name, b := range builtIn {
			if p.Machine.Env(b.key, "") != "" {
				bases[name] = b.base
			}
		}
		for _, file := range opencodeFiles(p) {
			src, err := os.ReadFile(file)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if err := addProviders(bases, src); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		}
		if err := addProviders(bases, []byte(p.Machine.Env(configEnv, "{}"))); err != nil {
			return nil, fmt.Errorf("%s: %w", configEnv, err)
		}
		routes := map[string]*url.URL{}
		for name, base := range bases {
			u, err := ParseBase("the base URL of opencode's provider "+name, base)
			if err != nil {
				return nil, err
			}
			routes[name] = u
		}
		if len(routes) == 0 {
			return nil, hint.New("set ANTHROPIC_API_KEY or OPENAI_API_KEY, or provider.NAME.options.baseURL in opencode.json; docs/hosts/RUN.md says more",
				"no provider of opencode can go through lcm: none has a base URL in its settings or an API key in the environment")
		}
		return routes, nil
	},
	child: func(p Program, x Proxy, routes map[string]*url.URL, connect bool) (Child, error) {
		config := map[string]any{}
		if err := json.Unmarshal([]byte(p.Machine.Env(configEnv, "{}")), &config); err != nil {
			return Child{}, fmt.Errorf("%s: %w", configEnv, err)
		}
		providers := map[string]any{}
		for name := range routes {
			providers[name] = map[string]any{"options": map[string]any{"baseURL": x.URL(name)}}
		}
		own := map[string]any{"provider": providers}
		if connect {
			own["mcp"] = map[string]any{"lcm": map[string]any{"type": "local", "command": p.Server, "enabled": true}}
		}
		merge(config, own)
		content, err := json.Marshal(config)
		return Child{Path: p.Path, Args: p.Args, Env: []string{configEnv + "=" + string(content)}}, err
	},
}

// opencodeFiles are the settings files of opencode: the user's, the one that a variable
// names, and those of the project, from the outermost directory inwards.
func opencodeFiles(p Program) []string {
	var files []string
	add := func(dir string) {
		for _, name := range []string{"config.json", "opencode.json", "opencode.jsonc"} {
			files = append(files, filepath.Join(dir, name))
		}
	}
	add(p.Machine.Env("OPENCODE_CONFIG_DIR", filepath.Join(p.Machine.Env("XDG_CONFIG_HOME", filepath.Join(p.Machine.Home, ".config")), "opencode")))
	if file := p.Machine.Env("OPENCODE_CONFIG", ""); file != "" {
		files = append(files, file)
	}
	var dirs []string
	for dir := p.Dir; dir != ""; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
		if dir == filepath.Dir(dir) {
			break
		}
	}
	for i := len(dirs) - 1; i >= 0; i-- {
		files = append(files, filepath.Join(dirs[i], "opencode.json"), filepath.Join(dirs[i], "opencode.jsonc"))
	}
	return files
}

// addProviders adds the providers of a settings file that have a base URL.
func addProviders(bases map[string]string, src []byte) error {
	d, err := edit.ParseJSON(src)
	if err != nil {
		return err
	}
	var providers map[string]struct {
		Options struct {
			BaseURL string `json:"baseURL"`
		} `json:"options"`
	}
	raw := d.Get("provider")
	if raw == nil {
		return nil
	}
	if err := json.Unmarshal(raw, &providers); err != nil {
		return err
	}
	for name, p := range providers {
		if p.Options.BaseURL != "" {
			bases[name] = p.Options.BaseURL
		}
	}
	return nil
}

// merge puts the values of one object into another, deeply.
func merge(into, from map[string]any) {
	for key, value := range maps.All(from) {
		inner, ok := value.(map[string]any)
		there, also := into[key].(map[string]any)
		if ok && also {
			merge(there, inner)
			continue
		}
		into[key] = value
	}
}
