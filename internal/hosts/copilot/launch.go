package copilot

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts/launch"
	"github.com/lossless-context/lcm/internal/kit/hint"
)

// The variables with which the program uses a model API of the user's own.
const (
	baseEnv   = "COPILOT_PROVIDER_BASE_URL"
	windowEnv = "COPILOT_PROVIDER_MAX_PROMPT_TOKENS"
)

// Session implements [launch.Host]: no header names it.
func (Host) Session(http.Header) string { return "" }

// Prepare implements [launch.Host]. Without a base URL of the user's own, the program finds
// its model API through a login at GitHub.
func (Host) Prepare(p launch.Program) (s launch.Start, err error) {
	base := p.Machine.Env(baseEnv, "")
	if base == "" {
		return s, hint.New("set "+baseEnv+" to the model API that Copilot CLI shall use; docs/hosts/RUN.md says more",
			"%s is not set, and lcm does not know GitHub's own model API", baseEnv)
	}
	for name, known := range map[string]string{"COPILOT_PROVIDER_TYPE": "openai anthropic", "COPILOT_PROVIDER_TRANSPORT": "http"} {
		if value := p.Machine.Env(name, ""); value != "" && !slices.Contains(strings.Fields(known), value) {
			return s, fmt.Errorf("%s is %q, which lcm does not know", name, value)
		}
	}
	api, err := launch.ParseBase(baseEnv, base)
	if err != nil {
		return s, err
	}
	s.Routes, s.ByCalls = map[string]*url.URL{Name: api}, true
	if window, err := strconv.Atoi(p.Machine.Env(windowEnv, "")); err == nil {
		s.Windows = map[string]int{"": window}
	}
	s.Child = func(x launch.Proxy) (launch.Child, error) {
		c := launch.Child{Args: p.Args, Env: []string{baseEnv + "=" + x.URL(Name)}}
		if !p.Observe { // it compacts by its own estimate of the history, not by what the API counts
			c.Env = append(c.Env, windowEnv+"=1000000000")
		}
		if len(p.Server) == 0 || len(p.Args) > 0 && slices.Contains(subcommands, p.Args[0]) {
			return c, nil
		}
		server := map[string]any{"type": "local", "command": p.Server[0], "args": p.Server[1:], "tools": []string{"*"}}
		config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"lcm": server}})
		own := []string{"--additional-mcp-config=" + string(config)}
		for _, tool := range p.Allow {
			own = append(own, "--allow-tool=lcm("+tool+")")
		}
		c.Args = append(own, p.Args...)
		return c, err
	}
	return s, nil
}

// subcommands are the commands of the program that are no session.
var subcommands = strings.Fields("app completion config help init instruction login lsp mcp memories plugin sandbox sessions skill update version workflow")
