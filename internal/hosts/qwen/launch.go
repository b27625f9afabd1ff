package qwen

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts/launch"
	"github.com/lossless-context/lcm/internal/hosts/setup/edit"
	"github.com/lossless-context/lcm/internal/kit/hint"
)

// baseEnv is the variable with the base URL of an API in the form of OpenAI's.
const baseEnv = "OPENAI_BASE_URL"

// Session implements [launch.Host]: no header names the session.
func (Host) Session(http.Header) string { return "" }

// Prepare implements [launch.Host]. Which API Qwen Code uses is certain where the environment
// names it, and neither its settings nor its arguments do.
func (h Host) Prepare(p launch.Program) (s launch.Start, err error) {
	if err := h.checkSettings(p); err != nil {
		return s, err
	}
	base := p.Machine.Env(baseEnv, "")
	if base == "" {
		return s, hint.New("set it in the shell; docs/hosts/qwen.md says more", "%s is not set, and lcm does not know which model API Qwen Code uses", baseEnv)
	}
	api, err := launch.ParseBase(baseEnv, base)
	s.Routes, s.ByCalls = map[string]*url.URL{"openai": api}, true
	s.Child = func(x launch.Proxy) (launch.Child, error) {
		c := launch.Child{Args: p.Args, Env: []string{baseEnv + "=" + x.URL("openai")}}
		if len(p.Server) == 0 || isSubcommand(p.Args) {
			return c, nil
		}
		// Else the tools stand behind a search, and appear in a later request.
		server := map[string]any{"command": p.Server[0], "args": p.Server[1:], "alwaysLoadTools": true}
		config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"lcm": server}})
		var own []string
		for _, tool := range p.Allow {
			own = append(own, "--allowed-tools=mcp__lcm__"+tool)
		}
		// A list takes the words after it, so the last flag of lcm is not one.
		c.Args = slices.Concat(own, []string{"--mcp-config=" + string(config)}, p.Args)
		return c, err
	}
	return s, err
}

// checkSettings returns an error if settings or arguments name the model API.
func (h Host) checkSettings(p launch.Program) error {
	if named, _ := launch.FlagValues(p.Args, "--openai-base-url"); len(named) > 0 {
		return hint.New("set "+baseEnv+" instead", "--openai-base-url goes before lcm's own")
	}
	files := []string{
		p.Machine.Env("QWEN_CODE_SYSTEM_DEFAULTS_PATH", "/etc/qwen-code/system-defaults.json"), filepath.Join(h.Settings(p.Machine), "settings.json"),
		filepath.Join(p.Dir, ".qwen", "settings.json"), p.Machine.Env("QWEN_CODE_SYSTEM_SETTINGS_PATH", "/etc/qwen-code/settings.json"),
	}
	kind := "" // of the last file that has one
	err := launch.ReadSettings(files, func(file string, d *edit.JSON) error {
		for _, path := range [][]string{{"modelProviders"}, {"security", "auth", "baseUrl"}, {"env", baseEnv}} {
			if d.Get(path...) != nil {
				return hint.New("remove it there and set "+baseEnv+" in the shell", "%s in %s names a model API, which goes before lcm's", strings.Join(path, "."), file)
			}
		}
		_ = json.Unmarshal(d.Get("security", "auth", "selectedType"), &kind) // else the one before counts
		return nil
	})
	if err != nil {
		return err
	}
	if kinds, _ := launch.FlagValues(p.Args, "--auth-type"); len(kinds) > 0 {
		kind = kinds[len(kinds)-1]
	}
	if kind != "" && kind != "openai" {
		return fmt.Errorf("lcm knows the API of Qwen Code's auth type openai only, not of %s", kind)
	}
	return launch.CheckSandbox(p, "QWEN_SANDBOX", h.Settings(p.Machine), ".qwen", files)
}

// isSubcommand reports whether the arguments begin with a command that is no session.
func isSubcommand(args []string) bool {
	return len(args) > 0 && slices.Contains(strings.Fields("auth board channel extensions hooks mcp review sandbox serve sessions update"), args[0])
}
