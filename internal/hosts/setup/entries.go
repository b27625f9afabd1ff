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
			made, err := d.Set(value, path...)
			return d.Bytes(), made, err
		},
		cut: func(src []byte, made [][]string) ([]byte, error) {
			return cutJSON(src, made, func(d *edit.JSON) error { return d.Cut(path...) })
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
func cutJSON(src []byte, made [][]string, fn func(*edit.JSON) error) ([]byte, error) {
	if len(bytes.TrimSpace(src)) == 0 {
		return src, nil
	}
	d, err := edit.ParseJSON(src)
	if err == nil {
		err = fn(d)
	}
	for i := len(made) - 1; i >= 0 && err == nil; i-- {
		if d.Empty(made[i]...) {
			err = d.Cut(made[i]...)
		}
	}
	if err != nil {
		return nil, err
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
				all := groups(d, e.name)
				own := slices.IndexFunc(all, func(g hookGroup) bool { return len(g.Hooks) == 1 && isOwnHook(host, g.Hooks[0].Command) })
				runs := func(h hookCommand) bool { return h.Command == command }
				switch {
				case own >= 0:
					err = d.SetElement(group, own, "hooks", e.name)
				case slices.ContainsFunc(all, func(g hookGroup) bool { return slices.ContainsFunc(g.Hooks, runs) }): // in a group of the user
				default:
					var more [][]string
					more, err = d.Append(group, "hooks", e.name)
					made = append(made, more...)
				}
				if err != nil {
					return nil, nil, err
				}
			}
			return d.Bytes(), made, nil
		},
		cut: func(src []byte, made [][]string) ([]byte, error) {
			return cutJSON(src, made, func(d *edit.JSON) error { return cutHooks(d, host) })
		},
	}
}

// groups returns the groups of an event's hooks. One of another shape is empty.
func groups(d *edit.JSON, event string) []hookGroup {
	elements := d.Elements("hooks", event)
	all := make([]hookGroup, len(elements))
	for i, e := range elements {
		if json.Unmarshal(e, &all[i]) != nil {
			all[i] = hookGroup{}
		}
	}
	return all
}

// cutHooks removes lcm's commands from every event and group.
func cutHooks(d *edit.JSON, host string) error {
	var events map[string]json.RawMessage
	if d.Get("hooks") == nil || json.Unmarshal(d.Get("hooks"), &events) != nil {
		return nil
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
				err = d.CutElement(i, "hooks", event)
			default:
				err = withoutHooks(d, groups[i], kept, i, event)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// withoutHooks rewrites a group that has other commands.
func withoutHooks(d *edit.JSON, group json.RawMessage, kept []json.RawMessage, i int, event string) error {
	g, err := edit.ParseJSON(group)
	if err == nil {
		_, err = g.Set(kept, "hooks")
	}
	if err != nil {
		return err
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
