// Package sessionfiles finds and reads the sessions of hosts that keep each session in one
// file of JSON lines.
//
// The records of a host that rewrites its file, or that goes back in it, are those that it
// wrote: a file that no longer has the place of the last reading is read from its beginning,
// and the ids of its records tell which of them are new.
package sessionfiles

import (
	"cmp"
	"context"
	"io/fs"
	"iter"
	"path/filepath"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/internal/lines"
	"github.com/lossless-context/lcm/internal/kit/regularfile"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
	"github.com/lossless-context/lcm/llms"
)

// Kind describes the files of one host.
type Kind struct {
	// Host is the host's name, Format the shape of its records.
	Host   string
	Format llms.Format
	// Pattern matches the files below the directory of the transcripts: "*/chats/*.jsonl".
	Pattern string
	// Agents matches the files of sub-agents, which are in a directory with the name of the
	// session that started them; "" if there are none.
	Agents string
	// Suffix ends the names of the files; "" is .jsonl.
	Suffix string
	// Session returns the id of the session in a file; nil is its name without the suffix.
	Session func(path string) string
	// Dir returns the working directory of the session in a file; nil if its records name it.
	Dir func(path string) string
	// Is reports whether a line is a record of this host: a file with one is a transcript.
	Is func(line []byte) bool
	// Complete gives a record that was decoded its Type, its flags and what it tells of the
	// session. Every prompt that names the record before it may have Branch and After.
	Complete func(rec *hosts.Record)
}

func (k *Kind) suffix() string { return cmp.Or(k.Suffix, ".jsonl") }

// Transcripts yields the sessions of an installation, as [hosts.Host] wants it.
func (k *Kind) Transcripts(ctx context.Context, in hosts.Installation) iter.Seq2[hosts.Transcript, error] {
	return func(yield func(hosts.Transcript, error) bool) {
		if k.list(ctx, in.Data, in.Data, strings.Split(k.Pattern, "/"), false, yield) && k.Agents != "" {
			k.list(ctx, in.Data, in.Data, strings.Split(k.Agents, "/"), true, yield)
		}
	}
}

// list yields the files of a directory that match the rest of the pattern: those of
// sub-agents, or the others.
func (k *Kind) list(ctx context.Context, root, dir string, pattern []string, agents bool, yield func(hosts.Transcript, error) bool) bool {
	for _, f := range lines.List(root, dir) {
		matches, _ := filepath.Match(pattern[0], filepath.Base(f.Path)) // the pattern is sound
		on := ctx.Err() == nil
		switch {
		case !on || !matches && f.Path != dir: // a directory that cannot be read is its only entry
		case f.Err != nil:
			on = yield(hosts.Transcript{Host: k.Host, Path: f.Path}, f.Err)
		case len(pattern) > 1 && f.Info.IsDir():
			on = k.list(ctx, root, f.Path, pattern[1:], agents, yield)
		case len(pattern) == 1 && k.isAgent(f.Path) == agents:
			on = yield(k.Transcript(f.Path, f.Info), regularfile.Check(f.Info, nil))
		}
		if !on {
			return false
		}
	}
	return true
}

// Transcript returns the transcript in a file.
func (k *Kind) Transcript(path string, info fs.FileInfo) hosts.Transcript {
	t := hosts.Transcript{Host: k.Host, Path: path, Size: info.Size(), Modified: info.ModTime()}
	t.Session = strings.TrimSuffix(filepath.Base(path), k.suffix())
	switch {
	case k.isAgent(path):
		t.Parent = filepath.Base(filepath.Dir(path))
		t.Session = t.Parent + "/" + t.Session
	case k.Session != nil:
		t.Session = k.Session(path)
	}
	if k.Dir != nil {
		t.Dir = k.Dir(path)
	}
	return t
}

// isAgent reports whether a file is that of a sub-agent. A session whose project has a name of
// the pattern looks like one, as "tmp/chats/chats/session-1.jsonl" does.
func (k *Kind) isAgent(path string) bool {
	deeper := strings.Count(k.Agents, "/") > strings.Count(k.Pattern, "/")
	return k.Agents != "" && endsIn(path, k.Agents) && !(deeper && endsIn(path, k.Pattern))
}

// endsIn reports whether the last names of a path match a pattern.
func endsIn(path, pattern string) bool {
	names, wanted := strings.Split(filepath.ToSlash(path), "/"), strings.Split(pattern, "/")
	for i, want := range wanted {
		at := len(names) - len(wanted) + i
		if at < 0 {
			return false
		}
		if ok, _ := filepath.Match(want, names[at]); !ok {
			return false
		}
	}
	return true
}

// sniffed is how many lines of a file are looked at: some may be damaged.
const sniffed = 100

// In returns the transcript in a file, as [hosts.Host] wants it.
func (k *Kind) In(ctx context.Context, path string) ([]hosts.Transcript, error) {
	path, info, err := lines.Stat(path)
	if err != nil {
		return nil, err
	}
	if info == nil || !strings.HasSuffix(path, k.suffix()) {
		return nil, hosts.ErrNoTranscript
	}
	n := 0
	for line, err := range lines.Read(ctx, path, 0, "") {
		if n++; err != nil || n > sniffed {
			break
		}
		if wire.Check(line.Bytes) == nil && k.Is(line.Bytes) {
			return []hosts.Transcript{k.Transcript(path, info)}, nil
		}
	}
	return nil, hosts.ErrNoTranscript
}

// again begins the state of a position in a file that was read from its beginning for a
// second time. The rest of the state is the id of the record before.
const again = "again "

// Read yields the records of a transcript, as [hosts.Host] wants it.
func (k *Kind) Read(ctx context.Context, t hosts.Transcript, from hosts.Position) iter.Seq2[hosts.Record, error] {
	return func(yield func(hosts.Record, error) bool) {
		prev, rewritten := strings.CutPrefix(from.State, again)
		for line, err := range lines.Read(ctx, t.Path, from.Offset, from.Head) {
			if err != nil {
				yield(hosts.Record{}, err)
				return
			}
			if line.Anew {
				prev, rewritten = "", true
			}
			rec := hosts.TooLong(line.End - line.Start)
			if line.Bytes != nil {
				rec = k.Record(line.Bytes, prev)
				// In a rewritten file the record before may not be the last one that is stored.
				rec.Branch = rec.Branch && (rewritten || rec.After != prev)
				prev = rec.ID
			}
			rec.End = hosts.Position{Offset: line.End, Head: line.Head, State: prev}
			if rewritten {
				rec.End.State = again + prev
			}
			if !yield(rec, nil) {
				return
			}
		}
	}
}

// Record converts the bytes of a record; prev is the id of the one before it.
func (k *Kind) Record(raw []byte, prev string) hosts.Record {
	m, err := wire.Decode(k.Format, "", raw)
	if err != nil {
		return hosts.Unreadable(raw, prev)
	}
	rec := hosts.Record{Input: ingest.Input{Message: m}, Known: !hosts.IsUnknown(m)}
	k.Complete(&rec)
	if rec.Type == "" {
		rec.Type = "(none)"
	}
	if rec.ID == "" {
		rec.ID = hosts.ChainedID(prev, raw)
	}
	if !rec.Known {
		rec.Flags |= store.FlagUnknown | store.FlagHidden
	}
	return rec
}
