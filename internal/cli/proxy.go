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
)

type proxyCommand struct {
	*program
	proxyFlags
	listen   string
	upstream []string
}

func newProxy(p *program) *cobra.Command {
	cmd := &proxyCommand{program: p}
	c := &cobra.Command{
		Use:   "proxy",
		Short: "Serve agents that take a base URL, as lcm run does",
		Args:  usage(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := cmd.check(c); err != nil {
				return err
			}
			routes, err := cmd.routes()
			if err != nil {
				return wrongUsage(c, err)
			}
			return cmd.use(c.Context(), toWrite, func(rec *openRecord) error { return cmd.serve(c.Context(), rec, routes) })
		},
	}
	cmd.register(c)
	c.Flags().StringVar(&cmd.listen, "listen", "127.0.0.1:0", "loopback address to listen on")
	c.Flags().StringSliceVar(&cmd.upstream, "upstream", nil, "another model API, as NAME=URL")
	return c
}

// routes are the model APIs by name.
func (cmd *proxyCommand) routes() (map[string]*url.URL, error) {
	routes := map[string]*url.URL{}
	for _, text := range append([]string{
		"anthropic=https://api.anthropic.com", "openai=https://api.openai.com/v1", "chatgpt=https://chatgpt.com/backend-api/codex",
	}, cmd.upstream...) {
		name, base, _ := strings.Cut(text, "=")
		u, err := url.Parse(base)
		if err != nil || name == "" || strings.Contains(name, "/") || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fmt.Errorf("--upstream is NAME=URL, not %q", text)
		}
		routes[name] = u
	}
	return routes, nil
}

func (cmd *proxyCommand) serve(ctx context.Context, rec *openRecord, routes map[string]*url.URL) error {
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	server, err := cmd.newServer(context.WithoutCancel(ctx), rec, cmd.proxyFlags, "proxy", dir, routes)
	if err != nil {
		return err
	}
	l, err := server.Listen(cmd.listen)
	if err != nil {
		return failed(exitFailure, "choose another loopback address with --listen", "%w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(routes)) {
		cmd.printf("%s\t%s\n", name, server.URL(name))
	}
	cmd.note("Ctrl-C ends it")
	err = server.Serve(ctx, l)
	closing, done := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer done()
	err = errors.Join(err, server.Close(closing))
	cmd.note("%s", ended(server.Result()))
	return err
}
