package recall

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/record"
)

// Where says in which conversations to look. Most programs set nothing (a Session looks
// in its own conversation), ConversationID or AllConversations. The other fields are set
// by the code that serves tools to an agent; a Session sets Current and Unstored itself.
//
// ConversationID wins over AllConversations, which wins over CurrentOnly, which wins over
// Projects. Without any of them it is Current with its family: the other segments of its
// session, and the sessions that it was forked from.
type Where struct {
	ConversationID   record.ConversationID `json:"conversationId,omitempty"`   // looks in one conversation
	AllConversations bool                  `json:"allConversations,omitempty"` // looks in all conversations
	// CurrentOnly looks in Current and its family even if Projects is set. The tools
	// set it if a call says allConversations: false.
	CurrentOnly bool `json:"-"`
	// Current is the conversation in which the agent asks.
	Current record.ConversationID `json:"-"`
	// Unstored says that the session that asks has no conversation yet, so that Current is
	// 0 and nothing is found. Without it, a Where that names nothing is refused.
	Unstored bool `json:"-"`
	// Also are more conversations in which the agent may be asking: a host that runs two
	// sessions side by side does not say which.
	Also []record.ConversationID `json:"-"`
	// InTurn says that an agent asks during a turn of Current or of one of Also. Searches
	// then leave out the prompt of that turn and its calls of lcm's tools, which would
	// match their own words.
	InTurn bool `json:"-"`
	// Projects, if set, are looked in by default, in place of Current: every conversation
	// held in one of them, by any agent.
	Projects []record.Project `json:"-"`
	// Widen also searches all conversations if the default finds little, and lets ids of
	// all conversations be read. It has no effect with ConversationID or CurrentOnly.
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
	Kind string `json:"kind"` // ScopeConversation, ScopeCurrent, ScopeProject or ScopeAll
	// Project names the project of ScopeProject.
	Project string `json:"project,omitempty"`
	// Conversations is how many of them the project has.
	Conversations int `json:"conversations,omitempty"`
	// ConversationIDs is empty where all conversations were looked at. JSON
	// leaves it out for a project, which may have thousands.
	ConversationIDs []record.ConversationID `json:"conversationIds,omitempty"`

	// Except are messages of the current turn that searches do not find: its
	// prompts and OwnCalls.
	Except []record.MessageID `json:"-"`
	// OwnCalls are messages of the current turn that call lcm's tools, and their
	// results: the search that is asked for, and those before it.
	OwnCalls []record.MessageID `json:"-"`
}

// isUnstored reports whether the scope is that of a session without a conversation.
func (s Scope) isUnstored() bool { return len(s.ConversationIDs) == 1 && s.ConversationIDs[0] == 0 }

// MarshalJSON implements [json.Marshaler].
func (s Scope) MarshalJSON() ([]byte, error) {
	type plain Scope
	if s.Kind == ScopeProject || s.isUnstored() {
		s.ConversationIDs = nil
	}
	return json.Marshal(plain(s))
}

// String returns the scope as people read it.
func (s Scope) String() string {
	switch {
	case s.Kind == ScopeAll:
		return "all conversations"
	case s.isUnstored():
		return "the current session, which has no messages yet"
	case s.Kind == ScopeProject:
		return fmt.Sprintf("project %s (%s)", oneLine(filepath.Base(s.Project)), prose.Plural(s.Conversations, "session", "sessions"))
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

// Contains reports whether a conversation is in the scope.
func (s Scope) Contains(id record.ConversationID) bool {
	return s.Kind == ScopeAll || slices.Contains(s.ConversationIDs, id)
}

// ErrRefused is the kind of the errors of requests that must be made in another
// way; their texts say how. They wrap [record.ErrNotFound] if the thing that was
// asked for does not exist, and [ErrOutOfScope] if it is somewhere else.
var ErrRefused = errors.New("refused")

// ErrOutOfScope says that something exists, but not where it was looked for.
var ErrOutOfScope = errors.New("out of scope")
