package setup

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts/setup/edit"
	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
)

// member is an entry of a JSON object at a path of names.
func member(file, what string, value any, path ...string) entry {
	get := func(src []byte) json.RawMessage {
		d, err := edit.ParseJSON(src)
		if err != nil {
			return nil
		}
		return d.Get(path...)
	}
	theirs := func(src []byte) bool {
		var server struct{ Command any }
		raw := get(src)
		return raw != nil && (json.Unmarshal(raw, &server) != nil || !isOwnServer(server.Command))
	}
	e := entry{path: file, what: what, theirs: theirs,
		put: func(src []byte) ([]byte, [][]string, error) {
			d, err := edit.ParseJSON(src)
			if err != nil {
				return nil, nil, err
			}
			if fields := fieldsOf(value); d.Get(path...) != nil && !theirs(src) {
				// Keys of the user's own in lcm's entry stay.
				for _, name := range sortedKeys(fields) {
					if _, err := d.Set(fields[name], append(slices.Clone(path), name)...); err != nil {
						return nil, nil, err
					}
				}
				return d.Bytes(), nil, nil
			}
			made, err := d.Set(value, path...)
			return d.Bytes(), made, err
		},
		cut: func(src []byte, made [][]string) ([]byte, error) {
			return cutJSON(src, made, func(d *edit.JSON) error { return d.Cut(path...) })
		},
		back: func(src, original []byte) ([]byte, error) {
			d, err := edit.ParseJSON(src)
			if err == nil {
				_, err = d.Set(get(original), path...)
			}
			if err != nil {
				return nil, err
			}
			return d.Bytes(), nil
		},
		extra: func(src []byte) (names []string) {
			own := fieldsOf(value)
			for _, name := range sortedKeys(fieldsOf(get(src))) {
				if own[name] == nil {
					names = append(names, name)
				}
			}
			return names
		},
	}
	for n := 1; n < len(path); n++ {
		e.within = append(e.within, path[:n])
	}
	return e
}

// fieldsOf returns the members of a value that is a JSON object.
func fieldsOf(value any) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if text, err := json.Marshal(value); err != nil || json.Unmarshal(text, &fields) != nil {
		return nil
	}
	return fields
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

// cutJSON removes something from a JSON file, and then the containers in made that are empty.
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

// emptiable returns the containers of a JSON file that have something in them.
func emptiable(src []byte, containers [][]string) [][]string {
	d, err := edit.ParseJSON(src)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(containers), func(path []string) bool { return d.Empty(path...) })
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
	within := [][]string{{"hooks"}}
	for _, e := range events {
		within = append(within, []string{"hooks", e.name})
	}
	return entry{path: file, what: "hooks", within: within,
		put: func(src []byte) ([]byte, [][]string, error) {
			d, err := edit.ParseJSON(src)
			if err != nil {
				return nil, nil, err
			}
			var made [][]string
			for _, e := range events {
				has, err := replaceHook(d, host, e, command)
				if err == nil && !has {
					var more [][]string
					more, err = d.Append(hookGroup{Hooks: []hookCommand{{Type: "command", Command: command, Timeout: e.timeout}}}, "hooks", e.name)
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

// replaceHook gives the first hook of lcm for an event the command, also one of an older lcm
// in a group of the user, and removes others. It reports whether there is one.
func replaceHook(d *edit.JSON, host string, e event, command string) (has bool, err error) {
	return has, eachHook(d, host, e.name, func(h json.RawMessage, c hookCommand) (json.RawMessage, error) {
		if has {
			return nil, nil
		}
		has = true
		if c.Command == command {
			return h, nil
		}
		one, err := edit.ParseJSON(h)
		if err == nil {
			_, err = one.Set(command, "command")
		}
		if err == nil && c.Timeout == 0 {
			_, err = one.Set(e.timeout, "timeout")
		}
		if err != nil {
			return nil, err
		}
		return one.Bytes(), nil
	})
}

// eachHook replaces each of lcm's hooks for an event with the result of fn; nil removes it.
// A group that has no hook left is removed.
func eachHook(d *edit.JSON, host, event string, fn func(json.RawMessage, hookCommand) (json.RawMessage, error)) error {
	gone := 0
	for i, group := range d.Elements("hooks", event) {
		var g struct {
			Hooks []json.RawMessage `json:"hooks"`
		}
		if json.Unmarshal(group, &g) != nil {
			continue
		}
		var kept []json.RawMessage
		same := true
		for _, h := range g.Hooks {
			var c hookCommand
			now := h
			if json.Unmarshal(h, &c) == nil && isOwnHook(host, c.Command) {
				var err error
				if now, err = fn(h, c); err != nil {
					return err
				}
			}
			if now != nil {
				kept = append(kept, now)
			}
			same = same && bytes.Equal(now, h)
		}
		if same {
			continue
		}
		if len(kept) == 0 {
			if err := d.CutElement(i-gone, "hooks", event); err != nil {
				return err
			}
			gone++
			continue
		}
		whole, err := edit.ParseJSON(group)
		if err == nil {
			_, err = whole.Set(kept, "hooks")
		}
		if err == nil {
			err = d.SetElement(json.RawMessage(whole.Bytes()), i-gone, "hooks", event)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// cutHooks removes lcm's commands from every event and group.
func cutHooks(d *edit.JSON, host string) error {
	var events map[string]json.RawMessage
	if d.Get("hooks") == nil || json.Unmarshal(d.Get("hooks"), &events) != nil {
		return nil
	}
	for _, event := range sortedKeys(events) {
		if err := eachHook(d, host, event, func(json.RawMessage, hookCommand) (json.RawMessage, error) { return nil, nil }); err != nil {
			return err
		}
	}
	return nil
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
		back: func(src, original []byte) ([]byte, error) { return edit.CopyTable(src, original, path) },
		extra: func(src []byte) (names []string) {
			server, _ := edit.HasTable(src, path) // a broken file was an error before
			for _, name := range sortedKeys(server) {
				if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, name+" = ") }) {
					names = append(names, name)
				}
			}
			return names
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
