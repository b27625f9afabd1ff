// Package setup connects lcm with the agents on a machine, and disconnects it again.
//
// A [Plan] lists the changes to a host's files: the MCP server that gives the agent its
// tools, the hooks that keep the record up to date, and optionally a skill that teaches
// the agent to recall. Only [Plan.Apply] writes.
//
// Setup changes only lcm's own entries (see package edit). Files keep their mode, and
// of a symbolic link the target is edited. Before a change the file is copied. The
// copies and a receipt for each file are in a [Receipts] directory, so that removal
// restores the original bytes if nothing else changed, and otherwise removes only lcm's
// entries.
//
// [Check] checks the connection, for `lcm doctor`.
package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/kit/hint"
)

// Options configure a setup.
type Options struct {
	Machine hosts.Machine
	// Binary is the absolute path of lcm in the hosts' settings. It should stay
	// the same over upgrades: hosts ask for consent when a command changes.
	Binary string
	// Args are added to every command, such as a database path.
	Args []string
	// Replace takes the place of another context engine.
	Replace bool
	// Skill is the text of a skill that teaches the agent to recall; "" is none.
	Skill string
}

// ServerCommand returns the command of the MCP server.
func (o Options) ServerCommand() []string {
	return slices.Concat([]string{o.Binary, "mcp"}, o.Args)
}

// Server is the entry of the MCP server in the form of most hosts.
type Server struct {
	Type    string   `json:"type,omitempty"` // stdio or local, for hosts that have a type of servers
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Tools   []string `json:"tools,omitempty"` // those that the model gets, for hosts that have such a list
	// Trust lets the model call the tools, which only read, without asking the user: some hosts
	// refuse every call that needs approval where there is nobody to ask.
	Trust bool `json:"trust,omitempty"`
	// Timeout is how long the host waits for an answer, in its own unit.
	Timeout int `json:"timeout,omitempty"`
}

// ToolSeconds is how long a host is told to wait for an answer of a tool: a question may take
// two minutes, and many hosts give up after one.
const ToolSeconds = 180

// Waiting returns the entry with a timeout for a host whose second is [InSeconds] or [InMillis].
func (s Server) Waiting(second int) Server {
	s.Timeout = ToolSeconds * second
	return s
}

// StdioServer returns the entry of the MCP server. kind and tools are its type and tools.
func (o Options) StdioServer(kind string, tools ...string) Server {
	command := o.ServerCommand()
	return Server{Type: kind, Command: command[0], Args: command[1:], Tools: tools}
}

// TrustedServer returns the entry of the MCP server for a host that trusts servers.
func (o Options) TrustedServer() Server {
	server := o.StdioServer("")
	server.Trust = true
	return server
}

// HookCommand returns the command of a host's hooks.
func (o Options) HookCommand(host string) []string {
	return slices.Concat([]string{o.Binary, "hook", host}, o.Args)
}

// EngineCommand returns the command of a context engine.
func (o Options) EngineCommand() []string {
	return slices.Concat([]string{o.Binary, "engine"}, o.Args)
}

// StatusCommand returns the command of a host's status line.
func (o Options) StatusCommand() []string {
	return slices.Concat([]string{o.Binary, "statusline"}, o.Args)
}

// ErrNotInstalled says that there is no sign of a host on the machine.
var ErrNotInstalled = errors.New("is not installed here")

// Host is a host whose settings can name lcm.
type Host interface {
	hosts.Host
	// Settings returns the directory of the program's settings.
	Settings(m hosts.Machine) string
	// Entries returns lcm's entries in the program's files; dir is that of its settings.
	Entries(dir string, o Options) []Entry
}

// Installed reports whether a host's settings or program are on a machine.
func Installed(m hosts.Machine, h Host) bool {
	if _, err := os.Stat(h.Settings(m)); err == nil {
		return true
	}
	for _, dir := range filepath.SplitList(m.Getenv("PATH")) {
		if info, err := os.Stat(filepath.Join(dir, h.About().Name)); err == nil && !info.IsDir() {
			return true
		}
	}
	return false
}

// Change is the change of one file.
type Change struct {
	Path   string // as the host names it
	What   string // lcm's entries in it
	Before []byte
	Exists bool // before
	After  []byte
	Delete bool // the file is removed

	target string   // Path with its symbolic links resolved
	clean  []byte   // the file without lcm's entries
	dirs   []string // directories to make for it, outermost first
	whole  bool
}

// Plan lists the changes for one host.
type Plan struct {
	Host    string
	Title   string
	Changes []Change // none: everything is up to date
	Notes   []string // steps that are left to the user

	unchanged []Change // files that are up to date
}

// Advising is a host in whose settings another program may have left what lcm can take over.
type Advising interface {
	// Advice returns notes for the user, from the directory of the settings.
	Advice(dir string) []string
}

// For plans the setup of lcm in a host.
func For(h Host, o Options) (Plan, error) {
	about, dir := h.About(), h.Settings(o.Machine)
	if !Installed(o.Machine, h) {
		return Plan{}, &hint.Error{Err: fmt.Errorf("%s %w: there is neither %s nor a program called %s", about.Title, ErrNotInstalled, dir, about.Name),
			Hint: "install it and start it once, then repeat the command"}
	}
	if !filepath.IsAbs(o.Binary) {
		return Plan{}, fmt.Errorf("the path of the program, %q, is not absolute", o.Binary)
	}
	for _, word := range append([]string{o.Binary}, o.Args...) {
		if !utf8.ValidString(word) {
			return Plan{}, &hint.Error{Err: fmt.Errorf("%q is not valid UTF-8, which the settings of %s require", word, about.Title),
				Hint: "use a program (--binary) and a database (--db) whose paths are valid UTF-8; nothing was changed"}
		}
	}
	note := about.Title + " reads its settings when it starts: sessions that are running now do not have the tools yet"
	if about.Trust != "" {
		note = about.Title + " runs hooks only after you have trusted them: " + about.Trust
	}
	p := Plan{Host: about.Name, Title: about.Title, Notes: []string{note}}
	if pluginOf(o.Machine, h) {
		p.Notes = append(p.Notes, about.Title+" also has lcm's plugin, of which it then uses nothing that these settings have")
	}
	if name := Holder(h, o); name != "" && !o.Replace {
		p.Notes = append(p.Notes, heldNote(about.Title, about.Name, name))
	}
	if a, ok := h.(Advising); ok {
		p.Notes = append(p.Notes, a.Advice(dir)...)
	}
	for _, e := range h.Entries(dir, o) {
		if e.put == nil || e.what == skillName && skillInPlugin(o.Machine, h) {
			continue
		}
		if err := p.edit(e, func(c *Change) (err error) {
			if c.After, err = e.put(c.After); err == nil {
				c.clean, err = e.cut(c.clean) // earlier entries of lcm are not part of the user's file
			}
			return err
		}); err != nil {
			return Plan{}, err
		}
	}
	p.settle()
	return p, nil
}

// Removal plans the removal of lcm from a host, and the original bytes if possible.
func Removal(h Host, m hosts.Machine, kept *Receipts) (Plan, error) {
	p := Plan{Host: h.About().Name, Title: h.About().Title}
	for _, e := range h.Entries(h.Settings(m), Options{Machine: m}) {
		if err := p.edit(e, func(c *Change) (err error) {
			if !c.Exists {
				return nil
			}
			if e.extra != nil {
				if names := e.extra(c.After); len(names) > 0 {
					p.Notes = append(p.Notes, fmt.Sprintf("lcm's entry in %s had keys that you wrote (%s); the file as it was is kept in %s", c.Path, strings.Join(names, ", "), kept.dir))
				}
			}
			c.After, err = e.cut(c.After)
			return err
		}); err != nil {
			return Plan{}, err
		}
	}
	for i := range p.Changes {
		c := &p.Changes[i]
		if whole := kept.restore(c); !whole && !bytes.Equal(c.Before, c.After) {
			p.Notes = append(p.Notes, "in "+c.Path+" only lcm's entries are removed: it has changed since `lcm setup`, or there is no copy of it")
		}
	}
	p.settle()
	return p, nil
}

// edit applies fn to the file of an entry, after the changes of other entries.
func (p *Plan) edit(e Entry, fn func(*Change) error) error {
	i := slices.IndexFunc(p.Changes, func(c Change) bool { return c.Path == e.path })
	if i < 0 {
		c, err := read(e.path)
		if err != nil {
			return err
		}
		c.whole = e.whole
		p.Changes = append(p.Changes, c)
		i = len(p.Changes) - 1
	}
	c := &p.Changes[i]
	before := c.After
	if err := fn(c); err != nil {
		return &hint.Error{Err: fmt.Errorf("%s: %w", e.path, err), Hint: "nothing was changed; repair the file and repeat the command"}
	}
	if bytes.Equal(before, c.After) {
		return nil
	}
	if c.What != "" {
		c.What += ", "
	}
	c.What += e.what
	return nil
}

// settle moves changes without effect to p.unchanged.
func (p *Plan) settle() {
	all := p.Changes
	p.Changes = nil
	for _, c := range all {
		if !c.Delete && bytes.Equal(c.Before, c.After) && (c.Exists || len(c.After) == 0) {
			p.unchanged = append(p.unchanged, c)
		} else {
			p.Changes = append(p.Changes, c)
		}
	}
}

// maxFile is larger than any settings file.
const maxFile = 64 << 20

// read returns a file as a change without effect.
func read(path string) (Change, error) {
	c := Change{Path: path, target: path, dirs: missingDirs(filepath.Dir(path))}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		c.target = real
	} else if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return c, &hint.Error{Err: fmt.Errorf("%s is a symbolic link to a file that does not exist", path), Hint: "repair or remove the link, then repeat the command"}
	}
	info, err := os.Stat(c.target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, nil
	case err != nil:
		return c, fmt.Errorf("check the settings: %w", err)
	case !info.Mode().IsRegular():
		return c, fmt.Errorf("%s is not a file", path)
	case info.Size() > maxFile:
		return c, fmt.Errorf("%s has %d bytes: that is no settings file", path, info.Size())
	}
	if c.Before, err = os.ReadFile(c.target); err != nil {
		return c, fmt.Errorf("read the settings: %w", err)
	}
	c.Exists, c.After, c.clean = true, c.Before, c.Before
	return c, nil
}

// missingDirs lists the directories that must be made for dir, outermost first.
func missingDirs(dir string) []string {
	var missing []string
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		missing = append([]string{dir}, missing...)
	}
	return missing
}

// Diff returns the change of the file as a unified diff.
func (c Change) Diff() string {
	name := func(exists bool) string {
		if exists {
			return c.Path
		}
		return "/dev/null"
	}
	after := c.After
	if c.Delete {
		after = nil
	}
	unix := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")) }
	text := string(diff.Diff(name(c.Exists), unix(c.Before), name(!c.Delete), unix(after)))
	_, text, _ = strings.Cut(text, "\n") // "diff old new"
	return text
}
