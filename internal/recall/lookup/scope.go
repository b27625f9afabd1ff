package lookup

import (
	"fmt"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// unstored is the scope of a session that has no conversation. No conversation has
// the number 0; an empty list would stand for all of them.
var unstored = recall.Scope{Kind: recall.ScopeCurrent, ConversationIDs: []store.ConversationID{0}}

// Narrow bounds a search to a scope. A search of everything also finds the
// prompt that asks.
func Narrow(q *store.Search, to recall.Scope) {
	q.Conversations = to.ConversationIDs
	if !q.Everything {
		q.Except = to.Except
	}
}

const askHint = "pass conversationId (in Go: Where.ConversationID) for one conversation, or allConversations: true (Where.AllConversations) for all of them"

// within refuses an id of a conversation outside the scope.
func within(sc recall.Scope, id string, conversation store.ConversationID) error {
	if sc.Contains(conversation) {
		return nil
	}
	hint := fmt.Sprintf("ask again with conversationId: %d or allConversations: true", conversation)
	return refuse(hint, "%s belongs to conversation %d, which is %w (%s)", id, conversation, recall.ErrOutOfScope, sc)
}

// current returns the conversations that a question may be asked in.
func current(w recall.Where) []store.ConversationID {
	if w.Current == 0 {
		return w.Also
	}
	return append([]store.ConversationID{w.Current}, w.Also...)
}
