// Package cline has everything that lcm knows of the Cline CLI.
//
// A session is a directory with one JSON document, which the program rewrites whole with
// each message. A sub-agent has a document in the directory of the session that started
// it. Each message is a record, byte for byte. The document's other members are one more,
// without the time of the last change, which is never the same twice.
package cline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/internal/lines"
	"github.com/lossless-context/lcm/internal/hosts/internal/sessionfiles"
	"github.com/lossless-context/lcm/internal/hosts/setup"
	"github.com/lossless-context/lcm/internal/kit/regularfile"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// Name is the host's short name.
const Name = "cline"

// Host is the Cline CLI.
type Host struct{ *sessionfiles.Kind }

// New returns the host.
func New() Host {
	return Host{&sessionfiles.Kind{Host: Name, Format: llms.FormatCline, Pattern: "*/*.messages.json", Agents: "*/agent_*.messages.json",
		Suffix: ".messages.json", Complete: complete}}
}

// About implements [hosts.Host].
func (Host) About() hosts.About {
	return hosts.About{Name: Name, Title: "Cline", HidesInstructions: true,
		MCP: hosts.MCP{Client: "@cline/core", AnyDir: true}}
}

// Settings implements [setup.Host].
func (Host) Settings(m hosts.Machine) string {
	return m.Env("CLINE_DIR", filepath.Join(m.Home, ".cline"))
}

// Entries implements [setup.Host].
func (Host) Entries(dir string, o setup.Options) []setup.Entry {
	return []setup.Entry{
		setup.JSONServer(filepath.Join(dir, "data", "settings", "cline_mcp_settings.json"), o.StdioServer("").Waiting(setup.InSeconds), "mcpServers", "lcm"),
		setup.Skill(filepath.Join(dir, "skills"), o),
	}
}

// Find implements [hosts.Host].
func (h Host) Find(m hosts.Machine) hosts.Installation {
	return hosts.FindIn(h.Settings(m), "data/sessions")
}

// In implements [hosts.Host].
func (h Host) In(_ context.Context, path string) ([]hosts.Transcript, error) {
	path, info, err := lines.Stat(path)
	if err != nil {
		return nil, err
	}
	if ok, _ := filepath.Match("*.messages.json", filepath.Base(path)); info == nil || !ok {
		return nil, hosts.ErrNoTranscript
	}
	doc, _, err := document(path)
	if err != nil {
		return nil, err
	}
	if v, err := wire.Members(doc, "messages", "sessionId"); err != nil || v[0] == nil || v[1] == nil {
		return nil, hosts.ErrNoTranscript
	}
	return []hosts.Transcript{h.Transcript(path, info)}, nil
}

// document reads a file; one that is too long is only measured.
func document(path string) (doc []byte, size int64, err error) {
	f, info, err := regularfile.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	if info.Size() > lines.MaxLine {
		return nil, info.Size(), nil
	}
	doc, err = io.ReadAll(f)
	return doc, info.Size(), err
}

// again is the state of a position in a document that was read for a second time from its
// beginning, because the messages before the position had changed.
const again = "again"

// Read implements [hosts.Host]. The offset of a position is how many messages were read, its
// head their hash.
func (h Host) Read(ctx context.Context, t hosts.Transcript, from hosts.Position) iter.Seq2[hosts.Record, error] {
	return func(yield func(hosts.Record, error) bool) {
		doc, size, err := document(t.Path)
		if err == nil && doc == nil {
			yield(hosts.TooLong(size), nil)
			return
		}
		var v [][]byte
		if err == nil {
			v, err = wire.Members(doc, "messages")
		}
		if err == nil && v[0] == nil {
			err = errors.New("it has no messages")
		}
		if err != nil {
			yield(hosts.Record{}, fmt.Errorf("it is not a session of Cline: %w", err))
			return
		}
		if !yield(h.session(t.Path, doc, from), nil) {
			return
		}
		h.messages(ctx, v[0], from, yield)
	}
}

// session returns the record of the document's other members.
func (h Host) session(path string, doc []byte, at hosts.Position) hosts.Record {
	raw := wire.Without(doc, "messages", "updated_at")
	if raw == nil {
		raw = []byte("{}")
	}
	rec := h.Record(raw, "")
	rec.ID, rec.End = "session", at
	dir := filepath.Dir(path)
	if about, ok := hosts.ReadAside(dir, filepath.Base(dir)+".json", ""); ok {
		if v, err := wire.Members(about.Raw.Bytes, "cwd"); err == nil {
			rec.Dir = wire.Unquote(v[0])
		}
	}
	return rec
}

// messages yields the messages after a position.
func (h Host) messages(ctx context.Context, array []byte, from hosts.Position, yield func(hosts.Record, error) bool) {
	skipped, rewritten := int64(0), from.State == again
	if from.Offset > 0 {
		if n, head := before(array, from.Offset); n == from.Offset && head == from.Head {
			skipped = n
		} else {
			rewritten = true
		}
	}
	sum, prev, n := sha256.New(), "", int64(0)
	for raw := range wire.Elements(array) {
		if ctx.Err() != nil {
			yield(hosts.Record{}, ctx.Err())
			return
		}
		rec := h.Record(raw, prev)
		rec.Branch, rec.After = rewritten && rec.Role == llms.RoleUser && rec.Known, prev
		prev = rec.ID
		sum.Write(raw)
		if n++; n <= skipped {
			continue
		}
		rec.End = hosts.Position{Offset: n, Head: hex.EncodeToString(sum.Sum(nil)[:8])}
		if rewritten {
			rec.End.State = again
		}
		if !yield(rec, nil) {
			return
		}
	}
}

// before returns the hash of the first messages, and how many of them there are.
func before(array []byte, limit int64) (n int64, head string) {
	sum := sha256.New()
	for raw := range wire.Elements(array) {
		if n == limit {
			break
		}
		n++
		sum.Write(raw)
	}
	return n, hex.EncodeToString(sum.Sum(nil)[:8])
}

// complete completes a record. Its type is the message's role.
func complete(rec *hosts.Record) {
	rec.Mutable, rec.Type = true, "session"
	if v, err := wire.Members(rec.Raw.Bytes, "role", "metadata"); err == nil && v[0] != nil {
		rec.Type = wire.Unquote(v[0])
		if about, err := wire.Members(v[1], "kind", "displayRole"); err == nil {
			switch {
			case wire.Unquote(about[0]) == "compaction_summary":
				rec.Flags |= store.FlagHostSummary
			case wire.Unquote(about[1]) == "system": // the program's own words
				rec.Flags |= store.FlagSynthetic
			}
		}
	}
	if len(rec.Parts) == 0 {
		rec.Flags |= store.FlagHidden
	}
}
