package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/hosts/setup"
	"github.com/lossless-context/lcm/internal/mcpserver"
	"github.com/lossless-context/lcm/internal/record/project"
	"github.com/lossless-context/lcm/internal/record/scope"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/settings/config"
)

// childGuard tells programs that lcm starts not to import lcm's own work.
const childGuard = "LCM_CHILD"

type mcpCommand struct {
	*program
	http        string
	origins     []string
	projectOnly bool
	dir         string
	plugin      string
}

func newMCP(p *program) *cobra.Command {
	cmd := &mcpCommand{program: p}
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the record to agents over MCP",
		Args: cobra.MatchAll(usage(cobra.NoArgs), refuse(
			func() bool { return cmd.http == "" && len(cmd.origins) > 0 }, "--allow-origin is for --http: over pipes there is only the program that started lcm"), listenFlag("http", &cmd.http)),
		RunE: func(c *cobra.Command, _ []string) error { return cmd.serveMCP(c.Context()) },
	}
	fl := c.Flags()
	fl.StringVar(&cmd.http, "http", "", "serve over HTTP on this port or address")
	fl.StringSliceVar(&cmd.origins, "allow-origin", nil, "web origin whose pages may ask, like https://app.example")
	fl.BoolVar(&cmd.projectOnly, "project-only", false, "answer from the project of the directory only")
	fl.StringVar(&cmd.dir, "dir", "", "directory that the agent works in (default: the current one)")
	fl.StringVar(&cmd.plugin, "plugin", "", "the host whose plugin starts this; it offers nothing if the host's settings start a server of lcm too")
	_ = fl.MarkHidden("plugin") // it exists
	return c
}

// doubled reports whether a plugin starts this server and the settings of its host another one.
func (cmd *mcpCommand) doubled() bool {
	h, err := all.Named[setup.Host](cmd.plugin)
	if err != nil {
		return false
	}
	m, err := machine()
	return err == nil && setup.HasServer(m, h)
}

// serveMCP opens the record and serves it until the client or the user ends it.
func (cmd *mcpCommand) serveMCP(ctx context.Context) error {
	cfg, err := cmd.settings()
	if err != nil {
		return err
	}
	if cmd.doubled() {
		return mcpserver.ServeNothing(ctx, cmd.in, cmd.out, mcpserver.Config{Version: version, Log: cmd.logger(cfg)})
	}
	child, open := os.Getenv(childGuard) != "", cmd.openWith
	if child {
		cfg.Recall.ExpansionModel, cfg.Agents.SubAgentModel = "", ""
	}
	if child && missingFile(cfg) {
		open = cmd.openMemory // `lcm doctor` lists the tools, and must not make a database
	}
	rec, err := open(ctx, cfg, toWrite)
	writable := err == nil
	if errors.Is(err, store.ErrReadOnly) || dbfile.Full(err) {
		cmd.note("the database cannot be written: what is stored is searched, and nothing is added")
		rec, err = cmd.openWith(ctx, cfg, toRead)
	}
	if err != nil {
		return err
	}
	defer rec.close(ctx)
	c, err := cmd.mcpConfig(rec)
	if err != nil {
		return err
	}
	if !child && !cmd.projectOnly {
		c.Team = cmd.mcpTeam(cfg)
	}
	if writable && !child {
		if c.Feed, err = newTranscripts(rec, cmd.logger(cfg)); err != nil {
			return err
		}
	}
	s, err := mcpserver.New(ctx, c)
	if err != nil {
		return err
	}
	defer s.Close()
	if cmd.http == "" {
		if isTerminal(cmd.out) {
			cmd.note("this speaks MCP to agents, which start it themselves: `lcm setup` connects them; Ctrl-D ends it")
		}
		return s.ServeStdio(ctx, cmd.in, cmd.out)
	}
	return cmd.serveMCPOverHTTP(ctx, s, cfg)
}

// releaseMemory drops the caches of a database and returns memory to the system: for
// a large record a search leaves 30 MB that the garbage collector would keep for the
// next one.
func (rec *openRecord) releaseMemory() {
	rec.db.ReleaseMemory()
	runtime.GC() // a second collection empties the pools
	debug.FreeOSMemory()
}

// mcpTeam returns the team's server that the settings name. Settings that are wrong must
// not keep an agent from the record of this machine.
func (cmd *mcpCommand) mcpTeam(cfg *config.Config) *mcpserver.Team {
	if cfg.Sync.URL == "" || cfg.Sync.Token == "" {
		return nil
	}
	client, err := cmd.teamClient(cfg)
	if err != nil {
		cmd.warn("there is no search of the team's record: %v", err)
		return nil
	}
	return &mcpserver.Team{URL: client.URL, Token: client.Token}
}

func (cmd *mcpCommand) mcpConfig(rec *openRecord) (mcpserver.Config, error) {
	c := mcpserver.Config{
		Engine: rec.engine, Dir: cmd.dir, Getenv: os.Getenv, Local: cmd.http == "", ProjectOnly: cmd.projectOnly, MaxTokens: rec.cfg.MCP.MaxResultTokens,
		Counter: rec.counter, Model: rec.cfg.Recall.ExpansionModel != "" || rec.cfg.Agents.SubAgentModel != "",
		Version: version, Log: cmd.logger(rec.cfg), Idle: rec.releaseMemory,
	}
	if cmd.http != "" || cmd.dir != "" {
		// Clients over HTTP have another environment, and --dir names the directory.
		c.Getenv = func(string) string { return "" }
	}
	if c.Dir == "" {
		var err error
		if c.Dir, err = os.Getwd(); err != nil {
			return c, fmt.Errorf("find the working directory: %w", err)
		}
	}
	if !cmd.projectOnly {
		return c, nil
	}
	here, err := project.Of(cmp.Or(mcpserver.ProjectDir("", c.Getenv), c.Dir))
	if err != nil {
		return c, err
	}
	c.Engine, err = newEngine(rec.cfg, scope.Narrow(rec.db, scope.OneProject(here)), rec.counter, cmd.logger(rec.cfg))
	return c, err
}

func (cmd *mcpCommand) serveMCPOverHTTP(ctx context.Context, s *mcpserver.Server, cfg *config.Config) error {
	o := mcpserver.HTTPOptions{Token: cfg.MCP.Token, Origins: cmd.origins}
	if o.Token == "" {
		o.Token = rand.Text()
		cmd.note("clients send this token with every request (Authorization: Bearer %s); LCM_MCP_TOKEN sets one that stays the same", o.Token)
	}
	addr, err := o.CheckAddress(cmd.http)
	if err != nil {
		return failed(exitUsage, "a token of your own (LCM_MCP_TOKEN) is a long random text, like the output of `openssl rand -hex 24`", "%w", err)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return failed(exitFailure, "choose another port with --http", "listen on %s: %w", addr, err)
	}
	cmd.note("serving MCP at http://%s%s", l.Addr(), mcpserver.Path)
	return s.ServeHTTP(ctx, l, o)
}
