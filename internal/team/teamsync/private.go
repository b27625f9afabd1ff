package teamsync

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/project"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/wire"
)

// stays reports whether a conversation must not leave this machine.
func (p *Pusher) stays(c store.Conversation) bool {
	return ingest.CheckIgnored(p.Privacy, c.Key, c.Project) != nil || p.private(c.Project)
}

// private reports whether a project is one of [Pusher.Private], by its directory or by its
// git origin.
func (p *Pusher) private(in store.Project) bool {
	return slices.ContainsFunc(p.Private, func(pattern string) bool { return ingest.KeepsOut(pattern, in) })
}

// errEntered says that a message was said in a private or ignored project.
var errEntered = errors.New("the session entered a private or ignored project")

// checkDirectories returns errEntered if one of the messages after a number was said in a
// private or ignored project, although the session began elsewhere.
func (p *Pusher) checkDirectories(ctx context.Context, c store.Conversation, after int64) error {
	if len(p.Private)+len(p.Privacy.IgnoreProjects) == 0 {
		return nil
	}
	for m, err := range p.Store.Messages(ctx, store.MessageQuery{Conversation: c.ID, After: after, NoRaw: true}) {
		if err != nil {
			return err
		}
		record, err := p.Store.Record(ctx, m.ID)
		if err != nil {
			return fmt.Errorf("%s: %w", m.ID, err)
		}
		if err := p.checkDirectory(record); err != nil {
			return err
		}
	}
	return nil
}

// checkDirectory returns errEntered if the directory that a record names is in a private or
// ignored project.
func (p *Pusher) checkDirectory(record []byte) error {
	for _, dir := range directories(record, 3) {
		in, known := p.projects[dir]
		if !known {
			var err error
			if in, err = project.Of(dir); err != nil {
				return fmt.Errorf("find the project of a message: %w", err)
			}
			if p.projects == nil {
				p.projects = map[string]store.Project{}
			}
			p.projects[dir] = in
		}
		for _, at := range []store.Project{in, {Root: dir}} {
			if p.private(at) || ingest.CheckIgnored(p.Privacy, "", at) != nil {
				return errEntered
			}
		}
	}
	return nil
}

// directories returns the working directories that a host has written into a record:
// Claude Code has "cwd" in each, Codex has it in "payload", and opencode has "directory"
// in the session and "path" in the "data" of messages.
func directories(record []byte, depth int) (all []string) {
	if depth == 0 || !bytes.Contains(record, []byte(`"cwd"`)) && !bytes.Contains(record, []byte(`"directory"`)) {
		return nil
	}
	v, err := wire.Members(record, "cwd", "directory", "payload", "data", "path")
	if err != nil {
		return nil
	}
	for _, value := range v[:2] {
		if dir := wire.Unquote(value); dir != "" {
			all = append(all, dir)
		}
	}
	for _, value := range v[2:] {
		all = append(all, directories(value, depth-1)...)
	}
	return all
}
