package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/engine"
	"github.com/lossless-context/lcm/internal/kit/process"
	"github.com/lossless-context/lcm/internal/mcpserver"
	"github.com/lossless-context/lcm/internal/proxy"
	"github.com/lossless-context/lcm/internal/settings/config"
)

type engineCommand struct{ *program }

func newEngineCommand(p *program) *cobra.Command {
	cmd := &engineCommand{program: p}
	c := &cobra.Command{
		Use:    "engine",
		Short:  "Keep the context of an agent that asks for it",
		Hidden: true, // agents' plugins start it
		Args:   usage(cobra.NoArgs),
		RunE:   func(c *cobra.Command, _ []string) error { return cmd.serve(c.Context()) },
	}
	c.Flags().String("plugin", "", "the host whose plugin starts this")
	_ = c.Flags().MarkHidden("plugin") // it exists
	return c
}

// serve answers an adapter until its input ends. It opens the record when a request needs it, so
// that a database that is locked does not keep it from starting.
func (cmd *engineCommand) serve(ctx context.Context) error {
	cfg, err := cmd.settings()
	if err != nil {
		return err
	}
	id, err := runID()
	if err != nil {
		return err
	}
	if isTerminal(cmd.out) {
		cmd.note("this speaks with an adapter in an agent, which starts it itself (docs/ENGINE.md); Ctrl-D ends it")
	}
	return engine.Serve(ctx, cmd.in, cmd.out, engine.Config{
		Open:    func(ctx context.Context) (engine.Record, error) { return cmd.open(ctx, cfg) },
		Run:     proxy.Run{ID: id, Started: time.Now(), Process: process.Owner(), Machine: machineName(cfg)},
		Version: version, ShortenAbove: cfg.Tools.ShortenAbove, Log: cmd.logger(cfg),
	})
}

// open opens the record for an adapter.
func (cmd *engineCommand) open(ctx context.Context, cfg *config.Config) (engine.Record, error) {
	rec, err := cmd.openWith(ctx, cfg, toWrite)
	if err != nil {
		return engine.Record{}, err
	}
	r := engine.Record{Engine: rec.engine, Idle: rec.releaseMemory, Close: rec.close}
	if r.Folds, err = rec.foldingEngine(proxy.EngineOptions()...); err == nil {
		r.Feed, err = newFeed(rec.engine, rec.log)
	}
	if err == nil {
		r.Tools, err = cmd.tools(ctx, rec)
	}
	if err != nil {
		err = errors.Join(err, rec.close(ctx))
	}
	return r, err
}

// tools returns the tools as `lcm mcp` answers them. The engine itself reads the transcript.
func (cmd *engineCommand) tools(ctx context.Context, rec *openRecord) ([]mcpserver.Tool, error) {
	c, err := (&mcpCommand{program: cmd.program}).mcpConfig(rec)
	if err != nil {
		return nil, err
	}
	c.Team, c.Idle = (&mcpCommand{program: cmd.program}).mcpTeam(rec.cfg), nil
	s, err := mcpserver.New(ctx, c)
	if err != nil {
		return nil, err
	}
	return s.Tools(), nil
}
