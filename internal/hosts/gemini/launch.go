package gemini

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"runtime"

	"github.com/lossless-context/lcm/internal/hosts/launch"
	"github.com/lossless-context/lcm/internal/hosts/setup/edit"
	"github.com/lossless-context/lcm/internal/kit/hint"
)

// baseEnv is the variable with the base URL of Gemini's API.
const baseEnv = "GOOGLE_GEMINI_BASE_URL"

// api is the base URL of Gemini's API.
const api = "https://generativelanguage.googleapis.com"

// Session implements [launch.Host]: no header names it.
func (Host) Session(http.Header) string { return "" }

// Prepare implements [launch.Host]. Gemini CLI uses Gemini's API if it is set to an API key;
// with a login at Google or with Vertex AI it uses others. There is no flag for an MCP server,
// and settings for one process would have to be those of an administrator.
func (h Host) Prepare(p launch.Program) (s launch.Start, err error) {
	system := p.Machine.Env("GEMINI_CLI_SYSTEM_SETTINGS_PATH", systemSettings())
	settings := []string{
		p.Machine.Env("GEMINI_CLI_SYSTEM_DEFAULTS_PATH", filepath.Join(filepath.Dir(system), "system-defaults.json")),
		filepath.Join(h.Settings(p.Machine), "settings.json"), filepath.Join(p.Dir, ".gemini", "settings.json"), system,
	}
	if err := checkSettings(settings); err != nil {
		return s, err
	}
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		if p.Machine.Env(name, "") != "" {
			return s, fmt.Errorf("%s is set, and Gemini CLI would send its requests there and not to lcm", name)
		}
	}
	own := h.Settings(p.Machine)
	if err := launch.CheckSandbox(p, "GEMINI_SANDBOX", own, ".gemini", settings); err != nil {
		return s, err
	}
	if file := launch.EnvFileWith(baseEnv, p, own, ".gemini"); file != "" { // in the environment it goes before it
		return s, hint.New("remove it there and set "+baseEnv+" in the shell", "%s may name the model API", file)
	}
	base, err := launch.ParseBase(baseEnv, p.Machine.Env(baseEnv, api))
	s.Routes, s.ByCalls = map[string]*url.URL{Name: base}, true
	s.Child = func(x launch.Proxy) (launch.Child, error) {
		return launch.Child{Args: p.Args, Env: []string{baseEnv + "=" + x.URL(Name)}}, nil
	}
	return s, err
}

// systemSettings is where an administrator's settings are.
func systemSettings() string {
	switch runtime.GOOS {
	case "darwin":
		return "/Library/Application Support/GeminiCli/settings.json"
	case "windows":
		return `C:\ProgramData\gemini-cli\settings.json`
	}
	return "/etc/gemini-cli/settings.json"
}

// checkSettings returns an error unless files of settings, of which later ones go before
// earlier ones, choose Gemini's API with an API key.
func checkSettings(files []string) error {
	kind := ""
	err := launch.ReadSettings(files, func(_ string, d *edit.JSON) error {
		_ = json.Unmarshal(d.Get("security", "auth", "selectedType"), &kind) // else the one before counts
		return nil
	})
	if err == nil && kind != "gemini-api-key" {
		err = hint.New("choose an API key with /auth in Gemini CLI; docs/hosts/gemini.md says more",
			"lcm knows the API of Gemini CLI with an API key only, and security.auth.selectedType in its settings is %q", kind)
	}
	return err
}
