package claude

import (
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
	"github.com/lossless-context/lcm/internal/kit/hint"
)

// firstParty is a variable of Claude Code that lcm never sets.
const firstParty = "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL"

// Session implements [launch.Host].
func (Host) Session(h http.Header) string {
	id, agent := h.Get("X-Claude-Code-Session-Id"), h.Get("X-Claude-Code-Agent-Id")
	if id != "" && agent != "" {
		id += "/" + subagent + strings.TrimPrefix(agent, subagent)
	}
	return id
}

// orders are texts of the message with which Claude Code asks for a summary of the
// conversation.
var orders = []string{"Respond with TEXT ONLY", "create a detailed summary of the conversation"}

// AsksForSummary reports whether a message asks for a summary of the conversation.
func (Host) AsksForSummary(text string) bool {
	return !slices.ContainsFunc(orders, func(order string) bool { return !strings.Contains(text, order) })
}

// Prepare implements [launch.Host].
func (Host) Prepare(p launch.Program) (s launch.Start, err error) {
	for _, name := range providers {
		if isOn(p.Machine.Env(name, "")) {
			return s, fmt.Errorf("%s is set, and lcm knows Anthropic's API only", name)
		}
	}
	if err := checkSettings(p); err != nil {
		return s, err
	}
	api, err := launch.ParseBase("ANTHROPIC_BASE_URL", p.Machine.Env("ANTHROPIC_BASE_URL", launch.AnthropicAPI))
	s.Routes = map[string]*url.URL{"anthropic": api}
	s.Child = func(x launch.Proxy) (launch.Child, error) {
		c := launch.Child{Args: p.Args, Env: []string{"ANTHROPIC_BASE_URL=" + x.URL("anthropic")}}
		// Claude Code switches the search for tools off behind a base URL of the
		// user's own, because not every server has it. Anthropic's has.
		if api.String() == launch.AnthropicAPI && p.Machine.Env("ENABLE_TOOL_SEARCH", "") == "" {
			c.Env = append(c.Env, "ENABLE_TOOL_SEARCH=true")
		}
		// With this variable Claude Code claims to speak to Anthropic directly, and
		// signs bodies that the proxy may change.
		if p.Machine.Env(firstParty, "") != "" {
			c.Env = append(c.Env, firstParty+"=")
		}
		if len(p.Server) == 0 || isSubcommand(p.Args) {
			return c, nil
		}
		// The first request waits for the server. Without alwaysLoad the tools may
		// appear with the second one, and the provider's cache of the first is lost.
		server := map[string]any{"type": "stdio", "command": p.Server[0], "args": p.Server[1:], "alwaysLoad": true}
		config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"lcm": server}})
		own := []string{"--mcp-config=" + string(config)}
		if len(p.Allow) > 0 {
			own = append(own, "--allowedTools=mcp__lcm__"+strings.Join(p.Allow, ",mcp__lcm__"))
		}
		c.Args = append(own, p.Args...)
		return c, err
	}
	return s, err
}

// providers are the variables with which Claude Code leaves the API of
// ANTHROPIC_BASE_URL.
var providers = []string{
	"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY", "CLAUDE_CODE_USE_MANTLE",
	"CLAUDE_CODE_USE_ANTHROPIC_AWS", "CLAUDE_CODE_USE_GATEWAY", "ANTHROPIC_UNIX_SOCKET",
}

// network are the variables that say how the API is reached. lcm has to know them.
var network = strings.Fields("HTTPS_PROXY https_proxy HTTP_PROXY http_proxy NO_PROXY no_proxy NODE_EXTRA_CA_CERTS NODE_TLS_REJECT_UNAUTHORIZED " +
	"CLAUDE_CODE_CLIENT_CERT CLAUDE_CODE_CLIENT_KEY")

func isOn(value string) bool { return value != "" && value != "0" && value != "false" }

// checkSettings returns an error if settings name the model API or the way to it:
// their variables go before those of the process, so the proxy would be passed by.
func checkSettings(p launch.Program) error {
	check := func(source string, src []byte) error {
		var settings struct {
			Env map[string]any `json:"env"`
		}
		if err := json.Unmarshal(src, &settings); err != nil {
			return fmt.Errorf("%s cannot be read: %w", source, err)
		}
		for _, name := range slices.Concat([]string{"ANTHROPIC_BASE_URL"}, providers, network) {
			if value, ok := settings.Env[name]; ok && (isOn(fmt.Sprint(value)) || strings.HasPrefix(name, "NODE_TLS")) {
				return hint.New("remove it there and set the variable in the shell", "env.%s in %s does not reach lcm", name, source)
			}
		}
		return nil
	}
	files, given := settingsFiles(p)
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

// settingsFiles returns the files from which Claude Code may take variables, and the
// values of --settings, each a file or JSON.
func settingsFiles(p launch.Program) (files, given []string) {
	config := Host{}.Settings(p.Machine)
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
	given, _ = launch.FlagValues(p.Args, "--settings")
	return files, given
}

// isSubcommand reports whether the arguments begin with a command that is no
// session, and does not take the flags of one.
func isSubcommand(args []string) bool {
	return len(args) > 0 && slices.Contains(strings.Fields("agents auth auto-mode config doctor install mcp migrate-installer plugin plugins setup-token update upgrade"), args[0])
}
