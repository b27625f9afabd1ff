package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/hosts/launch"
	"github.com/lossless-context/lcm/internal/proxy"
)

// proxyHost is the name of `lcm run --listen` in the record of runs.
const proxyHost = "proxy"

// listenRoutes are the model APIs by name: those of --upstream, of the variables that clients
// know too, or the vendors' own.
func (cmd *runCommand) listenRoutes(c *cobra.Command) (map[string]*url.URL, error) {
	routes := map[string]*url.URL{}
	for _, r := range []struct{ name, variable, base string }{
		{"anthropic", "ANTHROPIC_BASE_URL", launch.AnthropicAPI},
		{"openai", "OPENAI_BASE_URL", launch.OpenAIAPI},
		{"chatgpt", "", launch.ChatGPTAPI},
	} {
		source, base := "the address of "+r.name, r.base
		if v := os.Getenv(r.variable); r.variable != "" && v != "" {
			source, base = r.variable, v
		}
		u, err := launch.ParseBase(source, base)
		if err != nil && !cmd.replaces(r.name) {
			return nil, failed(exitConfig, "unset it, or name the API with --upstream "+r.name+"=URL", "%w", err)
		}
		if err == nil && proxy.IsOwnURL(u) && !cmd.replaces(r.name) {
			return nil, failed(exitConfig, "unset it, or name the API with --upstream "+r.name+"=URL", "%s is the address of an lcm proxy, which cannot be its own model API", source)
		}
		routes[r.name] = u
	}
	for _, text := range cmd.upstream {
		name, base, _ := strings.Cut(text, "=")
		u, err := url.Parse(base)
		if err != nil || name == "" || strings.Contains(name, "/") || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, wrongUsage(c, fmt.Errorf("--upstream is NAME=URL, not %q", text))
		}
		routes[name] = u
	}
	return routes, nil
}

// replaces reports whether --upstream names an API.
func (cmd *runCommand) replaces(name string) bool {
	return slices.ContainsFunc(cmd.upstream, func(text string) bool { return strings.HasPrefix(text, name+"=") })
}

// serveProxy serves the proxy to agents that are started elsewhere.
func (cmd *runCommand) serveProxy(c *cobra.Command) error {
	routes, err := cmd.listenRoutes(c)
	if err != nil {
		return err
	}
	return cmd.use(c.Context(), toWrite, func(rec *openRecord) error { return cmd.serve(c.Context(), rec, routes) })
}

func (cmd *runCommand) serve(ctx context.Context, rec *openRecord, routes map[string]*url.URL) error {
	server, err := cmd.newServer(context.WithoutCancel(ctx), rec, proxyHost, routes)
	if err != nil {
		return err
	}
	l, err := server.Listen(cmd.listen)
	if err != nil {
		return failed(exitFailure, "choose another loopback address with --listen", "%w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(routes)) {
		cmd.printf("%s\t%s\t%s\n", name, server.URL(name), routes[name].Redacted())
	}
	cmd.note("each line is a name, the base URL for the client, and the model API behind it")
	cmd.note("clients append to the base URL as they do to the API's own: /v1/messages to anthropic's, /responses or /chat/completions to openai's; add no /v1 yourself")
	cmd.note("lcm folds for Claude Code, Codex and opencode, whose requests name their session; requests of other clients pass unchanged")
	cmd.note("`lcm setup` connects the agent to the lcm tools, with which the model looks into summaries")
	cmd.note("Ctrl-C ends it")
	err = server.Serve(ctx, l)
	closing, done := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer done()
	err = errors.Join(err, server.Close(closing))
	cmd.note("%s", ended(server.Result()))
	return err
}
