// Package claude reads the transcripts of Claude Code.
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
	"os"
	"path/filepath"
	"strings"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/internal/lines"
)

// Name is the host's short name.
const Name = "claude"

// Host is Claude Code.
type Host struct{}

// Name implements [hosts.Host].
func (Host) Name() string { return Name }

// Title implements [hosts.Host].
func (Host) Title() string { return "Claude Code" }

// Find implements [hosts.Host].
func (Host) Find(m hosts.Machine) hosts.Installation {
	config := m.Env("CLAUDE_CONFIG_DIR", filepath.Join(m.Home, ".claude"))
	_, err := os.Stat(config)
	return hosts.Installation{Data: filepath.Join(config, "projects"), Present: err == nil}
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
			if project.Err == nil && !project.Info.IsDir() {
				continue
			}
			if !list(project, in.Data, yield) {
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
		if !strings.HasSuffix(f.Path, suffix) && f.Path != project.Path {
			continue
		}
		if !give(f, "", yield) {
			return false
		}
		session := strings.TrimSuffix(f.Path, suffix)
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
	if f.Err == nil && !f.Info.Mode().IsRegular() {
		return true
	}
	if f.Err != nil {
		return yield(hosts.Transcript{Host: Name, Path: f.Path}, f.Err)
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
