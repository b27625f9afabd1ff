package opencode

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/lossless-context/lcm/internal/hosts/launch"
	"github.com/lossless-context/lcm/internal/hosts/setup/edit"
	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// The variables with settings that go before the program's files, and with permissions that
// go before all others.
const configEnv, permissionEnv = "CONFIG_CONTENT", "PERMISSION"

// builtIn are the providers that opencode knows by itself: the variables with the base URL
// and with the key of each, and the base URL without the variable.
var builtIn = map[string]struct{ variable, base, key string }{
	"anthropic": {"ANTHROPIC_BASE_URL", launch.AnthropicAPI + "/v1", "ANTHROPIC_API_KEY"},
	"openai":    {"OPENAI_BASE_URL", launch.OpenAIAPI, "OPENAI_API_KEY"},
}

// Session implements [launch.Host].
func (Host) Session(h http.Header) string {
	if id := h.Get("X-Session-Id"); strings.HasPrefix(id, "ses_") {
		return id
	}
	return ""
}

// Prepare implements [launch.Host]. opencode compacts before the output would no longer fit
// the window.
func (h Host) Prepare(p launch.Program) (s launch.Start, err error) {
	bases := map[string]string{}
	for name, b := range builtIn {
		if p.Machine.Env(b.key, "") != "" {
			bases[name] = p.Machine.Env(b.variable, b.base)
		}
	}
	if err := h.checkElsewhere(p); err != nil {
		return s, err
	}
	s.Windows = map[string]int{}
	err = h.eachProvider(p, func(name string, has provider) {
		if has.Options.BaseURL != "" {
			bases[name] = has.Options.BaseURL
		}
		for name, m := range has.Models {
			if window := cmp.Or(m.Limit.Input, m.Limit.Context-min(m.Limit.Output, m.Limit.Context/2)); window > 0 {
				s.Windows[cmp.Or(m.ID, name)] = window
			}
		}
	})
	if err != nil {
		return s, err
	}
	s.Routes = map[string]*url.URL{}
	for name, base := range bases {
		if s.Routes[name], err = launch.ParseBase("the base URL of "+h.Name+"'s provider "+name, base); err != nil {
			return s, err
		}
	}
	if len(bases) == 0 {
		return s, hint.New("set ANTHROPIC_API_KEY or OPENAI_API_KEY, or provider.NAME.options.baseURL in "+h.Name+".json; docs/hosts/RUN.md says more",
			"no provider of %s has a base URL in its settings or an API key in the environment", h.Name)
	}
	s.Child = func(x launch.Proxy) (launch.Child, error) {
		own := map[string]any{}
		providers := map[string]any{}
		for name := range s.Routes {
			providers[name] = map[string]any{"options": map[string]any{"baseURL": x.URL(name)}}
		}
		own["provider"] = providers
		if len(p.Server) > 0 {
			own["mcp"] = map[string]any{"lcm": map[string]any{"type": "local", "command": p.Server, "enabled": true}}
		}
		c := launch.Child{Args: p.Args}
		err := addJSON(&c, p, h.env(configEnv), own)
		if len(p.Server) > 0 && len(p.Allow) > 0 && err == nil {
			// opencode lays these permissions over the others, and the last rule that fits counts.
			allowed := map[string]any{}
			for _, tool := range p.Allow {
				allowed["lcm_"+tool] = "allow"
			}
			err = addJSON(&c, p, h.env(permissionEnv), allowed)
		}
		return c, err
	}
	return s, nil
}

// addJSON lays values over those of a variable.
func addJSON(c *launch.Child, p launch.Program, variable string, own map[string]any) error {
	all := map[string]any{}
	if err := json.Unmarshal([]byte(p.Machine.Env(variable, "{}")), &all); err != nil {
		return fmt.Errorf("%s: %w", variable, err)
	}
	launch.Merge(all, own)
	text, err := json.Marshal(all)
	c.Env = append(c.Env, variable+"="+string(text))
	return err
}

// checkElsewhere looks for settings that lcm cannot read or that go before its own:
// those of a server that the user is logged in to, and those of an administrator.
func (h Host) checkElsewhere(p launch.Program) error {
	logins := filepath.Join(h.dataDir(p.Machine), "auth.json")
	if src, err := os.ReadFile(logins); err == nil && bytes.Contains(src, []byte("wellknown")) {
		return fmt.Errorf("%s takes settings from a server, which lcm does not know (%s)", h.Name, logins)
	}
	for _, dir := range []string{"/etc/", "/Library/Application Support/", `C:\ProgramData\`} {
		for _, name := range h.fileNames() {
			file := filepath.Join(dir+h.Name, name)
			if src, err := os.ReadFile(file); err == nil && bytes.Contains(src, []byte("baseURL")) {
				return fmt.Errorf("%s names a base URL, which goes before lcm's", file)
			}
		}
	}
	return nil
}

// settingsFiles are the settings files of the program, in the order of their weight: the
// user's, the one that a variable names, those of the project from the outermost directory
// inwards, and those in the program's directories (.opencode).
func (h Host) settingsFiles(p launch.Program) (files []string) {
	add := func(dir string) {
		for _, name := range h.fileNames() {
			files = append(files, filepath.Join(dir, name))
		}
	}
	files = append(files, filepath.Join(h.configDir(p.Machine), "config.json"))
	add(h.configDir(p.Machine))
	if file := p.Machine.Env(h.env("CONFIG"), ""); file != "" {
		files = append(files, file)
	}
	dirs := []string{p.Dir}
	for dir := p.Dir; dir != filepath.Dir(dir); {
		dir = filepath.Dir(dir)
		dirs = append(dirs, dir)
	}
	slices.Reverse(dirs)
	for _, dir := range dirs {
		add(dir)
	}
	for _, dir := range append(dirs, p.Machine.Home) {
		for _, name := range h.Dirs {
			add(filepath.Join(dir, name))
		}
	}
	if dir := p.Machine.Env(h.env("CONFIG_DIR"), ""); dir != "" {
		add(dir)
	}
	return files
}

// variable is how the settings name a variable of the environment.
var variable = lazyregexp.New(`\{env:([^}]+)\}`)

// provider is a provider in the settings.
type provider struct {
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
func (h Host) eachProvider(p launch.Program, use func(name string, has provider)) error {
	for _, file := range h.settingsFiles(p) {
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
	if err := providersIn(p, []byte(p.Machine.Env(h.env(configEnv), "{}")), use); err != nil {
		return fmt.Errorf("%s: %w", h.env(configEnv), err)
	}
	return nil
}

// providersIn calls use with the providers of a settings file.
func providersIn(p launch.Program, src []byte, use func(name string, has provider)) error {
	src = variable().ReplaceAllFunc(src, func(name []byte) []byte {
		return []byte(p.Machine.Env(string(name[len("{env:"):len(name)-1]), ""))
	})
	d, err := edit.ParseJSON(src)
	if err != nil {
		return err
	}
	var providers map[string]provider
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
