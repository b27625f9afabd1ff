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
	"syscall"

	"github.com/lossless-context/lcm/internal/kit/hint"
)

// anthropicAPI is where Anthropic's models are.
const anthropicAPI = "https://api.anthropic.com"

// firstParty is a variable of Claude Code that lcm never sets.
const firstParty = "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL"

var claudeCode = host{
	routes: func(p Program) (map[string]*url.URL, error) {
		for _, name := range claudeProviders {
			if isOn(p.Machine.Env(name, "")) {
				return nil, fmt.Errorf("%s is set, and lcm knows Anthropic's API only", name)
			}
		}
		if err := checkClaudeSettings(p); err != nil {
			return nil, err
		}
		u, err := ParseBase("ANTHROPIC_BASE_URL", p.Machine.Env("ANTHROPIC_BASE_URL", anthropicAPI))
		return map[string]*url.URL{"anthropic": u}, err
	},
	child: func(p Program, x Proxy, routes map[string]*url.URL, connect bool) (Child, error) {
		c := Child{Path: p.Path, Args: slices.Clone(p.Args), Env: []string{"ANTHROPIC_BASE_URL=" + x.URL("anthropic")}}
		// Claude Code switches the search for tools off behind a base URL of the
		// user's own, because not every server has it. Anthropic's has.
		if routes["anthropic"].String() == anthropicAPI && p.Machine.Env("ENABLE_TOOL_SEARCH", "") == "" {
			c.Env = append(c.Env, "ENABLE_TOOL_SEARCH=true")
		}
		// With this variable Claude Code claims to speak to Anthropic directly, and
		// signs bodies that the proxy may change.
		if p.Machine.Env(firstParty, "") != "" {
			c.Env = append(c.Env, firstParty+"=")
		}
		if connect && !claudeSubcommand(p.Args) {
			// The first request waits for the server. Without alwaysLoad the tools may
			// appear with the second one, and the provider's cache of the first is lost.
			server := map[string]any{"type": "stdio", "command": p.Server[0], "args": p.Server[1:], "alwaysLoad": true}
			config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"lcm": server}})
			if err != nil {
				return c, err
			}
			own := []string{"--mcp-config=" + string(config)}
			if len(p.Allow) > 0 {
				own = append(own, "--allowedTools=mcp__lcm__"+strings.Join(p.Allow, ",mcp__lcm__"))
			}
			c.Args = append(own, c.Args...)
		}
		return c, nil
	},
}

// claudeProviders are the variables with which Claude Code leaves the API of
// ANTHROPIC_BASE_URL.
var claudeProviders = []string{
	"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY", "CLAUDE_CODE_USE_MANTLE",
	"CLAUDE_CODE_USE_ANTHROPIC_AWS", "CLAUDE_CODE_USE_GATEWAY", "ANTHROPIC_UNIX_SOCKET",
}

// claudeNetwork are the variables that say how the API is reached. lcm has to know them.
var claudeNetwork = strings.Fields("HTTPS_PROXY https_proxy HTTP_PROXY http_proxy NO_PROXY no_proxy NODE_EXTRA_CA_CERTS NODE_TLS_REJECT_UNAUTHORIZED " +
	"CLAUDE_CODE_CLIENT_CERT CLAUDE_CODE_CLIENT_KEY")

func isOn(value string) bool { return value != "" && value != "0" && value != "false" }

// checkClaudeSettings returns an error if settings name the model API or the way to it:
// their variables go before those of the process, so the proxy would be passed by.
func checkClaudeSettings(p Program) error {
	check := func(source string, src []byte) error {
		var settings struct {
			Env map[string]any `json:"env"`
		}
		if err := json.Unmarshal(src, &settings); err != nil {
			return fmt.Errorf("%s cannot be read: %w", source, err)
		}
		for _, name := range slices.Concat([]string{"ANTHROPIC_BASE_URL"}, claudeProviders, claudeNetwork) {
			if value, ok := settings.Env[name]; ok && (isOn(fmt.Sprint(value)) || strings.HasPrefix(name, "NODE_TLS")) {
				return hint.New("remove it there and set the variable in the shell", "env.%s in %s does not reach lcm", name, source)
			}
		}
		return nil
	}
	files, given := claudeSettings(p)
	for _, text := range given {
		if strings.HasPrefix(strings.TrimSpace(text), "{") {
			if err := check("--settings", []byte(text)); err != nil {
				return err
			}
			continue
		}
		if !filepath.IsAbs(text) {
			text = filepath.Join(p.Dir, text)
		}
		files = append(files, text)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue
		}
		if err == nil {
			err = check(file, src)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// claudeSettings returns the files from which Claude Code may take variables, and the
// values of --settings, each a file or JSON.
func claudeSettings(p Program) (files, given []string) {
	config := p.Machine.Env("CLAUDE_CONFIG_DIR", filepath.Join(p.Machine.Home, ".claude"))
	files = []string{
		filepath.Join(config, "settings.json"),
		filepath.Join(config, "remote-settings.json"),
		filepath.Join(p.Dir, ".claude", "settings.json"),
		filepath.Join(p.Dir, ".claude", "settings.local.json"),
	}
	for _, dir := range []string{"/etc/claude-code", "/Library/Application Support/ClaudeCode", `C:\Program Files\ClaudeCode`} {
		more, _ := filepath.Glob(filepath.Join(dir, "managed-settings.d", "*.json")) // the pattern is sound
		files = append(append(files, filepath.Join(dir, "managed-settings.json")), more...)
	}
	given, _ = flagValues(p.Args, "--settings")
	return files, given
}

// claudeSubcommand reports whether the arguments begin with a command that is no
// session, and does not take the flags of one.
func claudeSubcommand(args []string) bool {
	return len(args) > 0 && slices.Contains(strings.Fields("agents auth auto-mode config doctor install mcp migrate-installer plugin plugins setup-token update upgrade"), args[0])
}
