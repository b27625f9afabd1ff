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
	"github.com/lossless-context/lcm/internal/process"
	"github.com/lossless-context/lcm/internal/project"
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
	fl.IntVar(&f.budget, "budget", 0, "most tokens of a request, at least 30000 (default: proxy.budget, else 60 % of the model's window, at most 150000)")
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
		for _, text := range p.Warnings() {
			cmd.warn("%s", text)
		}
		cmd.note("%s", started(host, cmd.proxyFlags, rec, routes))
		err = cmd.wait(child, hasTerminal)
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

// groupGrace is how long the program has to end after a signal that may have reached it too.
const groupGrace = 500 * time.Millisecond

// wait runs the program on this process's own streams. A terminal sends Ctrl-C and Ctrl-\
// to the program directly, and a second one would mean something else to it. So these two
// are passed on only if no terminal can have sent them, and the program did not end by
// itself: the sender may have meant the whole process group. Other signals are passed on.
func (cmd *runCommand) wait(child launch.Child, terminal func() bool) error {
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
				if s == os.Interrupt || s == syscall.SIGQUIT {
					if terminal() {
						continue
					}
					select {
					case <-time.After(groupGrace):
					case <-ended:
						return
					}
				}
				_ = c.Process.Signal(s) // it may have ended
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
		Run:             proxy.Run{ID: id, Host: host, Started: time.Now(), Observe: f.observe, Process: process.Owner(), Machine: machineName(rec.cfg)},
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
	tooSmall := func(given string) error {
		return failed(exitConfig, "agents send up to 20000 tokens before the first message: use at least "+strconv.Itoa(minProxyBudget), "%s is not a budget", given)
	}
	if n := rec.cfg.Proxy.Budget; n != 0 && n < minProxyBudget {
		return nil, tooSmall(fmt.Sprintf("proxy.budget: %d", n))
	}
	var rules []rule
	for _, text := range rec.cfg.Proxy.Budgets {
		pattern, number, ok := strings.Cut(text, "=")
		tokens, err := strconv.Atoi(strings.TrimSpace(number))
		switch {
		case !ok || err != nil:
			return nil, failed(exitConfig, "write PATTERN=TOKENS", "proxy.budgets: %q is not a budget", text)
		case tokens < minProxyBudget:
			return nil, tooSmall(fmt.Sprintf("proxy.budgets: %q", text))
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
			return rec.cfg.Proxy.Budget
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
