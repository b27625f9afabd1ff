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

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/hosts/all"
	"github.com/lossless-context/lcm/internal/record/project"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// Caller says where a call comes from, as far as the host tells. Empty fields
// are unknown.
type Caller struct {
	Host    string   // the host's name; conversations carry it as their agent
	Session string   // the host's own id of the session
	Call    string   // the host's own id of this tool call
	Dirs    []string // the directories that the host works in
}

// Key returns the session key of the caller's conversation, or "" if the host
// does not name its session.
func (p Caller) Key() string {
	if p.Host == "" || p.Session == "" {
		return ""
	}
	return p.Host + ":" + p.Session
}

// hostOfClient returns the host of the name that a client sends in the handshake, or "".
func hostOfClient(client string) string {
	for _, h := range all.Hosts() {
		if h.About().MCP.Client == client {
			return h.About().Name
		}
	}
	return ""
}

// hostOf returns the host that sent a request, or "" for any other client.
func (s *Server) hostOf(r mcp.Request) string {
	session, ok := r.GetSession().(*mcp.ServerSession)
	if !ok || session == nil {
		return ""
	}
	if init := session.InitializeParams(); init != nil && init.ClientInfo != nil {
		return hostOfClient(init.ClientInfo.Name)
	}
	if s.config.Stateless {
		return hostOfID(sessionID(r))
	}
	return ""
}

// caller reads the caller from a request and from the environment, as the host or, if it
// is not known, any host sends it.
func (s *Server) caller(ctx context.Context, host string, session *mcp.ServerSession, meta mcp.Meta) Caller {
	p := Caller{Host: host}
	word := func(key string) string {
		text, _ := meta[key].(string)
		return text
	}
	known := knownAs(host)
	for _, h := range known {
		p.Session, p.Call = cmp.Or(p.Session, word(h.MCP.SessionMeta)), cmp.Or(p.Call, word(h.MCP.CallMeta))
	}
	for _, h := range known {
		for _, name := range h.MCP.SessionEnv {
			if id := s.config.Getenv(name); id != "" && p.Session == "" {
				p.Host, p.Session = h.Name, id
			}
		}
	}
	p.Dirs = s.dirs(ctx, session, p.Host)
	return p
}

// knownAs returns the facts about a host, or about all if it has no name. A host that was
// started from another one's shell inherits its environment, so that it counts for its own
// host only.
func knownAs(host string) (known []hosts.About) {
	for _, h := range all.Hosts() {
		if about := h.About(); host == "" || host == about.Name {
			known = append(known, about)
		}
	}
	return known
}

// ProjectDir returns the directory that a host names in the environment, or "". Without
// a host it is that of any.
func ProjectDir(host string, getenv func(string) string) string {
	for _, h := range knownAs(host) {
		if h.MCP.DirEnv != "" && getenv(h.MCP.DirEnv) != "" {
			return getenv(h.MCP.DirEnv)
		}
	}
	return ""
}

// dirs returns the directories of the project: the one of the environment, else
// the client's roots, else the directory that the server was started in.
func (s *Server) dirs(ctx context.Context, session *mcp.ServerSession, host string) []string {
	if dir := ProjectDir(host, s.config.Getenv); dir != "" {
		return []string{dir}
	}
	if dirs := roots(ctx, session); len(dirs) > 0 && !s.config.ProjectOnly {
		return dirs
	}
	if s.config.Dir == "" || anyDir(host) && !s.config.ProjectOnly {
		return nil
	}
	return []string{s.config.Dir}
}

// anyDir reports whether a host starts its server in a directory that is not the session's.
func anyDir(host string) bool {
	return host != "" && slices.ContainsFunc(knownAs(host), func(h hosts.About) bool { return h.MCP.AnyDir })
}

// rootsTime bounds how long a client may take to name its roots.
const rootsTime = time.Second

// roots asks the client for its directories. Clients of the newest protocol
// cannot be asked, and some that claim to support it do not answer.
func roots(ctx context.Context, session *mcp.ServerSession) []string {
	if session == nil {
		return nil
	}
	init := session.InitializeParams()
	//lint:ignore SA1019 roots are deprecated, but today's hosts send them
	if init == nil || init.Capabilities == nil || init.Capabilities.RootsV2 == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, rootsTime)
	defer cancel()
	//lint:ignore SA1019 roots are deprecated, but today's hosts send them
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

// liveTime is how recent a conversation's last message must be for it to count
// as going on.
const liveTime = 10 * time.Minute

// maxLive bounds how many conversations are current at once.
const maxLive = 8

// current returns the current conversation and the projects of a call. The note
// says how the conversation was chosen where the caller cannot know.
func (s *Server) current(ctx context.Context, from Caller) (w recall.Where, note string, err error) {
	found, projects, err := s.candidates(ctx, from)
	if err != nil {
		return w, "", fmt.Errorf("find the current conversation: %w", err)
	}
	w, note, err = s.conversation(ctx, from, found)
	w.Projects = projects
	return w, note, err
}

func (s *Server) conversation(ctx context.Context, from Caller, found []store.Conversation) (w recall.Where, note string, err error) {
	if from.Call != "" {
		// The call itself is in the transcript that it was made from.
		if c, ok, err := s.calledFrom(ctx, found, from.Call); err != nil || ok {
			return recall.Where{Current: c, InTurn: true}, "", err
		}
	}
	if key := from.Key(); key != "" {
		named, err := s.store.Conversations(ctx, store.ConversationQuery{Key: key, Limit: 1})
		if err != nil {
			return w, "", fmt.Errorf("find the current conversation: %w", err)
		}
		if len(named) > 0 {
			return recall.Where{Current: named[0].ID, InTurn: true}, "", nil
		}
	}
	w, note = choose(found, s.config.Clock())
	if from.Key() != "" || from.Host == "" {
		// The host names a session that is not stored yet, or the client is none of which
		// sessions are stored: no prompt of another one is the one that asks.
		w.InTurn = false
	}
	return w, note, nil
}

// choose takes the newest conversation, and all others that are going on at the
// same time. Only if the newest is going on, its last prompt counts as the one
// that asks.
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

// candidates lists the conversations that a call may come from, newest first:
// those of the project, and only those of the calling host if it has any. It
// leaves out conversations of sub-agents.
func (s *Server) candidates(ctx context.Context, from Caller) (found []store.Conversation, projects []store.Project, err error) {
	for _, dir := range from.Dirs {
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
	if len(from.Dirs) == 0 && anyDir(from.Host) { // the project is that of the newest session
		found, err = s.store.Conversations(ctx, store.ConversationQuery{Agent: from.Host, Limit: 64})
		if err != nil || len(found) == 0 {
			return nil, nil, err
		}
		projects = []store.Project{found[0].Project}
		found = slices.DeleteFunc(found, func(c store.Conversation) bool { return c.Project != projects[0] })
	}
	found = slices.DeleteFunc(found, func(c store.Conversation) bool { return c.Parent != 0 })
	if slices.ContainsFunc(found, func(c store.Conversation) bool { return c.Agent == from.Host }) && from.Host != "" {
		found = slices.DeleteFunc(found, func(c store.Conversation) bool { return c.Agent != from.Host })
	}
	slices.SortStableFunc(found, func(a, b store.Conversation) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	seen := map[store.ConversationID]bool{}
	return slices.DeleteFunc(found, func(c store.Conversation) bool {
		double := seen[c.ID]
		seen[c.ID] = true
		return double
	}), projects, nil
}

// callDepth is how many of a conversation's newest messages are searched for a
// tool call: one turn may make several, and hosts write records of their own in
// between.
const callDepth = 48

// calledFrom finds the conversation that contains a tool call.
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

// where resolves the scope of the arguments: the project by default, the current
// conversation if allConversations is false. The notes explain the choice.
func (c *call) where(ctx context.Context, from Caller, asked recall.Where) (recall.Where, []string, error) {
	var notes []string
	if note := c.freshen(ctx, from); note != "" {
		notes = append(notes, note)
	}
	w, note, err := c.current(ctx, from)
	w.ConversationID, w.AllConversations, w.CurrentOnly = asked.ConversationID, asked.AllConversations, c.currentOnly
	w.Widen = true
	switch {
	case w.CurrentOnly && w.Current == 0 && w.ConversationID == 0:
		w.CurrentOnly = false
		notes = append(notes, "allConversations: false was taken as left out: it is not known which conversation is the current one")
	case w.CurrentOnly && note != "":
		notes = append(notes, note)
	}
	if err == nil && w.InTurn && c.config.Feed != nil {
		c.noteRecall(ctx, w.Current)
	}
	return w, notes, err
}

// recallKept is how long the time of a session's last recall is kept.
const recallKept = 60 * 24 * time.Hour

// noteRecall notes when a session last recalled something, for `lcm statusline`. An answer
// does not fail for it.
func (s *Server) noteRecall(ctx context.Context, id store.ConversationID) {
	from, err := s.store.Conversation(ctx, id)
	if err == nil {
		now := s.config.Clock()
		err = store.Set(ctx, s.store, store.RecallSpace, from.Key, now, now.Add(recallKept))
	}
	if err != nil {
		s.config.Log.Debug("the time of a recall was not noted", "error", err)
	}
}
