package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/toolname"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/tools"
)

// Finding is a result of Check about one host.
type Finding struct {
	Code     string
	Severity string // SeverityProblem, SeverityWarning or SeverityNote
	Host     string // its title
	Message  string
	Fix      string // advice for the user
}

// Unchecked is the code of a finding whose Host names something that there was no time to
// check.
const Unchecked = "unchecked"

// The severities.
const (
	SeverityProblem = "problem" // the connection does not work
	SeverityWarning = "warning" // it may not work, or not completely
	SeverityNote    = "note"    // information
)

// Feed is the part of [hosts.Feed] that a check needs.
type Feed interface {
	Recent(ctx context.Context, f hosts.Filter) ([]hosts.Transcript, error)
	Lag(ctx context.Context, t hosts.Transcript) (hosts.Lag, error)
}

// Inspection is the input of Check.
type Inspection struct {
	Machine hosts.Machine
	Hosts   []Host
	// State and Feed are nil if there is no database.
	State store.State
	Feed  Feed
	// Tools starts an MCP server and lists its tools ([ListTools]). If it is nil
	// the tools are not checked.
	Tools func(ctx context.Context, command []string) ([]string, error)
	Clock func() time.Time
	// Self is the path of the running program. If it is "" the programs in the
	// settings are not compared with it.
	Self string
}

// wanted are the tools that an agent must have.
var wanted = append(toolname.Agent(), tools.ExpandName)

// Check checks the connection of every host on the machine: settings, program, hooks, record
// and tools. When ctx ends it says what it has not checked ([Unchecked]), and nothing else
// about it.
func Check(ctx context.Context, in Inspection) []Finding {
	var all []Finding
	var fired []hosts.Fired
	if in.State != nil {
		var err error
		if fired, err = hosts.Noted(ctx, in.State); err != nil {
			in.State = nil
		}
		if err != nil && ctx.Err() == nil {
			all = append(all, Finding{Code: "hooks-unknown", Severity: SeverityWarning, Message: err.Error(), Fix: "`lcm doctor` says more about the database"})
		}
	}
	for _, h := range in.Hosts {
		if _, err := os.Stat(h.Settings(in.Machine)); err != nil {
			continue // the program was never started
		}
		c := check{Inspection: in, About: h.About(), host: h, fired: slices.DeleteFunc(slices.Clone(fired), func(f hosts.Fired) bool { return f.Host != h.About().Name })}
		c.run(ctx)
		all = append(all, c.found...)
	}
	return all
}

// configured holds the commands of lcm in a host's settings.
type configured struct {
	server []string   // of the MCP server
	hooks  [][]string // or only their programs
	engine [][]string // of the context engine, whose adapter has the tools
	short  bool       // a hook has less than a second
	status [][]string // the program of the status line
}

// readSettings reads lcm's entries from the settings of a host. A missing file is empty.
func readSettings(m hosts.Machine, h Host) (c configured, err error) {
	for _, e := range h.Entries(h.Settings(m), Options{Machine: m}) {
		if e.commands == nil {
			continue
		}
		src, err := os.ReadFile(e.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var found [][]string
		if err == nil {
			found, err = e.commands(src)
		}
		if err != nil {
			return c, fmt.Errorf("%s: %w", e.path, err)
		}
		switch {
		case e.server:
			c.server = found[0]
		case e.what == statusName:
			c.status = found
		default:
			c.engine = slices.DeleteFunc(slices.Clone(found), func(command []string) bool { return !isEngine(command) })
			c.hooks, c.short = slices.DeleteFunc(found, isEngine), e.short != nil && e.short(src)
		}
	}
	return c, nil
}

func isEngine(command []string) bool { return len(command) > 1 && command[1] == "engine" }

// Connected lists the hosts on the machine, and those of them that start lcm.
func Connected(m hosts.Machine, all []Host) (connected, installed []string) {
	for _, h := range all {
		if _, err := os.Stat(h.Settings(m)); err != nil {
			continue
		}
		installed = append(installed, h.About().Name)
		if now, err := readSettings(m, h); err == nil && (len(now.server) > 0 || len(now.hooks) > 0 || len(now.engine) > 0) || pluginOf(m, h) {
			connected = append(connected, h.About().Name)
		}
	}
	return connected, installed
}

// HasServer reports whether the settings of a host start lcm's MCP server.
func HasServer(m hosts.Machine, h Host) bool {
	now, err := readSettings(m, h)
	return err == nil && len(now.server) > 0
}

// HasHooks reports whether the settings of a host start lcm's hooks.
func HasHooks(m hosts.Machine, h Host) bool {
	now, err := readSettings(m, h)
	return err == nil && len(now.hooks) > 0
}

// check checks one host.
type check struct {
	Inspection
	hosts.About
	host  Host
	fired []hosts.Fired
	found []Finding
	good  []string // the checks that passed
}

func (c *check) add(severity, code, fix, format string, args ...any) {
	c.found = append(c.found, Finding{Code: code, Severity: severity, Host: c.Title, Message: fmt.Sprintf(format, args...), Fix: fix})
}

func (c *check) run(ctx context.Context) {
	setup := fmt.Sprintf("`lcm setup %s`", c.Name)
	now, err := readSettings(c.Machine, c.host)
	plugin := pluginOf(c.Machine, c.host)
	switch {
	case err != nil:
		c.add(SeverityProblem, "host-settings", "repair the file, then "+setup, "its settings cannot be read: %v", err)
		return
	case plugin && len(now.server) == 0 && len(now.hooks) == 0:
		c.good = append(c.good, "connected by its plugin")
	case plugin:
		c.add(SeverityNote, "host-plugin", "`lcm setup --remove "+c.Name+"` leaves the plugin", "it is connected by its settings and by its plugin, of which nothing is used that the settings have")
	case len(now.server) == 0 && len(now.hooks) == 0 && len(now.engine) > 0:
		c.engine(strings.Trim(setup, "`"))
	case len(now.server) == 0 && len(now.hooks) == 0:
		c.add(SeverityNote, "host-not-set-up", setup+" connects it", "it is installed, but not connected with lcm")
		return
	case len(now.server) == 0:
		c.add(SeverityProblem, "host-no-tools", setup, "the hooks are set up, but not the tools")
	case len(now.hooks) == 0:
		c.add(SeverityWarning, "host-no-hooks", setup, "the tools are set up, but not the hooks: sessions start without knowing of earlier work")
	}
	if now.short {
		c.add(SeverityProblem, "host-hook-time", setup, "some versions of it read the timeouts of hooks as milliseconds, and an older lcm wrote seconds: they stop the hooks")
	}
	c.programs(now, setup)
	if (len(now.hooks) > 0 || plugin) && c.State != nil {
		c.hooks(len(now.hooks) == 0)
	}
	if c.Feed != nil {
		c.inTime(ctx, "sessions", c.lag)
	}
	if h, ok := c.host.(hosts.Noticing); ok {
		if text := h.Notice(ctx, c.host.Find(c.Machine)); text != "" {
			c.add(SeverityNote, "host-untested", "", "%s", text)
		}
	}
	if len(now.server) > 0 {
		c.inTime(ctx, "tools", func(ctx context.Context) { c.tools(ctx, now.server) })
	}
	if len(c.good) > 0 {
		c.add(SeverityNote, "host-alive", "", "%s", strings.Join(c.good, "; "))
	}
}

// engine tells that lcm owns the context, or who else does.
func (c *check) engine(setup string) {
	if name := Holder(c.host, Options{Machine: c.Machine}); name != "" {
		c.add(SeverityNote, "host-engine", "`"+setup+" --replace` puts lcm in its place", "its context engine is %q: lcm's plugin is there, and only its tools are used", name)
		return
	}
	c.good = append(c.good, "lcm owns its context")
}

// inTime runs a check, and drops its findings if ctx ended it.
func (c *check) inTime(ctx context.Context, what string, look func(context.Context)) {
	found, good := c.found, c.good
	if look(ctx); ctx.Err() != nil {
		c.found, c.good = found, good
		c.found = append(c.found, Finding{Code: Unchecked, Severity: SeverityNote, Host: "the " + what + " of " + c.Title})
	}
}

// programs checks that the programs in the settings exist, and are this one.
func (c *check) programs(now configured, setup string) {
	var looked []string
	self, _ := os.Stat(c.Self) // nil is compared with nothing
	for _, command := range slices.Concat([][]string{now.server}, now.hooks, now.engine, now.status) {
		if len(command) == 0 || slices.Contains(looked, command[0]) {
			continue
		}
		looked = append(looked, command[0])
		if info, err := os.Stat(command[0]); err != nil || info.IsDir() {
			c.add(SeverityProblem, "host-program", setup, "its settings start %s, and there is no such program", command[0])
		} else if self != nil && !os.SameFile(info, self) {
			c.add(SeverityWarning, "host-other-program", setup+" names this one", "its settings start %s, and this program is %s", command[0], c.Self)
		}
	}
}

const toolsWait = 10 * time.Second

func (c *check) tools(ctx context.Context, command []string) {
	if c.Tools == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, toolsWait)
	defer cancel()
	got, err := c.Tools(ctx, command)
	if err != nil {
		c.add(SeverityProblem, "host-tools", "run `"+shellLine(command)+"` to see what it says", "the MCP server does not answer: %v", err)
		return
	}
	missing := slices.DeleteFunc(slices.Clone(wanted), func(name string) bool { return slices.Contains(got, name) })
	if len(missing) > 0 {
		c.add(SeverityProblem, "host-tools", "the program may be an older one: install this one in its place", "the MCP server lacks %s", strings.Join(missing, ", "))
		return
	}
	c.good = append(c.good, fmt.Sprintf("%d tools visible", len(wanted)))
}

// hooks checks when hooks last ran; plugin says that only the plugin has them.
func (c *check) hooks(plugin bool) {
	if len(c.fired) == 0 {
		fix := "start a session in it; if this stays, `lcm setup " + c.Name + "`"
		if plugin {
			fix = "start a session in it; if this stays, install its plugin again"
		}
		c.add(SeverityWarning, "host-hooks-silent", cmp.Or(c.Trust, fix), "its hooks are set up, but none has run yet")
		return
	}
	last := slices.MaxFunc(c.fired, func(x, y hosts.Fired) int { return x.At.Compare(y.At) })
	c.good = append(c.good, fmt.Sprintf("hooks last ran %s (%s)", last.At.UTC().Format("2006-01-02 15:04"), last.Event))
	for _, f := range c.fired {
		if f.Problem != "" {
			c.add(SeverityWarning, "host-hook-failed", "see whether it happens again", "its hook for %s met a problem at %s: %s", f.Event, f.At.UTC().Format("2006-01-02 15:04"), f.Problem)
		}
	}
}

// A new transcript may still grow; an old one is for `lcm import`.
const (
	settled  = 2 * time.Minute
	lagRange = 14 * 24 * time.Hour
)

// lag compares the record with the transcripts.
func (c *check) lag(ctx context.Context) {
	now := c.Clock()
	found, err := c.Feed.Recent(ctx, hosts.Filter{Hosts: []string{c.Name}, Since: now.Add(-lagRange)})
	if err != nil {
		c.add(SeverityWarning, "host-transcripts", "see that its files can be read", "its sessions cannot be listed: %v", err)
	}
	var behind int64
	sessions, stored := 0, 0
	var newest time.Time
	for _, t := range found {
		l, err := c.Feed.Lag(ctx, t)
		if err != nil {
			c.add(SeverityWarning, "host-transcripts", "see that its files can be read", "%v", err)
			return
		}
		if !l.Ingested.IsZero() {
			stored++
		}
		if l.Ingested.After(newest) {
			newest = l.Ingested
		}
		if l.Behind && now.Sub(l.Written) > settled {
			behind, sessions = behind+l.Bytes, sessions+1
		}
	}
	if sessions > 0 {
		c.add(SeverityWarning, "host-lag", "`lcm import "+c.Name+"` stores it", "%s of the last two weeks with %d bytes that are not stored yet", prose.Count(sessions, "session", "sessions"), behind)
		return
	}
	if stored > 0 {
		c.good = append(c.good, fmt.Sprintf("%s of the last two weeks stored, last %s", prose.Count(stored, "session", "sessions"), newest.UTC().Format("2006-01-02 15:04")))
	}
}
