// Package droid has everything that lcm knows of Factory's Droid.
//
// A session is a file of JSON lines below sessions/. The program rewrites the first line when
// the session's title changes. Runs of hooks are messages that only the user sees. A
// compaction that the user asks for goes on in a new session.
package droid

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/internal/sessionfiles"
	"github.com/lossless-context/lcm/internal/kit/toolname"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// Name is the host's short name.
const Name = "droid"

// Host is Droid.
type Host struct{ *sessionfiles.Kind }

// New returns the host.
func New() Host {
	return Host{&sessionfiles.Kind{Host: Name, Format: llms.FormatDroid, Pattern: "*/*.jsonl", Is: is, Complete: complete}}
}

// About implements [hosts.Host].
func (Host) About() hosts.About {
	return hosts.About{Name: Name, Title: "Droid", CompactsUnseen: true, WritesLate: true,
		LoadTools: fmt.Sprintf(`If you do not have these tools, load them: ToolSearch with the query "select:lcm___%s".`, strings.Join(toolname.Agent(), ",lcm___")),
		MCP:       hosts.MCP{Client: "factory-cli", SessionMeta: "assemblySessionId"}}
}

// Settings implements [setup.Host].
func (Host) Settings(m hosts.Machine) string {
	return filepath.Join(m.Env("FACTORY_HOME_OVERRIDE", m.Home), ".factory")
}

// Find implements [hosts.Host].
func (h Host) Find(m hosts.Machine) hosts.Installation {
	return hosts.FindIn(h.Settings(m), "sessions")
}

// is reports whether a line begins a session.
func is(line []byte) bool {
	v, err := wire.Members(line, "type", "owner", "version")
	return err == nil && wire.Unquote(v[0]) == "session_start" && v[1] != nil && v[2] != nil
}

// complete completes a record.
func complete(rec *hosts.Record) {
	v, err := wire.Members(rec.Raw.Bytes, "type", "parentId", "cwd", "title", "callingSessionId", "message")
	if err != nil {
		return
	}
	rec.Type = wire.Unquote(v[0])
	switch rec.Type {
	case "session_start":
		rec.Mutable, rec.Dir, rec.Parent = true, wire.Unquote(v[2]), wire.Unquote(v[4])
		if title := wire.Unquote(v[3]); title != "New Session" {
			rec.Title = title
		}
	case "compaction_state":
		rec.Flags |= store.FlagHostSummary
	case "message":
		if strings.HasPrefix(rec.ID, "context-") { // reminders for the model
			rec.Flags |= store.FlagSynthetic
		} else if rec.Role == llms.RoleUser && len(rec.Parts) > 0 {
			rec.Branch, rec.After = v[1] != nil, wire.Unquote(v[1])
		}
		if seen, err := wire.Members(v[5], "visibility"); err == nil && wire.Unquote(seen[0]) == "user_only" {
			rec.Flags |= store.FlagHidden
		}
	}
	if len(rec.Parts) == 0 {
		rec.Flags |= store.FlagHidden
	}
}
