package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/postgres"
	"github.com/lossless-context/lcm/internal/project"
	"github.com/lossless-context/lcm/internal/prose"
	"github.com/lossless-context/lcm/internal/proxy"
	"github.com/lossless-context/lcm/internal/proxy/launch"
	"github.com/lossless-context/lcm/internal/store"
)

// proxyFlags are the flags that `lcm run` and `lcm proxy` share.
type proxyFlags struct {
	budget       int
	observe      bool
	subscription bool
}

func (f *proxyFlags) register(c *cobra.Command) {
	fl := c.Flags()
	fl.IntVar(&f.budget, "budget", 0, "most tokens of a request (default: proxy.budget, else 60 % of the model's window, at most 150000)")
	fl.BoolVar(&f.observe, "observe", false, "record and measure, but change no request")
	fl.BoolVar(&f.subscription, "subscription", false, "also change requests with a subscription login: whether its terms allow that is not settled")
}

// minProxyBudget is the smallest budget: hosts send 20,000 tokens of instructions and
// tools before the first message.
const minProxyBudget = 30_000

func (f *proxyFlags) check(c *cobra.Command) error {
	if f.budget != 0 && f.budget < minProxyBudget {
		return wrongUsage(c, fmt.Errorf("--budget is at least %d tokens: agents send up to 20000 before the first message", minProxyBudget))
	}
	return nil
}

type runCommand struct {
	*program
	proxyFlags
}

func newRun(p *program) *cobra.Command {
	cmd := &runCommand{program: p}
	c := &cobra.Command{
		Use:   "run [flags] -- PROGRAM [ARGUMENTS]",
		Short: "Run an agent so that its context never ends",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return wrongUsage(c, errors.New("name the program to run, after --"))
			}
			return cmd.check(c)
		},
		RunE: func(c *cobra.Command, args []string) error { return cmd.run(c.Context(), args) },
	}
	c.Flags().SetInterspersed(false)
	cmd.register(c)
	return c
}

// childEnded carries the exit code of the program that was run.
type childEnded struct{ code int }

func (e *childEnded) Error() string { return fmt.Sprintf("the program ended with code %d", e.code) }

// run starts the proxy and the program, and waits for the program.
func (cmd *runCommand) run(ctx context.Context, args []string) error {
	host, err := launch.HostOf(args[0])
	if err != nil {
		return &failure{exitUsage, err}
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return failed(exitNotFound, "install it, or name its path", "%w", err)
	}
	// The user's Ctrl-C is for the program.
	ctx = context.WithoutCancel(ctx)
	return cmd.use(ctx, toWrite, func(rec *openRecord) error { return cmd.behind(ctx, rec, host, path, args[1:]) })
}

func (cmd *runCommand) behind(ctx context.Context, rec *openRecord, host, path string, args []string) error {
	p, err := cmd.describe(rec, host, path, args)
	if err != nil {
		return err
	}
	if _, typed, _ := postgres.TakePassword(cmd.database); typed != "" {
		cmd.warn("the agent does not get the password in --db: its lcm tools and hooks look for one in PGPASSFILE and in storage.database_path")
	}
	routes, err := p.Routes()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server, err := cmd.newServer(ctx, rec, cmd.proxyFlags, host, p.Dir, routes)
	if err != nil {
		return err
	}
	l, err := server.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, l) }()
	child, err := p.Child(server, routes)
	if err == nil {
		cmd.note("%s", started(host, cmd.proxyFlags, rec))
		err = cmd.wait(child)
	}
	cancel()
	closing, done := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer done()
	problem := errors.Join(<-served, server.Close(closing))
	cmd.note("%s", ended(server.Result()))
	if err != nil {
		if problem != nil {
			cmd.warn("%v", problem)
		}
		return err
	}
	return problem
}

// describe says how the program would be started without a proxy.
func (cmd *runCommand) describe(rec *openRecord, host, path string, args []string) (launch.Program, error) {
	m, err := machine()
	if err != nil {
		return launch.Program{}, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return launch.Program{}, fmt.Errorf("find the working directory: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return launch.Program{}, fmt.Errorf("find this program: %w", err)
	}
	database, err := absolute(rec.cfg.Storage.DatabasePath)
	if err != nil {
		return launch.Program{}, err
	}
	return launch.Program{Host: host, Path: path, Args: args, Machine: m, Dir: dir, Server: []string{self, "mcp", "--db", database}}, nil
}

// wait runs the program on this process's own streams. Signals of the terminal reach it
// directly; others are passed on.
func (cmd *runCommand) wait(child launch.Child) error {
	c := exec.Command(child.Path, child.Args...)
	c.Env = append(os.Environ(), child.Env...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, notIgnored(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)...)
	defer signal.Stop(signals)
	if err := c.Start(); err != nil {
		return failed(exitFailure, "see that it can be started", "start %s: %w", child.Path, err)
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case s := <-signals:
				if s == syscall.SIGTERM || s == syscall.SIGHUP {
					_ = c.Process.Signal(s) // it may have ended
				}
			case <-ended:
				return
			}
		}
	}()
	err := c.Wait()
	var failed *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &failed):
		return &childEnded{childCode(failed.ProcessState)}
	}
	return fmt.Errorf("wait for %s: %w", child.Path, err)
}

// childCode is the exit code of a program, as shells count: 128 and the number of the
// signal that ended it.
func childCode(s *os.ProcessState) int {
	if status, ok := s.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return s.ExitCode()
}

// newServer returns the proxy as the settings and flags want it.
func (p *program) newServer(ctx context.Context, rec *openRecord, f proxyFlags, host, dir string, routes map[string]*url.URL) (*proxy.Server, error) {
	engine, err := rec.foldingEngine(proxy.EngineOptions()...)
	if err != nil {
		return nil, err
	}
	feed, err := newFeed(rec.engine, rec.log)
	if err != nil {
		return nil, err
	}
	budget, err := budgets(rec, f.budget, dir)
	if err != nil {
		return nil, err
	}
	id, err := runID()
	if err != nil {
		return nil, err
	}
	return proxy.New(ctx, proxy.Config{
		Engine: engine, Feed: feed, Routes: routes, Budget: budget, Observe: f.observe, Subscription: f.subscription, Log: rec.log,
		CheckpointBytes: proxy.CheckpointBytes,
		Run:             proxy.Run{ID: id, Host: host, Started: time.Now(), Observe: f.observe},
	})
}

func runID() (string, error) {
	var b [6]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("make an id: %w", err)
	}
	return "run_" + hex.EncodeToString(b[:]), nil
}

// budgets returns the budget by model and project: of the flag, of the first pattern that
// fits, of the settings, or the default. Until the project of a session is known, that of
// the directory counts.
func budgets(rec *openRecord, flag int, dir string) (func(model string, window int, of store.Project) int, error) {
	if flag != 0 {
		return func(string, int, store.Project) int { return flag }, nil
	}
	here, err := project.Of(dir)
	if err != nil {
		here.Root = dir
	}
	type rule struct {
		pattern string
		tokens  int
	}
	var rules []rule
	for _, text := range rec.cfg.Proxy.Budgets {
		pattern, number, ok := strings.Cut(text, "=")
		tokens, err := strconv.Atoi(strings.TrimSpace(number))
		if !ok || err != nil || tokens < minProxyBudget {
			return nil, failed(exitConfig, "write PATTERN=TOKENS, with at least "+strconv.Itoa(minProxyBudget)+" tokens", "proxy.budgets: %q is not a budget", text)
		}
		rules = append(rules, rule{strings.TrimSpace(pattern), tokens})
	}
	return func(model string, window int, of store.Project) int {
		if of == (store.Project{}) {
			of = here
		}
		for _, r := range rules {
			for _, name := range []string{model, of.Root, of.Origin} {
				if name != "" && wildcard(r.pattern, name) {
					return r.tokens
				}
			}
		}
		if rec.cfg.Proxy.Budget != 0 {
			return max(rec.cfg.Proxy.Budget, minProxyBudget)
		}
		return proxy.DefaultBudget(model, window, of)
	}, nil
}

// wildcard reports whether a pattern, in which * stands for any characters, fits a
// name.
func wildcard(pattern, name string) bool {
	first, rest, more := strings.Cut(pattern, "*")
	if !more {
		return pattern == name
	}
	if !strings.HasPrefix(name, first) {
		return false
	}
	name = name[len(first):]
	parts := strings.Split(rest, "*")
	for _, part := range parts[:len(parts)-1] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return strings.HasSuffix(name, parts[len(parts)-1])
}

// started is the line at the beginning of a run.
func started(host string, f proxyFlags, rec *openRecord) string {
	budget := "60 % of the model's window, at most 150,000 tokens"
	switch {
	case f.budget != 0:
		budget = prose.Number(f.budget) + " tokens"
	case rec.cfg.Proxy.Budget != 0:
		budget = prose.Number(rec.cfg.Proxy.Budget) + " tokens"
	}
	if f.observe {
		return fmt.Sprintf("%s runs behind lcm, which observes and changes nothing; budget: %s", host, budget)
	}
	return fmt.Sprintf("%s runs behind lcm; budget of a request: %s", host, budget)
}

// ended is the line at the end of a run.
func ended(r proxy.Run) string {
	if r.Requests == 0 {
		return "no request of a session came through lcm: `lcm doctor` says more"
	}
	parts := []string{
		prose.Count(r.Requests, "request", "requests"),
		prose.Number(r.Changed) + " with summaries",
		"largest " + prose.Number(r.Largest) + " tokens",
	}
	if r.Plain > 0 && r.Cost > 0 {
		verb := "input cost"
		if r.Observe {
			verb = "input cost would have been"
		}
		parts = append(parts, fmt.Sprintf("%s %.2f of unproxied (estimated)", verb, r.Cost/r.Plain))
	}
	if n := r.PassedUnchanged(); n > 0 {
		parts = append(parts, prose.Number(n)+" passed unchanged after a failure (`lcm status --runs`)")
	}
	if r.Subscription > 0 {
		parts = append(parts, prose.Number(r.Subscription)+" unchanged because of a subscription login (--subscription)")
	}
	return strings.Join(append(parts, prose.Number(r.Verbatim)+" messages kept verbatim"), " · ")
}
