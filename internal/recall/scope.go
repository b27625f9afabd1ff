package recall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/llms"
)

// Where says in which conversations a question is asked. ConversationID wins
// over AllConversations, which wins over CurrentOnly, which wins over Projects;
// without any of them it is Current and its family.
type Where struct {
	ConversationID   store.ConversationID `json:"conversationId,omitempty"`
	AllConversations bool                 `json:"allConversations,omitempty"`
	// CurrentOnly asks for Current and its family even where Projects is set:
	// it stands for an explicit allConversations: false.
	CurrentOnly bool `json:"-"`
	// Current is the conversation that the question is asked in. The caller of
	// an agent's tools knows it, the agent does not.
	Current store.ConversationID `json:"-"`
	// Also are conversations that are as current as Current: where a host runs
	// two sessions side by side, the question may come from either.
	Also []store.ConversationID `json:"-"`
	// InTurn says that an agent asks, in a turn of Current or of one of Also:
	// searches do not find the prompt of that turn, which is the question.
	InTurn bool `json:"-"`
	// Projects, where set, are the default scope: every conversation held in
	// one of them, by any agent, sub-agents included.
	Projects []store.Project `json:"-"`
	// Widen lets an answer go one step past the default scope, to all
	// conversations, where the scope has little. Lookups by id then reach all
	// conversations at once. It has no effect on an explicit ConversationID or
	// CurrentOnly.
	Widen bool `json:"-"`
}

// explicit reports that the question itself names where to look.
func (w Where) explicit() bool { return w.ConversationID != 0 || w.AllConversations || w.CurrentOnly }

// Widens reports that an answer may come from all conversations although the
// question does not ask for them.
func (w Where) Widens() bool { return w.Widen && !w.explicit() }

// The kinds of scope.
const (
	ScopeConversation = "conversation" // the one that was asked for
	ScopeCurrent      = "current"      // the current one and its family
	ScopeProject      = "project"      // the conversations of a project
	ScopeAll          = "all"
)

// Scope is where an answer was looked for.
type Scope struct {
	Kind string `json:"kind"`
	// Project names the project of ScopeProject.
	Project string `json:"project,omitempty"`
	// Conversations is how many of them the project has.
	Conversations int `json:"conversations,omitempty"`
	// ConversationIDs is empty where all conversations were looked at. JSON
	// leaves it out for a project, which may have thousands.
	ConversationIDs []store.ConversationID `json:"conversationIds,omitempty"`

	// Except are the prompts of the current turn, which searches do not find.
	Except []store.MessageID `json:"-"`
}

// MarshalJSON implements [json.Marshaler].
func (s Scope) MarshalJSON() ([]byte, error) {
	type plain Scope
	if s.Kind == ScopeProject {
		s.ConversationIDs = nil
	}
	return json.Marshal(plain(s))
}

// String returns the scope as people read it.
func (s Scope) String() string {
	switch s.Kind {
	case ScopeAll:
		return "all conversations"
	case ScopeProject:
		return fmt.Sprintf("project %s (%s)", oneLine(filepath.Base(s.Project)), plural(s.Conversations, "session", "sessions"))
	}
	ids := make([]string, len(s.ConversationIDs))
	for i, id := range s.ConversationIDs {
		ids[i] = fmt.Sprint(int64(id))
	}
	noun := "conversation"
	if len(ids) > 1 {
		noun = "conversations"
	}
	return noun + " " + strings.Join(ids, ", ")
}

// Narrow bounds a search to a scope. A search of everything also finds the
// prompt that asks.
func Narrow(q *store.Search, to Scope) {
	q.Conversations = to.ConversationIDs
	if !q.Everything {
		q.Except = to.Except
	}
}

func (s Scope) holds(id store.ConversationID) bool {
	return s.Kind == ScopeAll || slices.Contains(s.ConversationIDs, id)
}

const askHint = "pass conversationId for one conversation, or allConversations: true for all of them"

// scope settles where a search looks.
func (s *Service) scope(ctx context.Context, w Where) (Scope, error) {
	sc, err := s.conversations(ctx, w)
	if err != nil {
		return sc, err
	}
	if w.InTurn && w.ConversationID == 0 {
		sc.Except, err = s.prompts(ctx, w)
	}
	return sc, err
}

func (s *Service) conversations(ctx context.Context, w Where) (Scope, error) {
	switch {
	case w.ConversationID < 0:
		return Scope{}, refuse("conversations are numbered from 1", "conversationId is %d", w.ConversationID)
	case w.ConversationID > 0:
		if _, err := s.conversation(ctx, w.ConversationID); err != nil {
			return Scope{}, err
		}
		return Scope{Kind: ScopeConversation, ConversationIDs: []store.ConversationID{w.ConversationID}}, nil
	case w.AllConversations:
		return Scope{Kind: ScopeAll}, nil
	case len(w.Projects) > 0 && !w.CurrentOnly:
		return s.project(ctx, w)
	case w.Current == 0 && w.Widen && !w.CurrentOnly:
		return Scope{Kind: ScopeAll}, nil // outside any project
	case w.Current == 0:
		return Scope{}, refuse(askHint, "there is no current conversation to look in")
	}
	ids, err := s.family(ctx, w.current()...)
	return Scope{Kind: ScopeCurrent, ConversationIDs: ids}, err
}

func (w Where) current() []store.ConversationID {
	if w.Current == 0 {
		return w.Also
	}
	return append([]store.ConversationID{w.Current}, w.Also...)
}

// project lists the conversations of the projects and, because a session may
// have been moved, those of the current session. Where there are none the
// question is asked outside any project that is known, and looks everywhere.
func (s *Service) project(ctx context.Context, w Where) (Scope, error) {
	sc := Scope{Kind: ScopeProject}
	var names []string
	for _, p := range w.Projects {
		found, err := s.store.Conversations(ctx, store.ConversationQuery{Project: &p})
		if err != nil {
			return sc, err
		}
		for _, c := range found {
			sc.ConversationIDs = append(sc.ConversationIDs, c.ID)
		}
		if name := projectName(p); len(found) > 0 && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	family, err := s.family(ctx, w.current()...)
	if err != nil {
		return sc, err
	}
	sc.ConversationIDs = append(sc.ConversationIDs, family...)
	slices.Sort(sc.ConversationIDs)
	sc.ConversationIDs = slices.Compact(sc.ConversationIDs)
	if len(sc.ConversationIDs) == 0 && w.Widen {
		return Scope{Kind: ScopeAll}, nil
	}
	if len(sc.ConversationIDs) == 0 {
		return sc, refuse(askHint, "nothing of the project %s is stored", projectName(w.Projects[0]))
	}
	if len(names) == 0 {
		names = []string{projectName(w.Projects[0])}
	}
	sc.Project, sc.Conversations = strings.Join(names, ", "), len(sc.ConversationIDs)
	return sc, nil
}

// ProjectName is what a project is called: by its origin, else its directory.
func ProjectName(p store.Project) string { return projectName(p) }

func projectName(p store.Project) string {
	if p.Origin != "" {
		return p.Origin
	}
	return p.Root
}

// prompts returns the newest prompt of each current conversation. One that
// carries files is the only place where those can be found, and stays. Where
// the question may come from several conversations, it does not come from one
// whose last turn has ended with an answer.
func (s *Service) prompts(ctx context.Context, w Where) ([]store.MessageID, error) {
	var ids []store.MessageID
	for _, id := range w.current() {
		v, err := s.store.View(ctx, id, store.Window{Newest: 1})
		if err != nil {
			return nil, err
		}
		if n := len(v.Items); len(w.Also) > 0 && n > 0 && v.Items[n-1].Role == llms.RoleAssistant && len(v.Items[n-1].Calls) == 0 {
			continue
		}
		if v.LastUserItem != nil {
			v.Items = append(v.Items, *v.LastUserItem)
		}
		for _, item := range v.Items {
			if item.Pos != v.LastUser || item.Message == 0 {
				continue
			}
			files, err := s.store.Attached(ctx, item.Message)
			if err != nil {
				return nil, err
			}
			if len(files) == 0 {
				ids = append(ids, item.Message)
			}
		}
	}
	return ids, nil
}

// reach settles from where a lookup by id may be answered. An id names its
// target exactly, so that an open default scope reaches everything: an id that
// a widened search or the block at a session's start names can be read.
func (s *Service) reach(ctx context.Context, w Where) (Scope, error) {
	if w.Widen && !w.explicit() {
		return Scope{Kind: ScopeAll}, nil
	}
	return s.scope(ctx, w)
}

func (s *Service) conversation(ctx context.Context, id store.ConversationID) (store.Conversation, error) {
	c, err := s.store.Conversation(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return c, refuse(askHint, "conversation %d: %w", id, store.ErrNotFound)
	}
	return c, err
}

// maxAncestors bounds how far forks are followed back.
const maxAncestors = 64

// family lists the segments of conversations' sessions, and those of the
// sessions that they were forked from: a fork's view begins with their
// messages.
func (s *Service) family(ctx context.Context, next ...store.ConversationID) ([]store.ConversationID, error) {
	var ids []store.ConversationID
	for n := 0; len(next) > 0 && n < maxAncestors; n++ {
		c, err := s.conversation(ctx, next[0])
		if err != nil {
			return nil, err
		}
		next = next[1:]
		if slices.Contains(ids, c.ID) {
			continue
		}
		segments, err := s.store.Conversations(ctx, store.ConversationQuery{Key: c.Key})
		if err != nil {
			return nil, err
		}
		for _, seg := range segments {
			ids = append(ids, seg.ID)
			if seg.ForkedFrom != 0 {
				next = append(next, seg.ForkedFrom)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// within refuses what lies in a conversation that the scope does not hold.
func (sc Scope) within(id string, conversation store.ConversationID) error {
	if sc.holds(conversation) {
		return nil
	}
	hint := fmt.Sprintf("ask again with conversationId: %d or allConversations: true", conversation)
	return refuse(hint, "%s belongs to conversation %d, which is %w (%s)", id, conversation, ErrOutOfScope, sc)
}
