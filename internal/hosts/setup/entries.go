package setup

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts/setup/edit"
	"github.com/lossless-context/lcm/internal/lazyregexp"
)

// member is an entry of a JSON object at a path of names.
func member(file, what string, value any, path ...string) entry {
	return entry{path: file, what: what,
		put: func(src []byte) ([]byte, [][]string, error) {
			d, err := edit.ParseJSON(src)
			if err != nil {
				return nil, nil, err
			}
			d, made, err := d.Set(value, path...)
			if err != nil {
				return nil, nil, err
			}
			return d.Bytes(), made, nil
		},
		cut: func(src []byte, made [][]string) ([]byte, error) {
			return cutJSON(src, made, func(d *edit.JSON) (*edit.JSON, error) { return d.Cut(path...) })
		},
		theirs: func(src []byte) bool {
			d, err := edit.ParseJSON(src)
			if err != nil || d.Get(path...) == nil {
				return false
			}
			var server struct{ Command any }
			return json.Unmarshal(d.Get(path...), &server) != nil || !isOwnServer(server.Command)
		},
	}
}

// ownProgram matches the name of lcm's program, also of a download, lcm-linux-amd64.
const ownProgram = `lcm(?:[-_.][\w.+-]*)?`

var ownServer = lazyregexp.New(`[/\\]` + ownProgram + `$`)

// isOwnServer reports whether setup wrote a server's command: it has an absolute path.
func isOwnServer(command any) bool {
	if words, ok := command.([]any); ok && len(words) > 0 {
		command = words[0]
	}
	name, ok := command.(string)
	return ok && filepath.IsAbs(name) && ownServer().MatchString(name)
}

// cutJSON removes something from a JSON file, and then empty containers that setup made.
func cutJSON(src []byte, made [][]string, fn func(*edit.JSON) (*edit.JSON, error)) ([]byte, error) {
	if len(bytes.TrimSpace(src)) == 0 {
		return src, nil
	}
	d, err := edit.ParseJSON(src)
	if err != nil {
		return nil, err
	}
	if d, err = fn(d); err != nil {
		return nil, err
	}
	for i := len(made) - 1; i >= 0; i-- {
		if d.Empty(made[i]...) {
			if d, err = d.Cut(made[i]...); err != nil {
				return nil, err
			}
		}
	}
	return d.Bytes(), nil
}

// hookGroup is the form of hooks in Claude Code and Codex.
type hookGroup struct {
	Hooks []hookCommand `json:"hooks"`
}

type hookCommand struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout,omitempty"` // seconds
}

// event is an event for which a host calls lcm.
type event struct {
	name    string
	timeout int
}

// hooks is the entry of lcm's commands for events.
func hooks(file, host string, events []event, command string) entry {
	return entry{path: file, what: "hooks",
		put: func(src []byte) ([]byte, [][]string, error) {
			d, err := edit.ParseJSON(src)
			if err != nil {
				return nil, nil, err
			}
			var made [][]string
			for _, e := range events {
				group := hookGroup{Hooks: []hookCommand{{Type: "command", Command: command, Timeout: e.timeout}}}
				switch i := ownGroup(d, host, e.name); {
				case i >= 0:
					d, err = d.SetElement(group, i, "hooks", e.name)
				case runs(d, command, e.name): // the user put it into a group of their own
				default:
					var more [][]string
					d, more, err = d.Append(group, "hooks", e.name)
					made = append(made, more...)
				}
				if err != nil {
					return nil, nil, err
				}
			}
			return d.Bytes(), made, nil
		},
		cut: func(src []byte, made [][]string) ([]byte, error) {
			return cutJSON(src, made, func(d *edit.JSON) (*edit.JSON, error) { return cutHooks(d, host) })
		},
	}
}

// ownGroup returns the index of a group that holds only lcm's command, or -1.
func ownGroup(d *edit.JSON, host, event string) int {
	for i, e := range d.Elements("hooks", event) {
		var g hookGroup
		if json.Unmarshal(e, &g) == nil && len(g.Hooks) == 1 && isOwnHook(host, g.Hooks[0].Command) {
			return i
		}
	}
	return -1
}

// runs reports whether a command is in any group of an event's hooks.
func runs(d *edit.JSON, command, event string) bool {
	for _, e := range d.Elements("hooks", event) {
		var g hookGroup
		if json.Unmarshal(e, &g) == nil && slices.ContainsFunc(g.Hooks, func(h hookCommand) bool { return h.Command == command }) {
			return true
		}
	}
	return false
}

// cutHooks removes lcm's commands from every event and group.
func cutHooks(d *edit.JSON, host string) (*edit.JSON, error) {
	var events map[string]json.RawMessage
	if d.Get("hooks") == nil || json.Unmarshal(d.Get("hooks"), &events) != nil {
		return d, nil
	}
	var err error
	for _, event := range sortedKeys(events) {
		groups := d.Elements("hooks", event)
		for i := len(groups) - 1; i >= 0; i-- {
			var g struct {
				Hooks []json.RawMessage `json:"hooks"`
			}
			if json.Unmarshal(groups[i], &g) != nil {
				continue
			}
			var kept []json.RawMessage
			for _, h := range g.Hooks {
				var c hookCommand
				if json.Unmarshal(h, &c) != nil || !isOwnHook(host, c.Command) {
					kept = append(kept, h)
				}
			}
			switch {
			case len(kept) == len(g.Hooks):
				continue
			case len(kept) == 0:
				d, err = d.CutElement(i, "hooks", event)
			default:
				d, err = withoutHooks(d, groups[i], kept, i, event)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}

// withoutHooks rewrites a group that has other commands.
func withoutHooks(d *edit.JSON, group json.RawMessage, kept []json.RawMessage, i int, event string) (*edit.JSON, error) {
	g, err := edit.ParseJSON(group)
	if err != nil {
		return nil, err
	}
	if g, _, err = g.Set(kept, "hooks"); err != nil {
		return nil, err
	}
	return d.SetElement(json.RawMessage(g.Bytes()), i, "hooks", event)
}

var ownHook = lazyregexp.New(`(?:^|[/\\'"])` + ownProgram + `['"]?\s+(?:\S+\s+)*?hook\s+([a-z]+)(?:\s|$)`)

// isOwnHook reports whether a command is lcm's hook for a host, at any path.
func isOwnHook(host, command string) bool {
	m := ownHook().FindStringSubmatch(command)
	return m != nil && m[1] == host
}

// table is a table of a TOML file.
func table(file, what string, lines []string, path ...string) entry {
	return entry{path: file, what: what,
		put: func(src []byte) ([]byte, [][]string, error) {
			out, err := edit.SetTable(src, path, lines)
			return out, nil, err
		},
		cut: func(src []byte, _ [][]string) ([]byte, error) { return edit.CutTable(src, path) },
		theirs: func(src []byte) bool {
			server, err := edit.HasTable(src, path)
			return err == nil && server != nil && !isOwnServer(server["command"])
		},
	}
}

// ownFile is a file that only lcm writes; it contains sign.
func ownFile(file, what, sign, content string) entry {
	return entry{path: file, what: what, whole: true,
		put: func(src []byte) ([]byte, [][]string, error) {
			if len(src) > 0 && !bytes.Contains(src, []byte(sign)) {
				return nil, nil, fmt.Errorf("there is a file in its place that lcm did not write")
			}
			return []byte(content), nil, nil
		},
		cut: func(src []byte, _ [][]string) ([]byte, error) {
			if !bytes.Contains(src, []byte(sign)) {
				return src, nil
			}
			return nil, nil
		},
	}
}

// section is a marked section of a text file.
func section(file, text string) entry {
	return entry{path: file, what: "guidance",
		put: func(src []byte) ([]byte, [][]string, error) {
			out, err := edit.SetSection(src, text)
			return out, nil, err
		},
		cut: func(src []byte, _ [][]string) ([]byte, error) { return edit.CutSection(src) },
	}
}

// skillSign identifies lcm's skill.
const skillSign = "name: lcm-memory"

// guidance returns the entries that teach an agent to recall. An unwanted one has no put.
func guidance(o Options, skill, file string) []entry {
	s := ownFile(skill, "skill", skillSign, "---\n"+skillSign+"\ndescription: "+skillDescription+"\n---\n\n"+strings.TrimSpace(o.Text)+"\n")
	f := section(file, o.Text)
	if o.Guidance != SkillGuidance {
		s.put = nil
	}
	if o.Guidance != FileGuidance {
		f.put = nil
	}
	return []entry{s, f}
}

const skillDescription = "How to recall what was said, decided, run and read in earlier work, also before a compaction and in other sessions of this project. " +
	"Use it when the user refers to earlier work, or when something that was done before is needed exactly."
