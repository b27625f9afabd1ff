package codex

import (
	"cmp"
	"context"
	"iter"
	"strconv"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/internal/lines"
	"github.com/lossless-context/lcm/internal/ingest"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// Read implements [hosts.Host].
func (Host) Read(ctx context.Context, t hosts.Transcript, from hosts.Position) iter.Seq2[hosts.Record, error] {
	return func(yield func(hosts.Record, error) bool) {
		prev := from.State // the id of the record before
		for line, err := range lines.Read(ctx, t.Path, from.Offset, from.Head) {
			if err != nil {
				yield(hosts.Record{}, err)
				return
			}
			if line.Anew {
				prev = ""
			}
			rec := hosts.TooLong(line.End - line.Start)
			if line.Bytes != nil {
				rec = record(line.Bytes, prev)
				prev = rec.ID
			}
			rec.End = hosts.Position{Offset: line.End, Head: line.Head, State: prev}
			if !yield(rec, nil) {
				return
			}
		}
	}
}

// record converts a line to a record. Its id is its number in the file, if it has one.
func record(raw []byte, prev string) hosts.Record {
	v, err := wire.Members(raw, "type", "ordinal", "payload")
	var m llms.Message
	if err == nil {
		m, err = wire.Decode(llms.FormatCodex, "", raw)
	}
	if err != nil {
		return hosts.Unreadable(raw, prev)
	}
	rec := hosts.Record{Input: ingest.Input{Message: m}, Known: !hosts.IsUnknown(m)}
	if n, err := strconv.ParseUint(string(v[1]), 10, 63); err == nil {
		rec.ID = "ordinal:" + strconv.FormatUint(n, 10)
	} else {
		rec.ID = hosts.ChainedID(prev, raw)
	}
	kind, payload := wire.Unquote(v[0]), v[2]
	if payload == nil {
		payload = raw // an old rollout
	}
	rec.Type = kind
	p, _ := wire.Members(payload, "type", "cwd", "num_turns", "parent_thread_id", "agent_nickname", "agent_role", "thread_name", "source")
	if sub := wire.Unquote(p[0]); sub != "" && sub != kind {
		rec.Type = kind + "/" + sub
	}
	switch rec.Type {
	case "session_meta":
		rec.Dir, rec.Parent, rec.Agent = wire.Unquote(p[1]), parent(p[3], p[7]), cmp.Or(wire.Unquote(p[4]), wire.Unquote(p[5]))
	case "turn_context":
		rec.Dir = wire.Unquote(p[1])
	case "event_msg/thread_rolled_back":
		if n, err := strconv.Atoi(string(p[2])); err == nil && n > 0 {
			rec.Undo = n
		}
	case "event_msg/thread_name_updated":
		rec.Title = wire.Unquote(p[6])
	}
	if rec.Flags = flags(kind, m); !rec.Known {
		rec.Flags |= store.FlagUnknown | store.FlagHidden
	}
	rec.Type = cmp.Or(rec.Type, "(none)")
	return rec
}

// parent returns the thread that started a sub-agent.
func parent(id, source []byte) string {
	if s := wire.Unquote(id); s != "" {
		return s
	}
	for _, name := range []string{"subagent", "thread_spawn", "parent_thread_id"} {
		v, err := wire.Members(source, name)
		if err != nil {
			return ""
		}
		source = v[0]
	}
	return wire.Unquote(source)
}

// flags returns the flags of a record.
func flags(kind string, m llms.Message) store.Flag {
	switch {
	case kind == "compacted" && len(m.Parts) > 0:
		return store.FlagHostSummary
	case kind == "compacted":
		return store.FlagHostSummary | store.FlagHidden
	case hosts.IsUnknown(m), kind == "event_msg", len(m.Parts) == 0:
		return store.FlagHidden
	case m.Role == llms.RoleSystem, m.Role == llms.RoleUser && synthetic(m.PlainText()):
		return store.FlagSynthetic
	}
	return 0
}

// synthetic reports whether the program wrote a user's message.
func synthetic(text string) bool {
	return lines.HasPrefix(text, "<environment_context>", "<user_instructions>", "<skills_instructions>", "<skill>", "<turn_aborted>",
		"<subagent_notification>", "<user_shell_command>", "<permissions instructions>", "<collaboration_mode>", "# AGENTS.md instructions")
}
