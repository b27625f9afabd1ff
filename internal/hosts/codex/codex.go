// Package codex has everything that lcm knows of the Codex CLI.
//
// A session (a thread) is a file of JSON lines, in directories by day below sessions/
// in CODEX_HOME. Codex may compress old ones (.jsonl.zst) and move them to
// archived_sessions/. A sub-agent's thread has a file of its own, which names the
// thread that started it.
//
// When the user goes back to an earlier prompt, Codex leaves the file as it is and
// continues the thread in a new one, a revision, whose first record says where the old
// one ends. All files of a thread are one transcript; its path is the newest of them. A
// fork begins with such a record too, and names the thread whose history it shares.
//
// The messages are response items. The events beside them repeat the messages for the
// screen, and are stored as bookkeeping.
package codex

import (
	"cmp"
	"context"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/internal/lines"
	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/kit/regularfile"
)

// Name is the host's short name.
const Name = "codex"

// Host is the Codex CLI.
type Host struct{}

// About implements [hosts.Host].
func (Host) About() hosts.About {
	return hosts.About{Name: Name, Title: "Codex", Trust: "start Codex, type /hooks, and trust those of lcm",
		MCP: hosts.MCP{Client: "codex-mcp-client", SessionMeta: "threadId"}}
}

// Settings implements [setup.Host].
func (Host) Settings(m hosts.Machine) string {
	return m.Env("CODEX_HOME", filepath.Join(m.Home, ".codex"))
}

// Find implements [hosts.Host]. Codex has data in several directories below its home.
func (h Host) Find(m hosts.Machine) hosts.Installation {
	return hosts.FindIn(h.Settings(m), "")
}

// rollout matches the file name of a rollout: its start time, its thread and, of a
// revision, its id.
var rollout = lazyregexp.New(`^rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(.+?)(?:_([0-9a-f-]{36}))?\.jsonl(\.zst)?$`)

// levels is the depth of the directories by day: year, month, day.
const levels = 3

// Transcripts implements [hosts.Host].
func (Host) Transcripts(ctx context.Context, in hosts.Installation) iter.Seq2[hosts.Transcript, error] {
	return func(yield func(hosts.Transcript, error) bool) {
		var found []hosts.Transcript
		newest := map[string]int{} // the place of a thread that has revisions, and of its base
		give := func(t hosts.Transcript, err error) bool {
			if err != nil {
				return yield(t, err)
			}
			if i, ok := newest[t.Session]; ok {
				if filepath.Base(found[i].Path) < filepath.Base(t.Path) {
					found[i] = t
				}
				return true
			}
			newest[t.Session] = len(found)
			found = append(found, t)
			return true
		}
		if !walk(ctx, in.Data, filepath.Join(in.Data, "sessions"), levels, give) || !walk(ctx, in.Data, filepath.Join(in.Data, "archived_sessions"), levels, give) {
			return
		}
		for _, t := range found {
			if !yield(t, nil) {
				return
			}
		}
	}
}

// walk yields the rollouts in a directory and below.
func walk(ctx context.Context, root, dir string, levels int, yield func(hosts.Transcript, error) bool) bool {
	for _, f := range listed(root, dir) {
		switch {
		case ctx.Err() != nil:
			return false
		case f.Err != nil:
			if !yield(hosts.Transcript{Host: Name, Path: f.Path}, f.Err) {
				return false
			}
		case f.Info.IsDir() && !rollout().MatchString(filepath.Base(f.Path)):
			if levels > 0 && !walk(ctx, root, f.Path, levels-1, yield) {
				return false
			}
		default:
			if t, ok := transcript(f.Path, f.Info); ok && !yield(t, regularfile.Check(f.Info, nil)) {
				return false
			}
		}
	}
	return true
}

// listed lists a directory. Of a rollout that is being compressed it has the plain file.
func listed(root, dir string) []lines.Found {
	found := lines.List(root, dir)
	plain := map[string]bool{}
	for _, f := range found {
		if strings.HasSuffix(f.Path, ".jsonl") {
			plain[f.Path] = true
		}
	}
	return slices.DeleteFunc(found, func(f lines.Found) bool {
		before, compressed := strings.CutSuffix(f.Path, ".zst")
		return compressed && plain[before]
	})
}

func transcript(path string, info fs.FileInfo) (hosts.Transcript, bool) {
	name := rollout().FindStringSubmatch(filepath.Base(path))
	if name == nil {
		return hosts.Transcript{}, false
	}
	return hosts.Transcript{Host: Name, Path: path, Session: name[1], Size: info.Size(), Modified: info.ModTime()}, true
}

// In implements [hosts.Host].
func (Host) In(_ context.Context, path string) ([]hosts.Transcript, error) {
	path, info, err := lines.Stat(path)
	if err != nil {
		return nil, err
	}
	if info == nil {
		return nil, hosts.ErrNoTranscript
	}
	t, ok := transcript(path, info)
	if !ok {
		return nil, hosts.ErrNoTranscript
	}
	files := revisions(path)
	if newest := files[len(files)-1].path; newest != path {
		if path, info, err = lines.Stat(newest); err != nil || info == nil {
			return nil, cmp.Or(err, hosts.ErrNoTranscript)
		}
		t, _ = transcript(path, info)
	}
	return []hosts.Transcript{t}, nil
}
