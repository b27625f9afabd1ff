package recall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/store"
)

// Where says in which conversations a question is asked. ConversationID wins
// over AllConversations, which wins over Current and its family.
type Where struct {
	ConversationID   store.ConversationID `json:"conversationId,omitempty"`
	AllConversations bool                 `json:"allConversations,omitempty"`
	// Current is the conversation that the question is asked in. It is known
	// to whoever asks on an agent's behalf, not to the agent.
	Current store.ConversationID `json:"-"`
	// Also are conversations that are as current as Current: where a host runs
	// two sessions side by side, the question may come from either.
	Also []store.ConversationID `json:"-"`
}

// The kinds of scope.
const (
	ScopeConversation = "conversation" // the one that was asked for
	ScopeCurrent      = "current"      // the current one and its family
	ScopeAll          = "all"
)

// Scope is where an answer was looked for.
type Scope struct {
	Kind string `json:"kind"`
	// ConversationIDs is empty where all conversations were looked at.
	ConversationIDs []store.ConversationID `json:"conversationIds,omitempty"`
}

// String returns the scope as people read it.
func (s Scope) String() string {
	if s.Kind == ScopeAll {
		return "all conversations"
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

func (s Scope) holds(id store.ConversationID) bool {
	return s.Kind == ScopeAll || slices.Contains(s.ConversationIDs, id)
}

const askHint = "pass conversationId for one conversation, or allConversations: true for all of them"

// scope settles where a question is asked.
func (s *Service) scope(ctx context.Context, w Where) (Scope, error) {
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
	case w.Current == 0:
		return Scope{}, refuse(askHint, "there is no current conversation to look in")
	}
	ids, err := s.family(ctx, append([]store.ConversationID{w.Current}, w.Also...)...)
	return Scope{Kind: ScopeCurrent, ConversationIDs: ids}, err
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
