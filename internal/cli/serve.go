package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/kit/otlp"
	"github.com/lossless-context/lcm/internal/mcpserver"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/team/teamserver"
)

type serveCommand struct {
	*program
	http      string
	cert, key string
	foldEvery time.Duration
	drain     time.Duration
}

func newServe(p *program) *cobra.Command {
	cmd := &serveCommand{program: p}
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve one record to a team",
		Args:  cobra.MatchAll(usage(cobra.NoArgs), refuse(func() bool { return (cmd.cert == "") != (cmd.key == "") }, "--tls-cert and --tls-key belong together"), listenFlag("http", &cmd.http)),
		RunE:  func(c *cobra.Command, args []string) error { return p.runs(toWrite, cmd.serve)(c, args) },
	}
	fl := c.Flags()
	fl.StringVar(&cmd.http, "http", "127.0.0.1:8766", "port or address to listen on")
	fl.StringVar(&cmd.cert, "tls-cert", "", "file with the certificate, for TLS")
	fl.StringVar(&cmd.key, "tls-key", "", "file with its key")
	fl.DurationVar(&cmd.foldEvery, "fold-every", time.Minute, "how often to look for conversations to fold; 0 is never")
	fl.DurationVar(&cmd.drain, "drain", 20*time.Second, "how long requests may take at the end")
	return c
}

// serveMemory is the size of the heap from which the server collects garbage at once. Large
// pushes leave much of it.
const serveMemory = 192 << 20

// flushTime is how long the server waits at its end for the collector of traces.
const flushTime = 2 * time.Second

func (cmd *serveCommand) serve(ctx context.Context, rec *openRecord) error {
	if os.Getenv("GOMEMLIMIT") == "" {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(serveMemory))
	}
	log := cmd.logger(rec.cfg)
	folder, err := rec.foldingEngine()
	if err != nil {
		return err
	}
	c := teamserver.Config{
		Store: rec.engine.Store(), Engine: rec.engine, FoldEvery: cmd.foldEvery, Drain: cmd.drain, Log: log,
		NewEngine: func(s store.Store) (*lcm.Engine, error) { return newEngine(rec.cfg, s, rec.counter, log) },
		MCP: mcpserver.Config{
			MaxTokens: rec.cfg.MCP.MaxResultTokens, Counter: rec.counter, Version: version, Log: log,
			Model: rec.cfg.Recall.ExpansionModel != "" || rec.cfg.Agents.SubAgentModel != "",
		},
	}
	if cmd.foldEvery > 0 && foldAbove(rec.cfg) > 0 {
		c.Fold = func(ctx context.Context) (lcm.FoldResult, error) {
			return folder.FoldDue(ctx, lcm.FoldOptions{Time: backgroundTime})
		}
	}
	var cert *tls.Certificate
	if cmd.cert != "" {
		pair, err := tls.LoadX509KeyPair(cmd.cert, cmd.key)
		if err != nil {
			return failed(exitUsage, "--tls-cert and --tls-key are files in PEM", "read the certificate: %w", err)
		}
		cert = &pair
	}
	l, err := net.Listen("tcp", cmd.http)
	if err != nil {
		return failed(exitFailure, "choose another port with --http", "listen on %s: %w", cmd.http, err)
	}
	// The server outlives ctx to drain.
	cmd.lingers.Store(true)
	traces, err := otlp.Start(ctx, version, log)
	if err != nil {
		return errors.Join(&failure{exitConfig, err}, l.Close())
	}
	if traces != nil {
		c.Tracer = traces
		defer func() {
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
			defer cancel()
			traces.Stop(last)
		}()
	}
	s, err := teamserver.New(context.WithoutCancel(ctx), c)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer s.Close()
	scheme := "http"
	if cert != nil {
		scheme = "https"
	} else if tcp, ok := l.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		cmd.warn("tokens and messages are sent in plain text: use --tls-cert, or a proxy that speaks TLS, outside of a private network")
	}
	if all, err := rec.tokens().List(ctx); err == nil && len(all) == 0 {
		cmd.note("there is no token yet: `lcm team token add` makes one")
	}
	cmd.note("serving at %s://%s (process %d)", scheme, l.Addr(), os.Getpid())
	return s.Serve(ctx, l, cert)
}
