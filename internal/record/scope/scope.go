// Package scope restricts a store to the projects that a caller may see, and to the
// actions that the caller may take.
//
// [Narrow] returns a store for which everything outside of a [Scope] does not exist. The
// restriction is around the store and not in each tool, so that a tool that is added
// later cannot leave the scope either. The MCP server, the team server (`lcm team serve`) and
// lcm.WithProjects use it; the grants of lcm_expand_query narrow it further.
//
// # Guarantees
//
// A conversation is inside a scope if its project is. Conversations, messages,
// summaries, payloads, searches and erasures of other projects fail with
// [store.ErrNotFound], with the same words as an id that was never given. An action
// that the scope does not allow fails with [ErrDenied].
//
// A fork may have inherited messages of another project. Its own messages are inside,
// the inherited ones are not, and none of its summaries is: they may quote inherited
// messages. A payload that both sides hold has the name that a message inside gave it.
//
// Small values of [store.State] belong to the scope, except for those that all processes
// share, such as leases ([store.Spaces]).
//
// # Limits
//
// Session keys and tombstones are shared by the whole store. A key of another project
// cannot be opened. In a record without tokens, a message that was erased in one project is
// refused in others by its content if that has [store.MinContent] bytes. Blocks of embedding vectors have messages
// of all projects: only a scope that covers every project may write or count them, and
// every scope is told whether there are any.
package scope

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/lossless-context/lcm/internal/record/store"
)

// ErrDenied says that the scope does not allow an action.
var ErrDenied = errors.New("not allowed")

// Scope is what a caller may see and do.
type Scope struct {
	// Name is unique among the scopes of a store: it names the scope's own small
	// values.
	Name string
	// Covers reports whether a project is inside. Nil covers every project.
	Covers func(store.Project) bool
	// Append allows writing, and Erase erasing, inside of the scope.
	Append bool
	Erase  bool
}

// Projects covers the given projects. Two projects are the same if their origins are;
// if one of them has no origin, their directories decide.
func Projects(ps ...store.Project) func(store.Project) bool {
	return func(p store.Project) bool {
		return slices.ContainsFunc(ps, func(q store.Project) bool {
			if p.Origin != "" && q.Origin != "" {
				return p.Origin == q.Origin
			}
			return p.Root != "" && p.Root == q.Root
		})
	}
}

// OneProject is the scope of a directory on this machine, as a query of conversations by
// project selects: those with its origin, and those in its directory.
func OneProject(p store.Project) Scope {
	return Scope{Name: p.Root, Append: true, Erase: true, Covers: func(q store.Project) bool {
		return q.Origin != "" && q.Origin == p.Origin || q.Root == p.Root
	}}
}

// Narrow restricts a store to a scope.
func Narrow(s store.Store, to Scope) store.Store {
	n := &narrowed{writes{reads{whole: s, scope: to, all: to.Covers == nil}}}
	if n.all {
		n.scope.Covers = func(store.Project) bool { return true }
	}
	n.scope.Name = store.ScopePrefix + to.Name
	return n
}

// narrowed is a store behind a scope. It embeds no store: a method of the contract that
// is missing here does not compile, instead of leading around the scope.
type narrowed struct{ writes }

type writes struct{ reads }

// reads has the checks that every method makes.
type reads struct {
	whole store.Store
	scope Scope
	all   bool // every project is inside
}

var _ store.Store = (*narrowed)(nil)

// ScopeName names the scope. Cursors of package recall are valid in their scope only.
func (n *reads) ScopeName() string { return n.scope.Name }

// may refuses an action that the scope does not allow.
func (n *reads) may(allowed bool, action string) error {
	if allowed {
		return nil
	}
	return fmt.Errorf("%s is %w here", action, ErrDenied)
}

// admit returns a conversation, or ErrNotFound if it is outside.
func (n *reads) admit(ctx context.Context, id store.ConversationID) (store.Conversation, error) {
	c, err := n.whole.Conversation(ctx, id)
	if err == nil && n.scope.Covers(c.Project) {
		return c, nil
	}
	if err == nil || errors.Is(err, store.ErrNotFound) {
		err = store.Missing(fmt.Sprint("conversation ", int64(id)))
	}
	return store.Conversation{}, err
}

// inherits reports whether a conversation inside was forked, directly or through others,
// from one outside.
func (n *reads) inherits(ctx context.Context, c store.Conversation) (bool, error) {
	for c.ForkedFrom != 0 {
		origin, err := n.whole.Conversation(ctx, c.ForkedFrom)
		if errors.Is(err, store.ErrNotFound) {
			return true, nil
		}
		if err != nil || !n.scope.Covers(origin.Project) {
			return true, err
		}
		c = origin
	}
	return false, nil
}

// inside lists the conversations of the scope. Without inherited, those that were forked
// from outside are left out.
func (n *reads) inside(ctx context.Context, inherited bool) ([]store.ConversationID, error) {
	found, err := n.whole.Conversations(ctx, store.ConversationQuery{})
	if err != nil {
		return nil, err
	}
	var ids []store.ConversationID
	for _, c := range found {
		if !n.scope.Covers(c.Project) {
			continue
		}
		if !inherited && c.ForkedFrom != 0 {
			if foreign, err := n.inherits(ctx, c); err != nil {
				return nil, err
			} else if foreign {
				continue
			}
		}
		ids = append(ids, c.ID)
	}
	return ids, nil
}

// maxChosen is how many chosen conversations are looked up one by one. For more of them
// a list of all is faster.
const maxChosen = 16

// choose returns the chosen conversations (none: all) that are inside.
func (n *reads) choose(ctx context.Context, chosen []store.ConversationID, inherited bool) ([]store.ConversationID, error) {
	if 0 < len(chosen) && len(chosen) <= maxChosen {
		return n.chooseFew(ctx, chosen, inherited)
	}
	ids, err := n.inside(ctx, inherited)
	if len(chosen) == 0 {
		return ids, err
	}
	in := make(map[store.ConversationID]bool, len(ids))
	for _, id := range ids {
		in[id] = true
	}
	return slices.DeleteFunc(slices.Clone(chosen), func(id store.ConversationID) bool { return !in[id] }), err
}

// chooseFew is choose without a list of all conversations.
func (n *reads) chooseFew(ctx context.Context, chosen []store.ConversationID, inherited bool) (ids []store.ConversationID, err error) {
	for _, id := range chosen {
		c, err := n.admit(ctx, id)
		foreign := false
		if err == nil && !inherited {
			foreign, err = n.inherits(ctx, c)
		}
		switch {
		case errors.Is(err, store.ErrNotFound):
		case err != nil:
			return nil, err
		case !foreign && c.ErasedAt.IsZero():
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// admitNode returns ErrNotFound for a message or summary outside.
func (n *reads) admitNode(ctx context.Context, at store.ID) error {
	var err error
	if at.IsSummary() {
		_, err = store.First(n.Summaries(ctx, store.SummaryQuery{IDs: []store.SummaryID{at.Summary}}))
	} else {
		_, err = store.First(n.Messages(ctx, store.MessageQuery{IDs: []store.MessageID{at.Message}, NoRaw: true}))
	}
	if errors.Is(err, store.ErrNotFound) {
		return store.Missing(at.String())
	}
	return err
}

// filter passes on the items that are inside, and fails at one that is not.
func filter[T any](all iter.Seq2[T, error], name func(T) string, admit func(T) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for item, err := range all {
			if err == nil {
				if err = admit(item); errors.Is(err, store.ErrNotFound) {
					err = store.Missing(name(item))
				}
				if err != nil {
					item = *new(T)
				}
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// remember returns admit with its answers kept, for the items of one call.
func remember(admit func(store.ConversationID) error) func(store.ConversationID) error {
	known := map[store.ConversationID]error{}
	return func(id store.ConversationID) error {
		err, ok := known[id]
		if !ok {
			err = admit(id)
			known[id] = err
		}
		return err
	}
}

func failing[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) { yield(*new(T), err) }
}
