// Package claude has everything that lcm knows of Claude Code.
//
// A session is a file of JSON lines under projects/ in the configuration directory;
// sub-agents have files beside it. The lines form a tree: most answer the line before
// them, and one that goes back to an earlier line begins a branch. One answer of the
// model is several lines, one for each block.
//
// The program deletes transcripts after a month by default.
package claude

import (
	"context"
	"io/fs"
	"iter"
	"path/filepath"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/internal/lines"
	"github.com/lossless-context/lcm/internal/kit/regularfile"
)

// Name is the host's short name.
const Name = "claude"

// Host is Claude Code.
type Host struct{}

// About implements [hosts.Host].
func (Host) About() hosts.About {
	return hosts.About{Name: Name, Title: "Claude Code", ShowsMessages: true, MCP: hosts.MCP{
		Client: "claude-code", CallMeta: "claudecode/toolUseId", DirEnv: "CLAUDE_PROJECT_DIR",
		SessionEnv: []string{"CLAUDE_CODE_SESSION_ID", "CLAUDE_SESSION_ID"}, // after /clear it is out of date
	}}
}

// Settings implements [setup.Host].
func (Host) Settings(m hosts.Machine) string {
	return m.Env("CLAUDE_CONFIG_DIR", filepath.Join(m.Home, ".claude"))
}

// Find implements [hosts.Host].
func (h Host) Find(m hosts.Machine) hosts.Installation {
	return hosts.FindIn(h.Settings(m), "projects")
}

const (
	suffix   = ".jsonl"
	subagent = "agent-" // prefix of the files of sub-agents
)

// Transcripts implements [hosts.Host].
func (Host) Transcripts(ctx context.Context, in hosts.Installation) iter.Seq2[hosts.Transcript, error] {
	return func(yield func(hosts.Transcript, error) bool) {
		for _, project := range lines.List(in.Data, in.Data) {
			if ctx.Err() != nil {
				return
			}
			if (project.Err != nil || project.Info.IsDir()) && !list(project, in.Data, yield) {
				return
			}
		}
	}
}

// list yields the transcripts of one project.
func list(project lines.Found, root string, yield func(hosts.Transcript, error) bool) bool {
	if project.Err != nil {
		return yield(hosts.Transcript{Host: Name, Path: project.Path}, project.Err)
	}
	for _, f := range lines.List(root, project.Path) {
		session, ok := strings.CutSuffix(f.Path, suffix)
		if !ok && f.Path != project.Path {
			continue
		}
		if !give(f, "", yield) {
			return false
		}
		agents := filepath.Join(session, "subagents")
		for _, f := range lines.List(root, agents) {
			// If the directory cannot be read, it is the only entry.
			if (strings.HasSuffix(f.Path, suffix) || f.Path == agents) && !give(f, filepath.Base(session), yield) {
				return false
			}
		}
	}
	return true
}

// give yields one file.
func give(f lines.Found, parent string, yield func(hosts.Transcript, error) bool) bool {
	if err := regularfile.Check(f.Info, f.Err); err != nil {
		return yield(hosts.Transcript{Host: Name, Path: f.Path}, err)
	}
	return yield(transcript(f.Path, parent, f.Info), nil)
}

func transcript(path, parent string, info fs.FileInfo) hosts.Transcript {
	session := strings.TrimSuffix(filepath.Base(path), suffix)
	if parent != "" {
		session = parent + "/" + session
	}
	return hosts.Transcript{Host: Name, Path: path, Session: session, Parent: parent, Size: info.Size(), Modified: info.ModTime()}
}

// In implements [hosts.Host].
func (Host) In(ctx context.Context, path string) ([]hosts.Transcript, error) {
	path, info, err := lines.Stat(path)
	if err != nil {
		return nil, err
	}
	if info == nil || !strings.HasSuffix(path, suffix) || !sniff(ctx, path) {
		return nil, hosts.ErrNoTranscript
	}
	parent := ""
	if dir := filepath.Dir(path); filepath.Base(dir) == "subagents" {
		parent = filepath.Base(filepath.Dir(dir))
	}
	return []hosts.Transcript{transcript(path, parent, info)}, nil
}
