// Package setup connects lcm with the agents on a machine, and disconnects it again.
//
// A [Plan] lists the changes to a host's files: the MCP server that gives the agent its
// tools, the hooks that keep the record up to date, and optionally a text that teaches
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

// Guidance says how an agent is taught to use its memory.
type Guidance string

// The kinds of guidance.
const (
	NoGuidance    Guidance = "none"
	SkillGuidance Guidance = "skill" // a skill, which the agent reads when it needs it
	FileGuidance  Guidance = "file"  // a section of CLAUDE.md or AGENTS.md, which it always sees
)

// Options configure a setup.
type Options struct {
	Machine hosts.Machine
	// Binary is the absolute path of lcm in the hosts' settings. It should stay
	// the same over upgrades: hosts ask for consent when a command changes.
	Binary string
	// Args are added to every command, such as a database path.
	Args []string
	// Guidance is NoGuidance when empty; Text is its content.
	Guidance Guidance
	Text     string
}

// ErrNotInstalled says that there is no sign of a host on the machine.
var ErrNotInstalled = errors.New("is not installed here")

// Names lists the hosts that can be set up.
func Names() []string {
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = t.name
	}
	return names
}

// Installed reports whether a host's settings or program are on a machine.
func Installed(m hosts.Machine, host string) bool {
	t, ok := targetOf(host)
	return ok && t.installed(m)
}

// target is a host that can be set up.
type target struct {
	name, title string
	program     string
	dir         func(m hosts.Machine) string // of its settings
	// entries returns lcm's entries in the host's files.
	entries func(dir string, o Options) []entry
	// configured reads lcm's entries from the host's settings.
	configured func(m hosts.Machine) (configured, error)
	// notes list the steps that are left to the user.
	notes []string
	// trust says how the user allows hooks, if the host asks for that.
	trust string
}

var targets = []target{claude, codex, opencode}

func targetOf(name string) (target, bool) {
	i := slices.IndexFunc(targets, func(t target) bool { return t.name == name })
	if i < 0 {
		return target{}, false
	}
	return targets[i], true
}

func (t target) installed(m hosts.Machine) bool {
	if _, err := os.Stat(t.dir(m)); err == nil {
		return true
	}
	for _, dir := range filepath.SplitList(m.Getenv("PATH")) {
		if info, err := os.Stat(filepath.Join(dir, t.program)); err == nil && !info.IsDir() {
			return true
		}
	}
	return false
}

// entry is one entry of lcm in a host's file.
type entry struct {
	path string
	what string
	// put adds or updates the entry; made are the containers that it made. cut
	// removes it, and those containers that are empty then.
	put func(src []byte) (out []byte, made [][]string, err error)
	cut func(src []byte, made [][]string) ([]byte, error)
	// theirs reports whether the entry was not written by setup: it is the
	// user's own, and removal gives it back. It may be nil.
	theirs func(src []byte) bool
	// back puts the user's own entry of the original file in the place of lcm's.
	// extra lists the keys in lcm's entry that the user wrote. Both go with theirs.
	back  func(src, original []byte) ([]byte, error)
	extra func(src []byte) []string
	// within are the containers of the entry, outermost first.
	within [][]string
	// whole says that only lcm writes the file.
	whole bool
}

// Change is the change of one file.
type Change struct {
	Path   string // as the host names it
	What   string // lcm's entries in it
	Before []byte
	Exists bool // before
	After  []byte
	Delete bool // the file is removed

	target string // Path with its symbolic links resolved
	made   [][]string
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

	machine   hosts.Machine
	unchanged []Change // files that are up to date
}

// For plans the setup of lcm in a host.
func For(host string, o Options) (Plan, error) {
	t, ok := targetOf(host)
	if !ok {
		return Plan{}, unknownHost(host)
	}
	if !t.installed(o.Machine) {
		return Plan{}, &hint.Error{Err: fmt.Errorf("%s %w: there is neither %s nor a program called %s", t.title, ErrNotInstalled, t.dir(o.Machine), t.program),
			Hint: "install it and start it once, then repeat the command"}
	}
	if !filepath.IsAbs(o.Binary) {
		return Plan{}, fmt.Errorf("the path of the program, %q, is not absolute", o.Binary)
	}
	for _, word := range append([]string{o.Binary}, o.Args...) {
		if !utf8.ValidString(word) {
			return Plan{}, &hint.Error{Err: fmt.Errorf("%q is not valid UTF-8, which the settings of %s require", word, t.title),
				Hint: "use a program (--binary) and a database (--db) whose paths are valid UTF-8; nothing was changed"}
		}
	}
	p := Plan{Host: t.name, Title: t.title, Notes: t.notes, machine: o.Machine}
	for _, e := range t.entries(t.dir(o.Machine), o) {
		if e.put == nil {
			continue
		}
		if err := p.edit(e, func(c *Change) (err error) {
			var made [][]string
			if c.After, made, err = e.put(c.After); err != nil {
				return err
			}
			c.made = append(c.made, made...)
			if e.theirs != nil && e.theirs(c.Before) {
				return nil
			}
			// Earlier entries of lcm are not part of the user's file.
			c.clean, err = e.cut(c.clean, nil)
			return err
		}); err != nil {
			return Plan{}, err
		}
	}
	p.settle()
	return p, nil
}

func unknownHost(host string) error {
	return &hint.Error{Err: fmt.Errorf("no host is called %q", host), Hint: "hosts: " + strings.Join(Names(), ", ")}
}

// Removal plans the removal of lcm from a host, and the original bytes if possible.
func Removal(host string, m hosts.Machine, kept *Receipts) (Plan, error) {
	t, ok := targetOf(host)
	if !ok {
		return Plan{}, unknownHost(host)
	}
	p := Plan{Host: t.name, Title: t.title, machine: m}
	for _, e := range t.entries(t.dir(m), Options{Machine: m, Guidance: ""}) {
		if err := p.edit(e, func(c *Change) error { return p.takeOut(e, c, kept) }); err != nil {
			return Plan{}, err
		}
	}
	for i := range p.Changes {
		kept.restore(&p.Changes[i])
	}
	p.settle()
	return p, nil
}

// takeOut removes an entry from a file. The user's own entry comes back, or stays.
func (p *Plan) takeOut(e entry, c *Change, kept *Receipts) (err error) {
	if !c.Exists {
		return nil
	}
	one, known := kept.files[c.target]
	if e.theirs != nil {
		original := kept.original(one)
		if !known && e.theirs(c.After) {
			return nil
		}
		if original != nil && e.theirs(original) {
			c.After, err = e.back(c.After, original)
			return err
		}
		if names := e.extra(c.After); len(names) > 0 {
			p.Notes = append(p.Notes, fmt.Sprintf("lcm's entry in %s had keys that you wrote (%s); the file as it was is kept in %s", c.Path, strings.Join(names, ", "), kept.dir))
		}
	}
	made := one.Made
	if !known { // an older setup, or lost receipts: what the cut empties was lcm's
		made = emptiable(c.After, e.within)
	}
	c.After, err = e.cut(c.After, made)
	return err
}

// edit applies fn to the file of an entry, after the changes of other entries.
func (p *Plan) edit(e entry, fn func(*Change) error) error {
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
	if c.What != "" {
		c.What += ", "
	}
	c.What += e.what
	if err := fn(c); err != nil {
		return &hint.Error{Err: fmt.Errorf("%s: %w", e.path, err), Hint: "nothing was changed; repair the file and repeat the command"}
	}
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
