package lookup

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/lossless-context/lcm/internal/kit/toolname"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// scopeResolver turns a Where into a Scope.
type scopeResolver struct{ store Store }

// scope returns the conversations that a search covers.
func (r scopeResolver) scope(ctx context.Context, w recall.Where) (recall.Scope, error) {
	sc, err := r.conversations(ctx, w)
	if err != nil {
		return sc, err
	}
	if w.InTurn {
		err = r.exceptTurn(ctx, w, &sc)
	}
	return sc, err
}

func (r scopeResolver) conversations(ctx context.Context, w recall.Where) (recall.Scope, error) {
	switch {
	case w.ConversationID < 0:
		return recall.Scope{}, refuse("conversations are numbered from 1", "conversationId is %d", w.ConversationID)
	case w.ConversationID > 0:
		if _, err := r.conversation(ctx, w.ConversationID); err != nil {
			return recall.Scope{}, err
		}
		return recall.Scope{Kind: recall.ScopeConversation, ConversationIDs: []store.ConversationID{w.ConversationID}}, nil
	case w.AllConversations:
		return recall.Scope{Kind: recall.ScopeAll}, nil
	case len(w.Projects) > 0 && !w.CurrentOnly:
		return r.project(ctx, w)
	case w.Current == 0 && w.Widen && !w.CurrentOnly:
		return recall.Scope{Kind: recall.ScopeAll}, nil // outside any project
	case w.Current == 0 && w.Unstored:
		return unstored, nil
	case w.Current == 0:
		return recall.Scope{}, refuse(askHint, "there is no current conversation to look in")
	}
	ids, err := r.family(ctx, current(w)...)
	return recall.Scope{Kind: recall.ScopeCurrent, ConversationIDs: ids}, err
}

// project returns the conversations of the projects and, because a session may
// have been moved, those of the current session. If there are none, the project is
// unknown and the search covers all conversations.
func (r scopeResolver) project(ctx context.Context, w recall.Where) (recall.Scope, error) {
	sc := recall.Scope{Kind: recall.ScopeProject}
	var names []string
	for _, p := range w.Projects {
		found, err := r.store.Conversations(ctx, store.ConversationQuery{Project: &p})
		if err != nil {
			return sc, err
		}
		for _, c := range found {
			sc.ConversationIDs = append(sc.ConversationIDs, c.ID)
		}
		if name := p.Name(); len(found) > 0 && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	family, err := r.family(ctx, current(w)...)
	if err != nil {
		return sc, err
	}
	sc.ConversationIDs = append(sc.ConversationIDs, family...)
	slices.Sort(sc.ConversationIDs)
	sc.ConversationIDs = slices.Compact(sc.ConversationIDs)
	if len(sc.ConversationIDs) == 0 && w.Widen {
		return recall.Scope{Kind: recall.ScopeAll}, nil
	}
	if len(sc.ConversationIDs) == 0 {
		return sc, refuse(askHint, "nothing of the project %s is stored", w.Projects[0].Name())
	}
	if len(names) == 0 {
		names = []string{w.Projects[0].Name()}
	}
	sc.Project, sc.Conversations = strings.Join(names, ", "), len(sc.ConversationIDs)
	return sc, nil
}

// turnItems is how many of the newest items of a view are looked through for calls
// of lcm's tools in the current turn. A model repeats a search within a few calls.
const turnItems = 64

// exceptTurn leaves two kinds of message of the current turn out of the matches: its
// prompt and the calls of lcm's tools. A prompt stays in if it has files, because
// the files are found nowhere else, or if the question names a conversation. If the
// question may come from several conversations, those whose last turn has ended
// with an answer are not asking.
func (r scopeResolver) exceptTurn(ctx context.Context, w recall.Where, sc *recall.Scope) error {
	for _, id := range current(w) {
		v, err := r.store.View(ctx, id, store.Window{Newest: turnItems})
		if err != nil {
			return err
		}
		if n := len(v.Items); len(w.Also) > 0 && n > 0 && v.Items[n-1].Role == llms.RoleAssistant && len(v.Items[n-1].Calls) == 0 {
			continue
		}
		calls, err := r.ownCalls(ctx, v)
		if err != nil {
			return err
		}
		sc.OwnCalls = append(sc.OwnCalls, calls...)
		if v.LastUserItem != nil {
			v.Items = append(v.Items, *v.LastUserItem)
		}
		for _, item := range v.Items {
			if item.Pos != v.LastUser || item.Message == 0 || w.ConversationID != 0 {
				continue
			}
			files, err := r.store.Attached(ctx, item.Message)
			if err != nil {
				return err
			}
			if len(files) == 0 {
				sc.Except = append(sc.Except, item.Message)
			}
		}
	}
	sc.Except = append(sc.Except, sc.OwnCalls...)
	return nil
}

// ownCalls returns the messages after the newest prompt of a view that call only
// lcm's tools, and those that hold only results of these calls. Some models number
// their calls anew in each message or give them no id. A result belongs to such a
// call only if its id is not empty and no other tool was called with the same id.
func (r scopeResolver) ownCalls(ctx context.Context, v store.View) ([]store.MessageID, error) {
	var calling []store.MessageID
	for _, item := range v.Items {
		if item.Pos > v.LastUser && item.Message != 0 && len(item.Calls) > 0 {
			calling = append(calling, item.Message)
		}
	}
	if len(calling) == 0 {
		return nil, nil
	}
	var own []store.MessageID
	var calls, others []string
	for m, err := range r.store.Messages(ctx, store.MessageQuery{IDs: calling, NoRaw: true}) {
		if err != nil {
			return nil, err
		}
		made := m.Body.ToolCalls()
		mixed := slices.ContainsFunc(made, func(c llms.ToolCall) bool { return !toolname.IsOwn(c.Name) })
		if len(made) > 0 && !mixed {
			own = append(own, m.ID)
		}
		for _, c := range made {
			if !toolname.IsOwn(c.Name) {
				others = append(others, c.ID)
			} else if !mixed {
				calls = append(calls, c.ID)
			}
		}
	}
	for _, item := range v.Items {
		other := slices.ContainsFunc(item.Results, func(id string) bool {
			return id == "" || !slices.Contains(calls, id) || slices.Contains(others, id)
		})
		if item.Pos > v.LastUser && item.Message != 0 && len(item.Results) > 0 && !other {
			own = append(own, item.Message)
		}
	}
	return own, nil
}

// reach returns the conversations that a lookup by id may read. An id names its
// target exactly, so an open default scope covers all conversations: the model can
// read an id from a widened search or from the block at a session's start.
func (r scopeResolver) reach(ctx context.Context, w recall.Where) (recall.Scope, error) {
	if w.Widens() {
		return recall.Scope{Kind: recall.ScopeAll}, nil
	}
	return r.scope(ctx, w)
}

func (r scopeResolver) conversation(ctx context.Context, id store.ConversationID) (store.Conversation, error) {
	c, err := r.store.Conversation(ctx, id)
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
func (r scopeResolver) family(ctx context.Context, next ...store.ConversationID) ([]store.ConversationID, error) {
	var ids []store.ConversationID
	for n := 0; len(next) > 0 && n < maxAncestors; n++ {
		c, err := r.conversation(ctx, next[0])
		if err != nil {
			return nil, err
		}
		next = next[1:]
		if slices.Contains(ids, c.ID) {
			continue
		}
		segments, err := r.store.Conversations(ctx, store.ConversationQuery{Key: c.Key})
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
