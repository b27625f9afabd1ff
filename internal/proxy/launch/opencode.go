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
	"syscall"

	"github.com/lossless-context/lcm/internal/hosts/setup/edit"
	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// configEnv is the variable with settings that go before opencode's files.
const configEnv = "OPENCODE_CONFIG_CONTENT"

// permissionEnv is the variable with permissions that go before all others.
const permissionEnv = "OPENCODE_PERMISSION"

// builtIn are the providers that opencode knows by itself: the variables with the base URL
// and with the key of each, and the base URL without the variable.
var builtIn = map[string]struct{ variable, base, key string }{
	"anthropic": {"ANTHROPIC_BASE_URL", anthropicAPI + "/v1", "ANTHROPIC_API_KEY"},
	"openai":    {"OPENAI_BASE_URL", openaiAPI, "OPENAI_API_KEY"},
}

var openCode = host{
	windows: opencodeWindows,
	routes: func(p Program) (map[string]*url.URL, error) {
		bases := map[string]string{}
		for name, b := range builtIn {
			if p.Machine.Env(b.key, "") != "" {
				bases[name] = p.Machine.Env(b.variable, b.base)
			}
		}
		if err := checkOpencodeElsewhere(p); err != nil {
			return nil, err
		}
		err := eachProvider(p, func(name string, provider opencodeProvider) {
			if provider.Options.BaseURL != "" {
				bases[name] = provider.Options.BaseURL
			}
		})
		if err != nil {
			return nil, err
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
				"no provider of opencode has a base URL in its settings or an API key in the environment")
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
		if err != nil {
			return Child{}, err
		}
		child := Child{Path: p.Path, Args: p.Args, Env: []string{configEnv + "=" + string(content)}}
		if connect && len(p.Allow) > 0 {
			allowed, err := p.allowed()
			if err != nil {
				return Child{}, err
			}
			child.Env = append(child.Env, permissionEnv+"="+allowed)
		}
		return child, nil
	},
}

// checkOpencodeElsewhere looks for settings that lcm cannot read or that go before its own:
// those of a server that the user is logged in to, and those of an administrator.
func checkOpencodeElsewhere(p Program) error {
	data := p.Machine.Env("XDG_DATA_HOME", filepath.Join(p.Machine.Home, ".local", "share"))
	logins := filepath.Join(data, "opencode", "auth.json")
	if src, err := os.ReadFile(logins); err == nil && bytes.Contains(src, []byte("wellknown")) {
		return fmt.Errorf("opencode takes settings from a server, which lcm does not know (%s)", logins)
	}
	for _, dir := range []string{"/etc/opencode", "/Library/Application Support/opencode", `C:\ProgramData\opencode`} {
		for _, name := range []string{"opencode.json", "opencode.jsonc"} {
			file := filepath.Join(dir, name)
			if src, err := os.ReadFile(file); err == nil && bytes.Contains(src, []byte("baseURL")) {
				return fmt.Errorf("%s names a base URL, which goes before lcm's", file)
			}
		}
	}
	return nil
}

// allowed returns the permissions of the environment with those of lcm's tools. opencode
// lays them over the others, and the last rule that fits counts.
func (p Program) allowed() (string, error) {
	permissions := map[string]any{}
	if err := json.Unmarshal([]byte(p.Machine.Env(permissionEnv, "{}")), &permissions); err != nil {
		return "", fmt.Errorf("%s: %w", permissionEnv, err)
	}
	for _, tool := range p.Allow {
		permissions["lcm_"+tool] = "allow"
	}
	text, err := json.Marshal(permissions)
	return string(text), err
}

// opencodeFiles are the settings files of opencode, in the order of their weight: the
// user's, the one that a variable names, those of the project from the outermost directory
// inwards, and those in directories called .opencode.
func opencodeFiles(p Program) (files []string) {
	add := func(dir string, names ...string) {
		for _, name := range names {
			files = append(files, filepath.Join(dir, name))
		}
	}
	const plain, commented = "opencode.json", "opencode.jsonc"
	add(filepath.Join(p.Machine.Env("XDG_CONFIG_HOME", filepath.Join(p.Machine.Home, ".config")), "opencode"), "config.json", plain, commented)
	if file := p.Machine.Env("OPENCODE_CONFIG", ""); file != "" {
		files = append(files, file)
	}
	dirs := []string{p.Dir}
	for dir := p.Dir; dir != filepath.Dir(dir); {
		dir = filepath.Dir(dir)
		dirs = append(dirs, dir)
	}
	slices.Reverse(dirs)
	for _, dir := range dirs {
		add(dir, plain, commented)
	}
	for _, dir := range append(dirs, p.Machine.Home) {
		add(filepath.Join(dir, ".opencode"), plain, commented)
	}
	if dir := p.Machine.Env("OPENCODE_CONFIG_DIR", ""); dir != "" {
		add(dir, plain, commented)
	}
	return files
}

// variable is how opencode's settings name a variable of the environment.
var variable = lazyregexp.New(`\{env:([^}]+)\}`)

// opencodeProvider is a provider in opencode's settings.
type opencodeProvider struct {
	Options struct {
		BaseURL string `json:"baseURL"`
	} `json:"options"`
	Models map[string]struct {
		ID    string `json:"id"` // of the API, if it is another one
		Limit struct {
			Context int `json:"context"`
			Input   int `json:"input"`
			Output  int `json:"output"`
		} `json:"limit"`
	} `json:"models"`
}

// eachProvider calls use with the providers of each settings file, in the order of the
// files' weight.
func eachProvider(p Program, use func(name string, provider opencodeProvider)) error {
	for _, file := range opencodeFiles(p) {
		src, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue
		}
		if err == nil {
			err = providersIn(p, src, use)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	if err := providersIn(p, []byte(p.Machine.Env(configEnv, "{}")), use); err != nil {
		return fmt.Errorf("%s: %w", configEnv, err)
	}
	return nil
}

// opencodeWindows returns the windows of models. opencode compacts before the output would
// no longer fit.
func opencodeWindows(p Program) map[string]int {
	windows := map[string]int{}
	err := eachProvider(p, func(_ string, provider opencodeProvider) {
		for name, m := range provider.Models {
			window := cmp.Or(m.Limit.Input, m.Limit.Context-min(m.Limit.Output, m.Limit.Context/2))
			if window > 0 {
				windows[cmp.Or(m.ID, name)] = window
			}
		}
	})
	if err != nil {
		return nil // the routes tell the error
	}
	return windows
}

// providersIn calls use with the providers of a settings file.
func providersIn(p Program, src []byte, use func(name string, provider opencodeProvider)) error {
	src = variable().ReplaceAllFunc(src, func(name []byte) []byte {
		return []byte(p.Machine.Env(string(name[len("{env:"):len(name)-1]), ""))
	})
	d, err := edit.ParseJSON(src)
	if err != nil {
		return err
	}
	var providers map[string]opencodeProvider
	raw := d.Get("provider")
	if raw == nil {
		return nil
	}
	if err := json.Unmarshal(raw, &providers); err != nil {
		return err
	}
	for name, provider := range providers {
		use(name, provider)
	}
	return nil
}
