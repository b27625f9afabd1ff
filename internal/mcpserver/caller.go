package mcpserver

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lossless-context/lcm/internal/project"
	"github.com/lossless-context/lcm/internal/recall"
	"github.com/lossless-context/lcm/internal/store"
)

// Place is where a call comes from, as far as the host tells. Empty fields are
// not known.
type Place struct {
	Host    string   // the name of the host, as conversations carry it as their agent
	Session string   // the host's own id of the session
	Call    string   // the host's own id of this very tool call
	Dirs    []string // the directories that the host works in
}

// Key is the session key of the place's conversation, if the host names its
// session.
func (p Place) Key() string {
	if p.Host == "" || p.Session == "" {
		return ""
	}
	return p.Host + ":" + p.Session
}

// hostNames are the hosts by the name under which they introduce themselves.
var hostNames = map[string]string{
	"claude-code":      "claude",
	"codex-mcp-client": "codex",
	"opencode":         "opencode",
}

// hostOf names the host at the other end, or nothing where it is another
// client.
func hostOf(session *mcp.ServerSession) string {
	if session == nil {
		return ""
	}
	if init := session.InitializeParams(); init != nil && init.ClientInfo != nil {
		return hostNames[init.ClientInfo.Name]
	}
	return ""
}

// place reads what a request tells. Each of the names was seen in the requests
// of the programs themselves: Codex sends threadId with every call, Claude
// Code the id of the tool call and, in the environment, the session that it
// was started for (which /clear leaves behind) and the project's directory.
func (s *Server) place(ctx context.Context, session *mcp.ServerSession, meta mcp.Meta) Place {
	p := Place{Host: hostOf(session)}
	word := func(key string) string {
		text, _ := meta[key].(string)
		return text
	}
	p.Session = cmp.Or(word("threadId"), word("sessionId"))
	p.Call = word("claudecode/toolUseId")
	if claude := cmp.Or(s.config.Getenv("CLAUDE_CODE_SESSION_ID"), s.config.Getenv("CLAUDE_SESSION_ID")); claude != "" && p.Session == "" {
		if p.Host == "" || p.Host == "claude" {
			p.Host, p.Session = "claude", claude
		}
	}
	p.Dirs = s.dirs(ctx, session, p.Host)
	return p
}

// ProjectDirEnv is where Claude Code says which project it was started for.
const ProjectDirEnv = "CLAUDE_PROJECT_DIR"

// dirs are the directories of the project: what the environment says, else
// the client's roots, else where the server was started. Another host that was
// started from Claude Code's shell has inherited its environment.
func (s *Server) dirs(ctx context.Context, session *mcp.ServerSession, host string) []string {
	if dir := s.config.Getenv(ProjectDirEnv); dir != "" && (host == "" || host == "claude") {
		return []string{dir}
	}
	if dirs := roots(ctx, session); len(dirs) > 0 && !s.config.ProjectOnly {
		return dirs
	}
	if s.config.Dir == "" {
		return nil
	}
	return []string{s.config.Dir}
}

// rootsTime bounds how long a client may take to name its roots.
const rootsTime = time.Second

// roots asks the client for its directories. Clients of the newest protocol
// cannot be asked, and some that say they can do not answer.
func roots(ctx context.Context, session *mcp.ServerSession) []string {
	if session == nil {
		return nil
	}
	init := session.InitializeParams()
	//lint:ignore SA1019 roots are deprecated, and what today's hosts send
	if init == nil || init.Capabilities == nil || init.Capabilities.RootsV2 == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, rootsTime)
	defer cancel()
	//lint:ignore SA1019 roots are deprecated, and what today's hosts send
	found, err := session.ListRoots(ctx, nil)
	if err != nil {
		return nil
	}
	var dirs []string
	for _, r := range found.Roots {
		u, err := url.Parse(r.URI)
		if err == nil && u.Scheme == "file" && filepath.IsAbs(filepath.FromSlash(u.Path)) {
			dirs = append(dirs, filepath.FromSlash(u.Path))
		}
	}
	return dirs
}

// liveTime is how long ago a conversation may have been spoken in to be taken
// for one that is going on.
const liveTime = 10 * time.Minute

// maxLive bounds how many conversations are current at once.
const maxLive = 8

// here settles which conversation is the current one, and to which projects
// the call belongs. The note tells what the caller could not know.
func (s *Server) here(ctx context.Context, at Place) (w recall.Where, note string, err error) {
	found, projects, err := s.candidates(ctx, at)
	if err != nil {
		return w, "", fmt.Errorf("find the current conversation: %w", err)
	}
	w, note, err = s.current(ctx, at, found)
	w.Projects = projects
	return w, note, err
}

func (s *Server) current(ctx context.Context, at Place, found []store.Conversation) (w recall.Where, note string, err error) {
	if at.Call != "" {
		// The call itself is in the transcript that it was made from.
		if c, ok, err := s.calledFrom(ctx, found, at.Call); err != nil || ok {
			return recall.Where{Current: c, InTurn: true}, "", err
		}
	}
	if key := at.Key(); key != "" {
		named, err := s.store.Conversations(ctx, store.ConversationQuery{Key: key, Limit: 1})
		if err != nil {
			return w, "", fmt.Errorf("find the current conversation: %w", err)
		}
		if len(named) > 0 {
			return recall.Where{Current: named[0].ID, InTurn: true}, "", nil
		}
	}
	w, note = choose(found, s.config.Clock())
	if at.Key() != "" {
		// The host names a session that is not stored yet: no prompt of another
		// one is the one that asks.
		w.InTurn = false
	}
	return w, note, nil
}

// choose takes the newest conversation, and with it those that are going on at
// the same time. Only where the newest is going on is its last prompt taken for
// the one that asks.
func choose(found []store.Conversation, now time.Time) (w recall.Where, note string) {
	if len(found) == 0 {
		return w, "nothing of this project is stored yet"
	}
	w.Current, w.InTurn = found[0].ID, now.Sub(found[0].UpdatedAt) < liveTime
	names := []string{fmt.Sprint(int64(found[0].ID))}
	for _, c := range found[1:] {
		if now.Sub(c.UpdatedAt) < liveTime && now.Sub(found[0].UpdatedAt) < liveTime && len(names) < maxLive {
			w.Also = append(w.Also, c.ID)
			names = append(names, fmt.Sprint(int64(c.ID)))
		}
	}
	if len(w.Also) > 0 {
		note = fmt.Sprintf("%d conversations of this project are going on, %s: each of them was taken for the current one", len(names), strings.Join(names, ", "))
	}
	return w, note
}

// candidates are the conversations that a call may come from, newest first:
// those of the project, of the calling host if it has any there. A sub-agent's
// conversation is its parent's affair.
func (s *Server) candidates(ctx context.Context, at Place) (found []store.Conversation, projects []store.Project, err error) {
	for _, dir := range at.Dirs {
		p, err := project.Of(dir)
		if err != nil {
			return nil, nil, err
		}
		some, err := s.store.Conversations(ctx, store.ConversationQuery{Project: &p, Limit: 64})
		if err != nil {
			return nil, nil, err
		}
		found = append(found, some...)
		projects = append(projects, p)
	}
	found = slices.DeleteFunc(found, func(c store.Conversation) bool { return c.Parent != 0 })
	if slices.ContainsFunc(found, func(c store.Conversation) bool { return c.Agent == at.Host }) && at.Host != "" {
		found = slices.DeleteFunc(found, func(c store.Conversation) bool { return c.Agent != at.Host })
	}
	slices.SortStableFunc(found, func(a, b store.Conversation) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	seen := map[store.ConversationID]bool{}
	return slices.DeleteFunc(found, func(c store.Conversation) bool {
		double := seen[c.ID]
		seen[c.ID] = true
		return double
	}), projects, nil
}

// callDepth is how many of a conversation's newest messages are looked through
// for a call that is being made: a turn may make several, and hosts write
// records of their own in between.
const callDepth = 48

// calledFrom finds the conversation in which a tool call is being made.
func (s *Server) calledFrom(ctx context.Context, found []store.Conversation, call string) (store.ConversationID, bool, error) {
	for _, c := range found[:min(len(found), maxLive)] {
		for m, err := range s.store.Messages(ctx, store.MessageQuery{Conversation: c.ID, Newest: true, Limit: callDepth}) {
			if err != nil {
				return 0, false, fmt.Errorf("find the current conversation: %w", err)
			}
			for _, p := range m.Body.Parts {
				if p.Call != nil && p.Call.ID == call {
					return c.ID, true, nil
				}
			}
		}
	}
	return 0, false, nil
}

// where completes the scope that the arguments name: the project by default,
// the current conversation where allConversations is false. The notes tell what
// the caller could not know.
func (c *call) where(ctx context.Context, at Place, asked recall.Where) (recall.Where, []string, error) {
	var notes []string
	if note := c.freshen(ctx, at); note != "" {
		notes = append(notes, note)
	}
	w, note, err := c.here(ctx, at)
	w.ConversationID, w.AllConversations, w.CurrentOnly = asked.ConversationID, asked.AllConversations, c.currentOnly
	w.Widen = true
	if w.CurrentOnly && note != "" {
		notes = append(notes, note)
	}
	return w, notes, err
}
