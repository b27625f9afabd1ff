package setup

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts/setup/edit"
	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// Entry is one entry of lcm in a host's file. The functions of this package make entries;
// Entries lists each of them also if it is not wanted now, so that removal finds it.
type Entry struct {
	path string
	what string
	// put adds or updates the entry; it is nil if the entry is not wanted. cut removes
	// it, and the containers that are empty then.
	put, cut func(src []byte) ([]byte, error)
	// commands reads the commands that the entry starts: of the MCP server, of hooks,
	// or of the status line.
	commands func(src []byte) ([][]string, error)
	server   bool
	// short reports whether a hook has a timeout below a second; it is nil if e has no hooks.
	short func(src []byte) bool
	// extra lists the keys in lcm's entry that the user wrote.
	extra func(src []byte) []string
	// holder returns who else has the place that the entry takes; it is nil if e takes none.
	holder func(src []byte) string
	// whole says that only lcm writes the file.
	whole bool
}

// JSONServer is an entry for the MCP server in a JSON file, at a path of names.
func JSONServer(file string, value any, path ...string) Entry {
	get := func(src []byte) (entry map[string]any, err error) {
		d, err := edit.ParseJSON(src)
		if err == nil && d.Get(path...) != nil {
			_ = json.Unmarshal(d.Get(path...), &entry) // what is no object is replaced
		}
		return entry, err
	}
	var fields map[string]json.RawMessage
	if text, err := json.Marshal(value); err == nil {
		_ = json.Unmarshal(text, &fields) // it is an object
	}
	var within [][]string
	for n := 1; n < len(path); n++ {
		within = append(within, path[:n])
	}
	e := serverEntry(file, path, sortedKeys(fields), get, func(src []byte) ([]byte, error) {
		d, err := edit.ParseJSON(src)
		if err != nil {
			return nil, err
		}
		if d.Get(path...) == nil {
			err = d.Set(value, path...)
			return d.Bytes(), err
		}
		for _, name := range sortedKeys(fields) { // keys of the user's own in lcm's entry stay
			if at := append(slices.Clone(path), name); usersChoice(name) && d.Get(at...) != nil {
				continue
			}
			if err := d.Set(fields[name], append(slices.Clone(path), name)...); err != nil {
				return nil, err
			}
		}
		return d.Bytes(), nil
	}, func(src []byte) ([]byte, error) {
		return cutJSON(src, within, func(d *edit.JSON) error { return d.Cut(path...) })
	})
	if fields["trust"] != nil {
		e.what += ", whose tools need no approval"
	}
	return e
}

// TOMLServer is an entry for the MCP server in a TOML file: a table with lines like
// `key = value`.
func TOMLServer(file string, lines []string, path ...string) Entry {
	var own []string
	for _, line := range lines {
		key, _, _ := strings.Cut(line, " = ")
		own = append(own, key)
	}
	return serverEntry(file, path, own,
		func(src []byte) (map[string]any, error) { return edit.HasTable(src, path) },
		func(src []byte) ([]byte, error) {
			have, err := edit.HasTable(src, path)
			if err != nil {
				return nil, err
			}
			return edit.SetTable(src, path, slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
				key, _, _ := strings.Cut(line, " = ")
				return usersChoice(key) && have[key] != nil
			}))
		},
		func(src []byte) ([]byte, error) { return edit.CutTable(src, path) })
}

// usersChoice reports that a value of lcm's entry stays as the user wrote it.
func usersChoice(key string) bool {
	return slices.Contains([]string{"trust", "timeout", "tool_timeout_sec"}, key)
}

// serverEntry is an entry for the MCP server with the keys own. An entry of the user's own
// is left alone.
func serverEntry(file string, path, own []string, get func([]byte) (map[string]any, error), put, cut func([]byte) ([]byte, error)) Entry {
	theirs := func(src []byte) (bool, error) {
		entry, err := get(src)
		words := commandOf(entry)
		return entry != nil && (len(words) == 0 || !filepath.IsAbs(words[0]) || !ownServer().MatchString(words[0])), err
	}
	return Entry{path: file, what: "MCP server", server: true,
		put: func(src []byte) ([]byte, error) {
			if their, err := theirs(src); err != nil || their {
				return nil, cmp.Or(err, fmt.Errorf("%s is an entry that `lcm setup` did not write: remove it, or call it something else", strings.Join(path, ".")))
			}
			return put(src)
		},
		cut: func(src []byte) ([]byte, error) {
			if their, err := theirs(src); err != nil || their {
				return src, err
			}
			return cut(src)
		},
		commands: func(src []byte) ([][]string, error) {
			entry, err := get(src)
			return [][]string{commandOf(entry)}, err
		},
		extra: func(src []byte) []string {
			if their, err := theirs(src); err != nil || their {
				return nil
			}
			entry, _ := get(src)
			return slices.DeleteFunc(sortedKeys(entry), func(name string) bool { return slices.Contains(own, name) })
		},
	}
}

// commandOf returns the command of a server, in the forms of all hosts.
func commandOf(entry map[string]any) (words []string) {
	list, ok := entry["command"].([]any)
	if !ok {
		list = []any{entry["command"]}
	}
	args, _ := entry["args"].([]any)
	for _, word := range append(list, args...) {
		if text, ok := word.(string); ok {
			words = append(words, text)
		}
	}
	return words
}

// ownProgram matches the name of lcm's program, also of a download, lcm-linux-amd64.
const ownProgram = `lcm(?:[-_.][\w.+-]*)?`

// ownServer matches the program of a server that setup wrote: it has an absolute path.
var ownServer = lazyregexp.New(`[/\\]` + ownProgram + `$`)

// cutJSON removes something from a JSON file, and those of its containers, outermost first,
// that are empty then and were not before.
func cutJSON(src []byte, within [][]string, fn func(*edit.JSON) error) ([]byte, error) {
	if len(bytes.TrimSpace(src)) == 0 {
		return src, nil
	}
	d, err := edit.ParseJSON(src)
	if err != nil {
		return nil, err
	}
	within = slices.DeleteFunc(slices.Clone(within), func(path []string) bool { return d.Empty(path...) })
	err = fn(d)
	for _, path := range slices.Backward(within) {
		if err == nil && d.Empty(path...) {
			err = d.Cut(path...)
		}
	}
	return d.Bytes(), err
}

// hookGroup is the form of hooks in Claude Code and Codex.
type hookGroup struct {
	Hooks []hookCommand `json:"hooks"`
}

type hookCommand struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout,omitempty"` // in the host's unit
}

// event is an event for which a host calls lcm, and how many seconds it waits.
type event struct {
	name    string
	seconds int
}

// The second in the unit in which a host reads the timeouts of hooks.
const (
	InSeconds = 1
	InMillis  = 1000
)

// Hooks is the entry of lcm's commands for events, in the form of Claude Code. second is
// [InSeconds] or [InMillis], atEnd how many seconds the host waits at the end of a session, and
// more are further events.
func Hooks(file, host string, o Options, second, atEnd int, more ...string) Entry {
	events := []event{{"SessionStart", 10}, {"UserPromptSubmit", 5}, {"Stop", 30}, {"SubagentStop", 30}, {"PreCompact", 30}, {"SessionEnd", atEnd}}
	for _, name := range more {
		events = append(events, event{name, 5})
	}
	return hooks(file, host, o, second, events)
}

// HooksNamed is the entry of lcm's commands for events with names of the host's own. The host
// reads timeouts in milliseconds.
func HooksNamed(file, host string, o Options, names ...string) Entry {
	var events []event
	for _, name := range names {
		events = append(events, event{name, 10})
	}
	return hooks(file, host, o, InMillis, events)
}

func hooks(file, host string, o Options, second int, events []event) Entry {
	command := shellLine(o.HookCommand(host))
	return Entry{path: file, what: "hooks",
		put: func(src []byte) ([]byte, error) {
			d, err := edit.ParseJSON(src)
			if err != nil {
				return nil, err
			}
			for _, e := range events {
				if err := setHook(d, host, e, second, command); err != nil {
					return nil, err
				}
			}
			return d.Bytes(), nil
		},
		cut: func(src []byte) ([]byte, error) {
			within := [][]string{{"hooks"}}
			if d, err := edit.ParseJSON(src); err == nil { // also events that only an older lcm wrote
				for _, h := range allHooks(d, host) {
					within = append(within, h.path[:2])
				}
			}
			return cutJSON(src, within, func(d *edit.JSON) (err error) {
				for _, h := range slices.Backward(allHooks(d, host)) {
					err = cmp.Or(err, h.cut(d))
				}
				return err
			})
		},
		commands: func(src []byte) (all [][]string, err error) {
			d, err := edit.ParseJSON(src)
			if err != nil {
				return nil, err
			}
			for _, h := range allHooks(d, host) {
				all = append(all, []string{programOf(h.Command)})
			}
			return all, nil
		},
		short: func(src []byte) bool {
			d, err := edit.ParseJSON(src)
			return err == nil && slices.ContainsFunc(allHooks(d, host), func(h hookAt) bool { return h.Timeout > 0 && h.Timeout < second })
		},
	}
}

// hookAt is a hook of lcm in a file: hooks, event, number of the group, hooks, number.
type hookAt struct {
	hookCommand
	path []string
}

// cut removes a hook, and its group if that has no other.
func (h hookAt) cut(d *edit.JSON) error {
	err := d.Cut(h.path...)
	if err == nil && d.Empty(h.path[:4]...) {
		err = d.Cut(h.path[:3]...)
	}
	return err
}

// hooksFor returns lcm's hooks for an event, also those in groups of the user.
func hooksFor(d *edit.JSON, host, event string) (all []hookAt) {
	var groups []json.RawMessage
	_ = json.Unmarshal(d.Get("hooks", event), &groups) // an unknown form has none
	for i, group := range groups {
		var g struct {
			Hooks []json.RawMessage `json:"hooks"`
		}
		_ = json.Unmarshal(group, &g)
		for j, h := range g.Hooks {
			var c hookCommand
			if json.Unmarshal(h, &c) == nil && isOwnHook(host, c.Command) {
				all = append(all, hookAt{c, []string{"hooks", event, strconv.Itoa(i), "hooks", strconv.Itoa(j)}})
			}
		}
	}
	return all
}

// allHooks returns lcm's hooks for all events.
func allHooks(d *edit.JSON, host string) (all []hookAt) {
	var events map[string]json.RawMessage
	_ = json.Unmarshal(d.Get("hooks"), &events)
	for _, event := range sortedKeys(events) {
		all = append(all, hooksFor(d, host, event)...)
	}
	return all
}

// setHook gives the first hook of lcm for an event the command, also one of an older lcm in a
// group of the user, and removes others. If there is none it adds a group. A timeout of the
// user's own stays, but not one below a second: older lcm wrote seconds where the host reads
// milliseconds.
func setHook(d *edit.JSON, host string, e event, second int, command string) (err error) {
	found := hooksFor(d, host, e.name)
	if len(found) == 0 {
		return d.Append(hookGroup{Hooks: []hookCommand{{Type: "command", Command: command, Timeout: e.seconds * second}}}, "hooks", e.name)
	}
	for _, h := range slices.Backward(found[1:]) {
		err = cmp.Or(err, h.cut(d))
	}
	first := found[0]
	changed := first.Command != command
	if err == nil && changed {
		err = d.Set(command, slices.Concat(first.path, []string{"command"})...)
	}
	if err == nil && (changed || first.Timeout > 0) && first.Timeout < second {
		err = d.Set(e.seconds*second, slices.Concat(first.path, []string{"timeout"})...)
	}
	return err
}

var ownHook = lazyregexp.New(`(?:^|[/\\'"])` + ownProgram + `['"]?\s+(?:\S+\s+)*?hook\s+([a-z]+)(?:\s|$)`)

// isOwnHook reports whether a command is lcm's hook for a host, at any path.
func isOwnHook(host, command string) bool {
	m := ownHook().FindStringSubmatch(command)
	return m != nil && m[1] == host
}

// OwnFile is a file that only lcm writes; it contains sign. commands reads the commands of
// hooks in it; it may be nil.
func OwnFile(file, what, sign, content string, commands func(src []byte) ([][]string, error)) Entry {
	return Entry{path: file, what: what, whole: true, commands: commands,
		put: func(src []byte) ([]byte, error) {
			if len(src) > 0 && !bytes.Contains(src, []byte(sign)) {
				return nil, errors.New("there is a file in its place that lcm did not write")
			}
			return []byte(content), nil
		},
		cut: func(src []byte) ([]byte, error) {
			if !bytes.Contains(src, []byte(sign)) {
				return src, nil
			}
			return nil, nil
		},
	}
}

// skillSign identifies lcm's skill, and skillName its entry.
const (
	skillSign = "name: lcm-memory"
	skillName = "skill"
)

// Skill is the entry of the skill that teaches an agent to recall, in a directory of skills.
func Skill(dir string, o Options) Entry {
	e := OwnFile(filepath.Join(dir, "lcm-memory", "SKILL.md"), skillName, skillSign,
		"---\n"+skillSign+"\ndescription: "+skillDescription+"\n---\n\n"+strings.TrimSpace(o.Skill)+"\n", nil)
	if o.Skill == "" {
		e.put = nil
	}
	return e
}

const skillDescription = "How to recall what was said, decided, run and read in earlier work, also before a compaction and in other sessions of this project. " +
	"Use it when the user refers to earlier work, or when something that was done before is needed exactly."

// statusName is the name of the entry of the status line.
const statusName = "status line"

var ownStatusLine = lazyregexp.New(`(?:^|[/\\'"])` + ownProgram + `['"]?\s+statusline(?:\s|$)`)

// StatusLine is the entry of `lcm statusline` in the settings of Claude Code. A status line of
// the user's own stays.
func StatusLine(file string, o Options) Entry {
	command := func(d *edit.JSON) string {
		var now hookCommand
		_ = json.Unmarshal(d.Get("statusLine"), &now) // an unknown form is the user's
		return now.Command
	}
	get := func(src []byte) (d *edit.JSON, there, own bool, err error) {
		d, err = edit.ParseJSON(src)
		if err != nil {
			return nil, false, false, err
		}
		return d, d.Get("statusLine") != nil, ownStatusLine().MatchString(command(d)), nil
	}
	return Entry{path: file, what: statusName,
		commands: func(src []byte) ([][]string, error) {
			d, _, own, err := get(src)
			if err != nil || !own {
				return nil, err
			}
			return [][]string{{programOf(command(d))}}, nil
		},
		put: func(src []byte) ([]byte, error) {
			d, there, own, err := get(src)
			switch {
			case err != nil || there && !own:
				return src, err
			case own:
				err = d.Set(shellLine(o.StatusCommand()), "statusLine", "command")
			default:
				err = d.Set(hookCommand{Type: "command", Command: shellLine(o.StatusCommand())}, "statusLine")
			}
			return d.Bytes(), err
		},
		cut: func(src []byte) ([]byte, error) {
			if len(bytes.TrimSpace(src)) == 0 {
				return src, nil
			}
			d, _, own, err := get(src)
			if err == nil && own {
				err = d.Cut("statusLine")
			}
			if err != nil {
				return src, err
			}
			return d.Bytes(), nil
		},
	}
}
