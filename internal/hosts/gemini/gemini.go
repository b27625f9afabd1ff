// Package gemini has everything that lcm knows of Gemini CLI.
//
// A session is a file of JSON lines below tmp/ in the program's directory, in a directory for
// each project; sub-agents have files in a directory with the id of their session. The first
// line names the session. A line is a message, or it changes the session: it sets values, it
// replaces the history (when the session is resumed or compacted, and when an answer was
// interrupted), or it takes back a prompt and what followed. An answer with tool calls is
// written twice under one id.
package gemini

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"iter"
	"path/filepath"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/internal/lines"
	"github.com/lossless-context/lcm/internal/hosts/internal/sessionfiles"
	"github.com/lossless-context/lcm/internal/kit/regularfile"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// Name is the host's short name.
const Name = "gemini"

// Host is Gemini CLI.
type Host struct{ *sessionfiles.Kind }

// New returns the host.
func New() Host {
	return Host{&sessionfiles.Kind{Host: Name, Format: llms.FormatGemini, Pattern: "*/chats/session-*.jsonl", Agents: "*/chats/*/*.jsonl",
		Session: session, Dir: dir, Is: is, Complete: complete}}
}

// About implements [hosts.Host].
func (Host) About() hosts.About {
	return hosts.About{Name: Name, Title: "Gemini CLI", CompactsUnseen: true, CompactsInFile: true, StartsWithPrompt: true, Events: events, HookTag: "hook_context", MCP: hosts.MCP{Client: "gemini-cli-mcp-client"}}
}

// Settings implements [setup.Host].
func (Host) Settings(m hosts.Machine) string {
	return filepath.Join(m.Env("GEMINI_CLI_HOME", m.Home), ".gemini")
}

// Find implements [hosts.Host].
func (h Host) Find(m hosts.Machine) hosts.Installation {
	return hosts.FindIn(h.Settings(m), "tmp")
}

// Transcripts implements [hosts.Host]. When a session is resumed, the program begins a file and
// then goes on in the first one: later files of a session without a message are left out.
func (h Host) Transcripts(ctx context.Context, in hosts.Installation) iter.Seq2[hosts.Transcript, error] {
	return func(yield func(hosts.Transcript, error) bool) {
		seen := map[string]bool{}
		for t, err := range h.Kind.Transcripts(ctx, in) {
			again := err == nil && seen[t.Session] && !hasMessage(ctx, t.Path)
			seen[t.Session] = true
			if !again && !yield(t, err) {
				return
			}
		}
	}
}

// hasMessage reports whether a file has a message, or cannot be read.
func hasMessage(ctx context.Context, path string) bool {
	for line, err := range lines.Read(ctx, path, 0, "") {
		v, bad := wire.Members(line.Bytes, "type")
		if err != nil || bad != nil || v[0] != nil {
			return true
		}
	}
	return false
}

// session returns the session of a file. Its name has only the beginning of the id.
func session(path string) string {
	v, err := wire.Members(firstLine(path), "sessionId")
	id := ""
	if err == nil {
		id = wire.Unquote(v[0])
	}
	return cmp.Or(id, strings.TrimSuffix(filepath.Base(path), ".jsonl"))
}

// dir returns the working directory of a session. A file beside the directory of the project's
// sessions names it.
func dir(path string) string {
	i := strings.LastIndex(filepath.ToSlash(path), "/chats/")
	if i < 0 {
		return ""
	}
	return strings.TrimSpace(string(firstLine(filepath.Join(path[:i], ".project_root"))))
}

// firstLine returns the first line of a file, or as much of it as lcm needs.
func firstLine(path string) []byte {
	f, _, err := regularfile.Open(path)
	if err != nil {
		return nil // reading the session will fail too
	}
	defer f.Close()
	line, _ := bufio.NewReader(io.LimitReader(f, 8<<10)).ReadBytes('\n') // the last line may be the first
	return line
}

// is reports whether a line begins a session.
func is(line []byte) bool {
	v, err := wire.Members(line, "sessionId", "projectHash", "startTime")
	return err == nil && v[0] != nil && v[1] != nil && v[2] != nil
}

// complete completes a record.
func complete(rec *hosts.Record) {
	v, err := wire.Members(rec.Raw.Bytes, "type", "toolCalls", "$set", "$rewindTo", "projectHash")
	if err != nil {
		return
	}
	rec.Type, rec.Mutable = wire.Unquote(v[0]), rec.ID != ""
	switch {
	case v[2] != nil:
		completeSet(rec, v[2])
	case v[3] != nil:
		rec.Type = "$rewindTo"
		rec.Branch, rec.After, rec.Before = true, wire.Unquote(v[3]), true
	case v[4] != nil:
		rec.Type = "session"
	case v[1] != nil && rec.Role == llms.RoleAssistant: // the second form of an answer
		sum := sha256.Sum256(rec.Raw.Bytes)
		rec.ID += "@" + hex.EncodeToString(sum[:6])
	}
	if len(rec.Parts) == 0 || rec.Role == llms.RoleSystem {
		rec.Flags |= store.FlagHidden
	}
}

// completeSet completes a record that sets values of the session. A history that ends with an
// earlier message than the last one goes back to it. A summary keeps its id in later histories.
func completeSet(rec *hosts.Record, set []byte) {
	rec.Type = "$set"
	v, err := wire.Members(set, "summary", "messages")
	if err != nil {
		return
	}
	rec.Title = wire.Unquote(v[0])
	for said := range wire.Elements(v[1]) {
		rec.Type = "$set/messages"
		m, err := wire.Members(said, "id", "content")
		if err != nil {
			return
		}
		rec.Branch, rec.After = true, wire.Unquote(m[0])
		if len(rec.Parts) > 0 && strings.Contains(string(m[1]), "<state_snapshot>") {
			rec.ID, rec.Mutable = cmp.Or(rec.ID, "summary:"+rec.After), true
			rec.Flags |= store.FlagHostSummary
		}
	}
}
