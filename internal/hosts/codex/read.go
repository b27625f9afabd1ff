package codex

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/internal/lines"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// Read implements [hosts.Host]. The state of a position is the id of the record before
// and, in a revision, the revision and a space before it.
func (Host) Read(ctx context.Context, t hosts.Transcript, from hosts.Position) iter.Seq2[hosts.Record, error] {
	return func(yield func(hosts.Record, error) bool) {
		files := revisions(t.Path)
		revision, prev, ok := strings.Cut(from.State, " ")
		if !ok {
			revision, prev = "", from.State
		}
		at := slices.IndexFunc(files, func(f file) bool { return f.revision == revision })
		if at < 0 { // the file is gone
			at, from, prev = 0, hosts.Position{}, ""
		}
		before := lineageOf(ctx, files[:at])
		for ; at < len(files); at++ {
			r := reader{file: files[at], before: before, prev: prev, from: from}
			if !r.read(ctx, yield) {
				return
			}
			before = lineageOf(ctx, files[:at+1])
			from, prev = hosts.Position{}, files[min(at+1, len(files)-1)].revision
		}
	}
}

// reader reads one file of a thread.
type reader struct {
	file
	before lineage
	prev   string // the id of the record before
	from   hosts.Position
}

// read yields the records of the file and reports whether the caller wants more.
func (r *reader) read(ctx context.Context, yield func(hosts.Record, error) bool) bool {
	for line, err := range lines.Read(ctx, r.path, r.from.Offset, r.from.Head) {
		if err != nil {
			yield(hosts.Record{}, err)
			return false
		}
		if line.Anew {
			r.prev = r.revision
		}
		rec := hosts.TooLong(line.End - line.Start)
		if line.Bytes != nil {
			rec = record(line.Bytes, r.prev, r.file)
			r.prev = rec.ID
			if line.Start == 0 {
				r.begin(ctx, &rec, line.Bytes)
			}
		}
		state := r.prev
		if r.revision != "" {
			state = r.revision + " " + r.prev
		}
		rec.End = hosts.Position{Offset: line.End, Head: line.Head, State: state}
		if !yield(rec, nil) {
			return false
		}
	}
	return true
}

// record converts a line of a file to a record. Its id is its number in the thread, if it
// has one.
func record(raw []byte, prev string, f file) hosts.Record {
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
		rec.ID = f.id(n)
	} else {
		rec.ID = hosts.ChainedID(prev, raw)
	}
	kind, payload := wire.Unquote(v[0]), v[2]
	if payload == nil {
		payload = raw // an old rollout
	}
	rec.Type = kind
	p, _ := wire.Members(payload, "type", "cwd", "parent_thread_id", "agent_nickname", "agent_role", "thread_name", "source")
	if sub := wire.Unquote(p[0]); sub != "" && sub != kind {
		rec.Type = kind + "/" + sub
	}
	switch rec.Type {
	case "session_meta":
		rec.Dir, rec.Parent, rec.Agent = wire.Unquote(p[1]), parent(p[2], p[6]), cmp.Or(wire.Unquote(p[3]), wire.Unquote(p[4]))
	case "turn_context":
		rec.Dir = wire.Unquote(p[1])
	case "event_msg/thread_name_updated":
		rec.Title = wire.Unquote(p[5])
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
