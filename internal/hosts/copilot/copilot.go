// Package copilot has everything that lcm knows of GitHub's Copilot CLI.
//
// A session is a directory below session-state/ in the program's directory, with a file of
// events. Each event names the one before it. When the user goes back, the program removes
// events from the file. Events of a sub-agent are in the file of its session. Beside the
// sessions there is a database with an index of them (session-store.db), which the model may
// search and lcm does not read.
package copilot

import (
	"path/filepath"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/internal/sessionfiles"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// Name is the host's short name.
const Name = "copilot"

// Host is the Copilot CLI.
type Host struct{ *sessionfiles.Kind }

// New returns the host.
func New() Host {
	return Host{&sessionfiles.Kind{Host: Name, Format: llms.FormatCopilot, Pattern: "*/" + file, Session: session, Is: is, Complete: complete}}
}

// file is the name of a session's file.
const file = "events.jsonl"

// About implements [hosts.Host].
func (Host) About() hosts.About {
	return hosts.About{Name: Name, Title: "Copilot CLI", FlatAnswers: true, CompactsUnseen: true, WritesLate: true,
		MCP: hosts.MCP{Client: "copilot-cli", SessionEnv: []string{"COPILOT_AGENT_SESSION_ID"}}}
}

// Settings implements [setup.Host].
func (Host) Settings(m hosts.Machine) string {
	return m.Env("COPILOT_HOME", filepath.Join(m.Home, ".copilot"))
}

// Find implements [hosts.Host].
func (h Host) Find(m hosts.Machine) hosts.Installation {
	return hosts.FindIn(h.Settings(m), "session-state")
}

// session returns the session of a file: the name of its directory.
func session(path string) string {
	if filepath.Base(path) == file {
		path = filepath.Dir(path)
	}
	return strings.TrimSuffix(filepath.Base(path), ".jsonl")
}

// is reports whether a line begins a session.
func is(line []byte) bool {
	v, err := wire.Members(line, "type", "data", "parentId")
	if err != nil || wire.Unquote(v[0]) != "session.start" || v[2] == nil {
		return false
	}
	data, err := wire.Members(v[1], "copilotVersion")
	return err == nil && data[0] != nil
}

// complete completes a record. A prompt may follow an earlier event than the last one that is
// stored: then events were removed from the file.
func complete(rec *hosts.Record) {
	v, err := wire.Members(rec.Raw.Bytes, "type", "parentId", "agentId", "data")
	if err != nil {
		return
	}
	rec.Type = wire.Unquote(v[0])
	data, err := wire.Members(v[3], "cwd", "context", "source", "isAutopilotContinuation")
	if err != nil { // there are none
		data = make([][]byte, 4)
	}
	switch rec.Type {
	case "user.message":
		rec.Branch, rec.After = true, wire.Unquote(v[1])
		if wire.Unquote(data[2]) != "" || string(data[3]) == "true" {
			rec.Flags |= store.FlagSynthetic
		}
	case "skill.invoked", "system.notification":
		rec.Flags |= store.FlagSynthetic
	case "session.compaction_complete":
		rec.Flags |= store.FlagHostSummary
	case "session.start", "session.resume":
		if in, err := wire.Members(data[1], "cwd"); err == nil {
			rec.Dir = wire.Unquote(in[0])
		}
	case "session.context_changed":
		rec.Dir = wire.Unquote(data[0])
	}
	if len(rec.Parts) == 0 || rec.Role == llms.RoleSystem || v[2] != nil {
		rec.Flags |= store.FlagHidden // also the work of a sub-agent
		rec.Branch = false
	}
}
