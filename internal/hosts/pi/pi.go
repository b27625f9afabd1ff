// Package pi has everything that lcm knows of pi, and of the records of programs that are
// built on it.
//
// A session is a file of JSON lines. The entries form a tree: a prompt that does not follow
// the entry before it begins a branch. An extension lets lcm own the context of its sessions:
// extension.js, which speaks with `lcm engine`.
package pi

import (
	_ "embed"
	"path/filepath"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/internal/sessionfiles"
	"github.com/lossless-context/lcm/internal/hosts/setup"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// Name is the host's short name.
const Name = "pi"

// Host is pi.
type Host struct{ *sessionfiles.Kind }

// New returns the host.
func New() Host {
	return Host{&sessionfiles.Kind{Host: Name, Format: llms.FormatPi, Pattern: "*/*.jsonl", Session: session, Is: is, Complete: Complete}}
}

// About implements [hosts.Host].
func (Host) About() hosts.About {
	return hosts.About{Name: Name, Title: "pi", HasEngine: true}
}

// Find implements [hosts.Host].
func (h Host) Find(m hosts.Machine) hosts.Installation {
	return hosts.FindIn(h.Settings(m), "sessions")
}

// Settings implements [setup.Host].
func (Host) Settings(m hosts.Machine) string {
	return m.Env("PI_CODING_AGENT_DIR", filepath.Join(m.Home, ".pi", "agent"))
}

//go:embed extension.js
var extension string

// Entries implements [setup.Host]: the extension, and a skill.
func (Host) Entries(dir string, o setup.Options) []setup.Entry {
	return []setup.Entry{
		setup.Script(filepath.Join(dir, "extensions", "lcm.js"), "extension", "// lcm for pi", setup.WithEngine(extension, o)),
		setup.Skill(filepath.Join(dir, "skills"), o),
	}
}

// Package implements [setup.PackageHost].
func (h Host) Package(version string) (map[string]string, error) {
	more := map[string]any{"keywords": []string{"pi-package"}, "pi": map[string]any{"extensions": []string{"./index.js"}}}
	return setup.PackageFiles(h, version, setup.WithEngine(extension, setup.Options{Binary: "lcm", Args: []string{"--plugin", Name}}), more, nil)
}

// session returns the session of a file, whose name has the time before it.
func session(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
	return name[strings.LastIndexByte(name, '_')+1:]
}

// is reports whether a line begins a session.
func is(line []byte) bool {
	v, err := wire.Members(line, "type", "version", "cwd")
	return err == nil && wire.Unquote(v[0]) == "session" && v[1] != nil && v[2] != nil
}

// Complete completes a record of pi.
func Complete(rec *hosts.Record) {
	v, err := wire.Members(rec.Raw.Bytes, "type", "parentId", "cwd", "name", "message")
	if err != nil {
		return
	}
	rec.Type = wire.Unquote(v[0])
	switch rec.Type {
	case "session":
		rec.Dir = wire.Unquote(v[2])
	case "session_info":
		rec.Title = wire.Unquote(v[3])
	case "compaction":
		rec.Flags |= store.FlagHostSummary
	case "branch_summary", "custom_message":
		rec.Flags |= store.FlagSynthetic
	case "message":
		if role, err := wire.Members(v[4], "role"); err == nil && wire.Unquote(role[0]) == "custom" {
			rec.Flags |= store.FlagSynthetic
		} else if rec.Role == llms.RoleUser {
			rec.Branch, rec.After = v[1] != nil, wire.Unquote(v[1])
		}
	}
	if len(rec.Parts) == 0 {
		rec.Flags |= store.FlagHidden
		rec.Branch = false
	}
}
