package claude

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"path/filepath"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/internal/lines"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// Read implements [hosts.Host].
func (Host) Read(ctx context.Context, t hosts.Transcript, from hosts.Position) iter.Seq2[hosts.Record, error] {
	return func(yield func(hosts.Record, error) bool) {
		r := &reader{t: t, session: cmp.Or(t.Parent, t.Session)}
		r.restore(from)
		if from == (hosts.Position{}) && !r.meta(yield) {
			return
		}
		for line, err := range lines.Read(ctx, t.Path, from.Offset, from.Head) {
			if err != nil {
				yield(hosts.Record{}, err)
				return
			}
			if line.Anew {
				r.restore(hosts.Position{})
			}
			if !r.line(line, yield) {
				return
			}
		}
	}
}

// reader converts lines to records.
type reader struct {
	t       hosts.Transcript
	session string // the session id that its records should have
	prev    string // the id of the record before
	last    string // the uuid of the last record that has one
	queue   queue
	end     hosts.Position
}

// restore continues from a position, whose state holds the two ids and the queue.
func (r *reader) restore(from hosts.Position) {
	r.end = from
	var rest, queued string
	r.prev, rest, _ = strings.Cut(from.State, " ")
	r.last, queued, _ = strings.Cut(rest, " ")
	r.queue = readQueue(queued)
}

// meta yields the file that describes a sub-agent, beside its transcript.
func (r *reader) meta(yield func(hosts.Record, error) bool) bool {
	if r.t.Parent == "" {
		return true
	}
	name := strings.TrimSuffix(filepath.Base(r.t.Path), suffix) + ".meta.json"
	rec, ok := r.aside(filepath.Base(filepath.Dir(r.t.Path)), name, name)
	if !ok {
		return true
	}
	if v, err := wire.Members(rec.Raw.Bytes, "agentType", "description"); err == nil {
		rec.Agent, rec.Title = wire.Unquote(v[0]), wire.Unquote(v[1])
	}
	return yield(rec, nil)
}

func (r *reader) line(l lines.Line, yield func(hosts.Record, error) bool) bool {
	rec := hosts.TooLong(l.End - l.Start)
	if l.Bytes != nil {
		rec = r.record(l.Bytes)
		r.prev = rec.ID
	}
	asides := r.spilled(l.Bytes)
	for i := range asides {
		asides[i].Time = rec.Time
	}
	if rec.Type == queueOperation {
		r.queue.operation(rec)
	} else {
		asides = append(asides, r.queue.before(rec)...)
	}
	before := r.end
	r.end = hosts.Position{Offset: l.End, Head: l.Head, State: strings.TrimRight(r.prev+" "+r.last+" "+r.queue.String(), " ")}
	rec.End = r.end
	for _, aside := range asides {
		aside.End = before
		if !yield(aside, nil) {
			return false
		}
	}
	return yield(rec, nil)
}

// fields are the fields of a record beside its message.
type fields struct {
	kind, subtype        string
	parent               []byte // a string, null, or nothing
	session, cwd, agent  string
	sidechain, meta      bool
	compact, failed      bool
	aiTitle, customTitle string
	uuid                 string
	attachment           string
}

func read(record []byte) (fields, error) {
	v, err := wire.Members(record, "type", "subtype", "parentUuid", "sessionId", "cwd", "isSidechain", "isMeta", "isCompactSummary",
		"isApiErrorMessage", "aiTitle", "customTitle", "uuid", "agentId", "attachment")
	if err != nil {
		return fields{}, err
	}
	text := func(i int) string { return wire.Unquote(v[i]) }
	is := func(i int) bool { return string(v[i]) == "true" }
	f := fields{kind: text(0), subtype: text(1), parent: v[2], session: text(3), cwd: text(4), sidechain: is(5), meta: is(6),
		compact: is(7), failed: is(8), aiTitle: text(9), customTitle: text(10), uuid: text(11), agent: text(12)}
	if v[13] != nil {
		if kind, err := wire.Members(v[13], "type"); err == nil {
			f.attachment = wire.Unquote(kind[0])
		}
	}
	return f, nil
}

// record converts a line to a record.
func (r *reader) record(raw []byte) hosts.Record {
	f, err := read(raw)
	var m llms.Message
	if err == nil {
		m, err = wire.Decode(llms.FormatClaude, "", raw)
	}
	if err != nil {
		return hosts.Unreadable(raw, r.prev)
	}
	rec := hosts.Record{Input: ingest.Input{Message: m}, Type: f.name(), Known: !hosts.IsUnknown(m), Dir: f.cwd, Title: cmp.Or(f.customTitle, f.aiTitle)}
	if f.agent != "" && f.sidechain && strings.HasPrefix(r.t.Session, subagent) {
		rec.Parent = f.session // the file of a sub-agent beside those of sessions
	}
	if rec.ID == "" {
		rec.ID = hosts.ChainedID(r.prev, raw)
	}
	rec.Flags = r.flags(f, m)
	if !rec.Known {
		rec.Flags |= store.FlagUnknown | store.FlagHidden
	}
	if f.uuid == "" {
		return rec
	}
	if f.kind == "user" && m.Role == llms.RoleUser && rec.Flags&store.FlagHidden == 0 && r.last != "" {
		after := wire.Unquote(f.parent)
		rec.Branch, rec.After = after != r.last && f.parent != nil && !f.compact, after
	}
	if rec.Flags&store.FlagHidden == 0 || !f.sidechain {
		r.last = f.uuid
	}
	return rec
}

// name returns the kind of a record, as precisely as the record has it.
func (f fields) name() string {
	switch {
	case f.kind == "":
		return "(none)"
	case f.attachment != "":
		return f.kind + "/" + f.attachment
	case f.subtype != "":
		return f.kind + "/" + f.subtype
	}
	return f.kind
}

// flags returns the flags of a record.
func (r *reader) flags(f fields, m llms.Message) (flags store.Flag) {
	if f.sidechain && !r.ofSubagent() {
		flags |= store.FlagHidden // a sub-agent's turns in the file of its parent
	}
	if f.session != "" && f.session != r.session && !r.ofSubagent() {
		flags |= store.FlagDuplicate // copied from the session that this one continues
	}
	switch f.kind {
	case "user", "assistant":
		switch {
		case f.compact:
			flags |= store.FlagHostSummary
		case f.meta, f.failed, bytes.Contains(m.Raw.Bytes, []byte(`"model":"<synthetic>"`)), m.Role == llms.RoleUser && synthetic(m.PlainText()):
			flags |= store.FlagSynthetic
		}
		if len(m.Parts) == 0 {
			flags |= store.FlagHidden
		}
	case "summary":
		flags |= store.FlagHostSummary | store.FlagHidden
	case "attachment":
		if m.Role != llms.RoleUser {
			flags |= store.FlagHidden
		}
	default:
		flags |= store.FlagHidden
	}
	return flags
}

func (r *reader) ofSubagent() bool {
	return r.t.Parent != "" || strings.HasPrefix(r.t.Session, subagent)
}

// synthetic reports whether the program wrote a user's message.
func synthetic(text string) bool {
	return lines.HasPrefix(text, "<command-name>", "<command-message>", "<command-args>", "<local-command-", "<system-reminder>", "<bash-input>",
		"<bash-stdout>", "<bash-stderr>", "<task-notification>", "<agent-notification>", "<teammate-message", "<cross-session-message", announcement, "[Request interrupted by user", "<user-memory-input>", "Caveat: The messages below were generated by the user")
}

// sniffed is how many lines are checked: a session may begin with summaries of others,
// and lines may be damaged.
const sniffed = 100

// sniff reports whether a file looks like a transcript of this host.
func sniff(ctx context.Context, path string) bool {
	n := 0
	for line, err := range lines.Read(ctx, path, 0, "") {
		if n++; err != nil || n > sniffed {
			return false
		}
		f, err := read(line.Bytes)
		if err != nil {
			continue
		}
		if wire.IsQwen(line.Bytes) {
			return false
		}
		if f.kind != "" && (f.session != "" || f.uuid != "" && f.parent != nil) {
			return true
		}
	}
	return false
}

// spillDir is the directory for output that is too long for a line.
const spillDir = "tool-results"

// spilled returns the files of tool output, in the session's directory, of a record.
func (r *reader) spilled(raw []byte) []hosts.Record {
	if !bytes.Contains(raw, []byte(spillDir)) {
		return nil
	}
	var found []hosts.Record
	seen := map[string]bool{}
	for _, sep := range []string{spillDir + "/", spillDir + `\\`} {
		pieces := strings.Split(string(raw), sep)
		for _, after := range pieces[1:] {
			name := after[:nameLength(after)]
			if seen[name] || len(seen) == maxSpilled {
				continue
			}
			seen[name] = true
			if rec, ok := r.aside(spillDir, name, spillDir+"/"+name); ok {
				found = append(found, rec)
			}
		}
	}
	return found
}

// maxSpilled bounds how many files one record may refer to.
const maxSpilled = 32

// aside reads a file in the session's directory, and follows no links out of the project.
func (r *reader) aside(dir, file, name string) (hosts.Record, bool) {
	session := filepath.Join(filepath.Dir(r.t.Path), r.t.Session)
	if r.t.Parent != "" {
		session = filepath.Dir(filepath.Dir(r.t.Path))
	}
	return hosts.ReadAside(filepath.Dir(session), filepath.Join(filepath.Base(session), dir, file), name)
}

// nameLength returns the length of the file name at the beginning of a text.
func nameLength(s string) int {
	const in = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
	return len(s) - len(strings.TrimLeft(s, in))
}
