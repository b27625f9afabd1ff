// Package qwen has everything that lcm knows of Qwen Code.
//
// A session is a file of JSON lines below projects/ in the program's directory; sub-agents
// have files in a directory beside those of sessions. The lines look like Claude Code's, but
// their messages have the shape of Gemini's API: they have parts and no content. When the user
// goes back, a record says so and names the record before the prompt that was taken back. A
// fork begins with copies of the records of its origin.
package qwen

import (
	"path/filepath"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/internal/sessionfiles"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// Name is the host's short name.
const Name = "qwen"

// Host is Qwen Code.
type Host struct{ *sessionfiles.Kind }

// New returns the host.
func New() Host {
	return Host{&sessionfiles.Kind{Host: Name, Format: llms.FormatQwen, Pattern: "*/chats/*.jsonl", Agents: "*/subagents/*/agent-*.jsonl", Is: is, Complete: complete}}
}

// About implements [hosts.Host].
func (Host) About() hosts.About {
	return hosts.About{Name: Name, Title: "Qwen Code", ForgetsStart: true, WritesLate: true, MCP: hosts.MCP{Client: "qwen-cli-mcp-client-lcm"}}
}

// Settings implements [setup.Host].
func (Host) Settings(m hosts.Machine) string {
	return m.Env("QWEN_HOME", filepath.Join(m.Home, ".qwen"))
}

// Find implements [hosts.Host].
func (h Host) Find(m hosts.Machine) hosts.Installation {
	return hosts.FindIn(h.Settings(m), "projects")
}

// is reports whether a line is a record of a session.
func is(line []byte) bool {
	v, err := wire.Members(line, "sessionId", "uuid")
	return err == nil && v[0] != nil && v[1] != nil && wire.IsQwen(line)
}

// complete completes a record.
func complete(rec *hosts.Record) {
	v, err := wire.Members(rec.Raw.Bytes, "type", "subtype", "parentUuid", "cwd", "provenance", "forkedFrom", "agentName", "systemPayload")
	if err != nil {
		return
	}
	rec.Type = wire.Unquote(v[0])
	sub := wire.Unquote(v[1])
	if sub != "" {
		rec.Type += "/" + sub
	}
	rec.Dir, rec.Agent = wire.Unquote(v[3]), wire.Unquote(v[6])
	if v[5] != nil {
		rec.Flags |= store.FlagDuplicate
	}
	switch said := wire.Unquote(v[4]); {
	case sub == "rewind":
		rec.Branch, rec.After = true, wire.Unquote(v[2])
	case sub == "chat_compression":
		rec.Flags |= store.FlagHostSummary
	case sub == "custom_title", sub == "parent_session":
		if of, err := wire.Members(v[7], "customTitle", "parentSessionId"); err == nil {
			rec.Title, rec.Parent = wire.Unquote(of[0]), wire.Unquote(of[1])
		}
	case rec.Role == llms.RoleUser && said != "" && said != "real_user":
		rec.Flags |= store.FlagSynthetic
	}
	if len(rec.Parts) == 0 || rec.Role == llms.RoleSystem {
		rec.Flags |= store.FlagHidden
	}
}
