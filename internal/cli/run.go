package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/hosts/launch"
	"github.com/lossless-context/lcm/internal/hosts/setup"
	"github.com/lossless-context/lcm/internal/kit/process"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/kit/toolname"
	"github.com/lossless-context/lcm/internal/proxy"
	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/sqlite/dbfile"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/settings/config"
	"github.com/lossless-context/lcm/tools"
)

// minProxyBudget is the smallest budget: hosts send 20,000 tokens of instructions and
// tools before the first message.
const minProxyBudget = 30_000

type runCommand struct {
	*program
	budget       int
	observe      bool
	subscription bool
	noAllow      bool
	plain        bool
	listen       string
	upstream     []string
	list         bool
}

func newRun(p *program) *cobra.Command {
	cmd := &runCommand{program: p}
	c := &cobra.Command{
		Use:                   "run [FLAGS] -- PROGRAM [ARGS]",
		Short:                 "Run an agent through the context proxy",
		DisableFlagsInUseLine: true,
		Args:                  cobra.MatchAll(cmd.check, exclude("list", "listen", "plain"), listenFlag("listen", &cmd.listen), cmd.onLoopback),
		RunE: traced(p, func(c *cobra.Command, args []string) error {
			switch {
			case cmd.list:
				return cmd.runs(toRead, cmd.printRuns)(c, nil)
			case cmd.listen != "":
				return cmd.serveProxy(c)
			}
			return cmd.run(c.Context(), args)
		}),
	}
	fl := c.Flags()
	fl.SetInterspersed(false)
	fl.IntVar(&cmd.budget, "budget", 0, "most tokens of a request, at least 30000 (default: proxy.budget, else 60 % of the model's window or more, at most 150000)")
	fl.BoolVar(&cmd.observe, "observe", false, "record and measure, but change no request")
	fl.BoolVar(&cmd.subscription, "subscription", false, "also change requests with a subscription login")
	fl.BoolVar(&cmd.noAllow, "no-allow", false, "let the agent ask before it calls lcm's tools, as its settings say")
	fl.BoolVar(&cmd.plain, "plain", false, "start the agent without lcm if the database is not ready within 3 s, else it waits")
	fl.StringVar(&cmd.listen, "listen", "", "serve the proxy on this `port` or loopback address, 0 for any")
	fl.StringSliceVar(&cmd.upstream, "upstream", nil, "with --listen: another model API, as `NAME=URL`")
	fl.BoolVar(&cmd.list, "list", false, "list the runs so far")
	return cmd.jsonFlag(c)
}

func (cmd *runCommand) check(c *cobra.Command, args []string) error {
	alone := cmd.list || cmd.listen != ""
	switch {
	case !alone && len(args) == 0:
		return wrongUsage(c, errors.New("name the program to run, after --"))
	case alone && len(args) > 0:
		return wrongUsage(c, errors.New("--listen and --list start no program"))
	case cmd.listen == "" && len(cmd.upstream) > 0:
		return wrongUsage(c, errors.New("--upstream is for --listen"))
	case cmd.json && !cmd.list:
		return wrongUsage(c, errors.New("--json is for --list"))
	case cmd.budget != 0 && cmd.budget < minProxyBudget:
		return wrongUsage(c, fmt.Errorf("--budget is at least %d tokens: agents send up to 20000 before the first message", minProxyBudget))
	}
	return nil
}

// onLoopback refuses to serve the proxy to other machines.
func (cmd *runCommand) onLoopback(c *cobra.Command, _ []string) error {
	host, _, err := net.SplitHostPort(cmd.listen)
	if ip := net.ParseIP(host); err == nil && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return wrongUsage(c, errors.New("the proxy listens on loopback only: --listen takes a port, or an address like 127.0.0.1:8911"))
	}
	return nil
}

// childEnded carries the exit code of the program that was run.
type childEnded struct{ code int }

func (e *childEnded) Error() string { return fmt.Sprintf("the program ended with code %d", e.code) }

// run starts the program behind the proxy and waits for it. Whatever is wrong with lcm's
// own surroundings, the program starts, if need be without the proxy, and its exit code is
// that of the command. Only for a database that is not ready it waits: without lcm a session
// that was folded does not fit the model's window.
func (cmd *runCommand) run(ctx context.Context, args []string) error {
	agent, err := launch.HostOf(args[0], all.Those[launch.Host]())
	if err != nil {
		return &failure{exitUsage, err}
	}
	host := agent.About().Name
	path, err := exec.LookPath(args[0])
	if err != nil {
		return failed(exitNotFound, "install it, or name its path", "%w", err)
	}
	cmd.err = &patientWriter{to: cmd.err}
	// Else a line to a stderr that was closed would end lcm. The agent starts with the default.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	logged := &heldLog{to: cmd.err}
	cmd.logTo = logged
	p, err := cmd.prepareWithin(ctx, startPatience, agent, path, args[1:])
	if ctx.Err() != nil || !cmd.plain && (errors.Is(err, errNotReady) || dbfile.Busy(err)) {
		return cmp.Or(ctx.Err(), err)
	}
	if err != nil {
		cmd.withoutProxy(host, err)
		return cmd.wait(ctx, launch.Child{Path: path, Args: args[1:]}, hasTerminal)
	}
	if _, typed, _ := postgres.TakePassword(cmd.database); typed != "" {
		cmd.warn("the agent does not get the password in --db: its lcm tools and hooks look for one in PGPASSFILE and in storage.database_path")
	}
	cmd.note("%s", cmd.started(host, p.rec, p.routes))
	logged.hold()
	err = cmd.wait(ctx, p.child, hasTerminal)
	for _, file := range p.child.Files {
		_ = os.Remove(file) // it is in a directory for temporary files
	}
	logged.release()
	cmd.end(ctx, p)
	if errors.As(err, new(*notStarted)) && !errors.Is(err, fs.ErrNotExist) { // lcm may have taken what it needs, such as open files
		cmd.withoutProxy(host, err)
		return cmd.wait(ctx, launch.Child{Path: path, Args: args[1:]}, hasTerminal)
	}
	return err
}

// notStarted is the error of a program that could not be started.
type notStarted struct{ error }

func (e *notStarted) Unwrap() error { return e.error }

// withoutProxy says why an agent is started without the proxy.
func (cmd *runCommand) withoutProxy(host string, err error) {
	message, advice := split(err)
	hide := cmd.hide
	if hide == nil {
		hide = hideShapes
	}
	cmd.warn("%s starts without lcm: %s", host, safetext.Line(hide(plain(message))))
	cmd.hint(advice)
}

// hint prints what to do about a warning.
func (cmd *runCommand) hint(advice string) {
	if advice != "" {
		fmt.Fprintln(cmd.err, cmd.mark(dim, "hint:"), safetext.Line(advice))
	}
}

// How long the agent waits for lcm to be ready, and from when on that is said (and --plain ends
// it); how long a database that cannot be written may hold up the end of a run, and how long
// that end may take after SIGTERM: service managers send SIGKILL ten seconds later.
const (
	startPatience = time.Minute
	plainPatience = 3 * time.Second
	endPatience   = 2 * time.Second
	termPatience  = 7 * time.Second
)

// preparedRun is an agent and the proxy that waits for it.
type preparedRun struct {
	rec    *openRecord
	server *proxy.Server
	routes map[string]*url.URL
	child  launch.Child
	cancel context.CancelFunc // stops the proxy
	served chan error
}

// errNotReady says that a database took too long.
var errNotReady = errors.New("the database was not ready")

// prepareWithin is prepare with a limit: a database on a server may not answer at all.
func (cmd *runCommand) prepareWithin(ctx context.Context, limit time.Duration, agent launch.Host, path string, args []string) (*preparedRun, error) {
	type result struct {
		run *preparedRun
		err error
	}
	cfg, err := cmd.settings()
	if err != nil {
		return nil, err
	}
	done := make(chan result, 1)
	running, cancel := context.WithCancel(context.WithoutCancel(ctx)) // the user's Ctrl-C is for the program
	go func() {
		p, err := cmd.prepare(running, cfg, agent, path, args)
		done <- result{p, err}
	}()
	host, word := agent.About().Name, time.After(plainPatience)
	if cmd.plain {
		limit, word = plainPatience, nil
	}
	for late := time.After(limit); ; {
		select {
		case r := <-done:
			if err = r.err; err == nil {
				r.run.cancel = cancel
				return r.run, nil
			}
		case <-word:
			cmd.note("%s waits for lcm's database, which is not ready; `lcm run --plain` starts it without lcm", host)
			continue
		case <-ctx.Done():
			err = ctx.Err()
		case <-late:
			err = failed(exitDatabase, "another process may have locked it: `lcm doctor` says more; `lcm run --plain` starts the agent without lcm", "%w within %s", errNotReady, limit)
		}
		cancel()
		return nil, err
	}
}

// prepare opens the database and starts the proxy. ctx is that of the proxy.
func (cmd *runCommand) prepare(ctx context.Context, cfg *config.Config, agent launch.Host, path string, args []string) (_ *preparedRun, err error) {
	described, err := cmd.describe(cfg, agent, path, args)
	if err != nil {
		return nil, err
	}
	start, err := launch.Prepare(agent, described)
	if err != nil {
		return nil, err
	}
	rec, err := cmd.openWith(ctx, cfg, toWrite)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, rec.close(ctx))
		}
	}()
	for _, err := range rec.db.Messages(ctx, store.MessageQuery{Conversation: 1, Limit: 1}) {
		if err != nil { // a table is missing, or its pages are damaged
			return nil, err
		}
	}
	p := &preparedRun{rec: rec, routes: start.Routes, served: make(chan error, 1)}
	if p.server, err = cmd.newServer(ctx, rec, agent.About().Name, p.routes); err != nil {
		return nil, err
	}
	p.server.Windows, p.server.ByCalls = start.Windows, start.ByCalls
	l, err := p.server.Listen("127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() { p.served <- p.server.Serve(ctx, l) }()
	p.child, err = start.Child(p.server)
	return p, err
}

// end brings the record up to date after the agent has ended. A database that another
// process has locked does not hold it up: the next run or import reads the transcripts.
func (cmd *runCommand) end(ctx context.Context, p *preparedRun) {
	closing, done := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer done()
	defer context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), errTerminated) { // not the Ctrl-C of the agent
			time.AfterFunc(termPatience, done)
		}
	})()
	p.cancel()
	problem := <-p.served
	stopped := make(chan error, 1)
	go func() {
		soon, cancel := context.WithTimeout(closing, endPatience)
		defer cancel()
		stopped <- p.server.Stop(soon)
	}()
	var locked error
	select {
	case locked = <-stopped:
	case <-closing.Done():
		locked = closing.Err()
	case <-time.After(endPatience):
		locked = fmt.Errorf("the database was not ready within %s", endPatience)
	}
	if locked == nil {
		problem = errors.Join(problem, p.server.Close(closing), p.rec.close(closing))
	}
	cmd.note("%s", ended(p.server.Result()))
	if problem = errors.Join(problem, locked); problem != nil && closing.Err() == nil {
		message, advice := split(problem)
		cmd.warn("the record could not be brought up to date, `lcm import` does it: %s", shortened(plain(message)))
		cmd.hint(advice)
	}
}

// describe says how the program would be started without a proxy.
func (cmd *runCommand) describe(cfg *config.Config, agent launch.Host, path string, args []string) (launch.Program, error) {
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
	database, err := absolute(cfg.Storage.DatabasePath)
	if err != nil {
		return launch.Program{}, err
	}
	p := launch.Program{Path: path, Args: args, Machine: m, Dir: dir, Server: []string{self, "mcp", "--db", database}, Observe: cmd.observe}
	if !cmd.noAllow {
		// Without its tools a folded session is not safe. They read the project only, and
		// none that may call a model is among them.
		p.Server = append(p.Server, "--project-only")
		mayCall := cfg.Recall.ExpansionModel != "" || cfg.Agents.SubAgentModel != ""
		p.Allow = slices.DeleteFunc(append(toolname.Agent(), tools.ExpandName), func(tool string) bool { return mayCall && tool == toolname.ExpandQuery })
	} else if h, ok := agent.(setup.Host); ok && setup.HasServer(m, h) {
		p.Server = nil // the one in its settings goes first
	}
	return p, nil
}

// groupGrace is how long the program has to end after a signal that may have reached it too.
const groupGrace = 500 * time.Millisecond

// wait runs the program on this process's own streams. A terminal sends Ctrl-C and Ctrl-\
// to the program directly, and a second one would mean something else to it. So these two
// are passed on only if no terminal can have sent them, and the program did not end by
// itself: the sender may have meant the whole process group. Other signals are passed on.
func (cmd *runCommand) wait(ctx context.Context, child launch.Child, terminal func() bool) error {
	c := exec.Command(child.Path, child.Args...)
	c.Env = append(os.Environ(), child.Env...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, notIgnored(append(userSignals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)...)...)
	defer signal.Stop(signals)
	if ctx.Err() != nil {
		return ctx.Err() // a signal arrived before the program was started
	}
	if err := c.Start(); err != nil {
		return &notStarted{failed(exitFailure, "see that it can be started", "start %s: %w", child.Path, err)}
	}
	cmd.lingers.Store(true)
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
func (cmd *runCommand) newServer(ctx context.Context, rec *openRecord, host string, routes map[string]*url.URL) (*proxy.Server, error) {
	engine, err := rec.foldingEngine(proxy.EngineOptions()...)
	if err != nil {
		return nil, err
	}
	feed, err := newFeed(rec.engine, rec.log)
	if err != nil {
		return nil, err
	}
	var budget func(string, int, store.Project) int // the default
	if n := cmp.Or(cmd.budget, rec.cfg.Proxy.Budget); n >= minProxyBudget {
		budget = func(string, int, store.Project) int { return n }
	} else if n != 0 {
		return nil, failed(exitConfig, fmt.Sprintf("agents send up to 20000 tokens before the first message: use at least %d", minProxyBudget), "proxy.budget: %d is not a budget", n)
	}
	id, err := runID()
	if err != nil {
		return nil, err
	}
	certificates, err := launch.TLS(os.Getenv)
	if err != nil {
		return nil, err
	}
	return proxy.New(ctx, proxy.Config{
		Engine: engine, Feed: feed, Routes: routes, Budget: budget, Observe: cmd.observe, Subscription: cmd.subscription, Log: rec.log,
		CheckpointBytes: proxy.CheckpointBytes, TLS: certificates, Tell: func(text string) { cmd.note("%s", text) },
		Run: proxy.Run{ID: id, Host: host, Started: time.Now(), Observe: cmd.observe, Process: process.Owner(), Machine: machineName(rec.cfg)},
	})
}

func runID() (string, error) {
	var b [6]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("make an id: %w", err)
	}
	return "run_" + hex.EncodeToString(b[:]), nil
}
