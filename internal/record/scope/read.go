package scope

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/lossless-context/lcm/internal/record/store"
)

// Conversation implements [store.Reader].
func (n *reads) Conversation(ctx context.Context, id store.ConversationID) (store.Conversation, error) {
	return n.admit(ctx, id)
}

// Conversations implements [store.Reader].
func (n *reads) Conversations(ctx context.Context, q store.ConversationQuery) ([]store.Conversation, error) {
	limit := q.Limit
	q.Limit = 0 // conversations outside must not use it up
	found, err := n.whole.Conversations(ctx, q)
	found = slices.DeleteFunc(found, func(c store.Conversation) bool { return !n.scope.Covers(c.Project) })
	if limit > 0 && len(found) > limit {
		found = found[:limit]
	}
	return found, err
}

// View implements [store.Reader]. The view of a conversation that was forked from
// outside has its own messages only.
func (n *reads) View(ctx context.Context, id store.ConversationID, w store.Window) (store.View, error) {
	c, err := n.admit(ctx, id)
	if err != nil {
		return store.View{}, err
	}
	foreign, err := n.inherits(ctx, c)
	if err != nil || !foreign {
		return unless(err, func() (store.View, error) { return n.whole.View(ctx, id, w) })
	}
	v, err := n.whole.View(ctx, id, store.Window{})
	if err != nil {
		return store.View{}, err
	}
	own := store.View{Conversation: id}
	for _, item := range v.Items {
		if item.IsSummary() {
			continue
		}
		m, err := store.First(n.whole.Messages(ctx, store.MessageQuery{IDs: []store.MessageID{item.Message}, NoRaw: true}))
		if err != nil {
			return store.View{}, err
		}
		if m.Conversation != id {
			continue
		}
		own.Items, own.Tokens = append(own.Items, item), own.Tokens+item.Tokens
		if item.Pos == v.LastUser {
			own.LastUser = v.LastUser
		}
	}
	own.Count = len(own.Items)
	return own, nil
}

// Messages implements [store.Reader].
func (n *reads) Messages(ctx context.Context, q store.MessageQuery) iter.Seq2[store.Message, error] {
	if q.Conversation != 0 {
		if _, err := n.admit(ctx, q.Conversation); err != nil {
			return failing[store.Message](err)
		}
	}
	admit := remember(func(id store.ConversationID) error { _, err := n.admit(ctx, id); return err })
	return filter(n.whole.Messages(ctx, q), func(m store.Message) string { return m.ID.String() },
		func(m store.Message) error { return admit(m.Conversation) })
}

// Summaries implements [store.Reader].
func (n *reads) Summaries(ctx context.Context, q store.SummaryQuery) iter.Seq2[store.Summary, error] {
	admit := remember(func(id store.ConversationID) error {
		c, err := n.admit(ctx, id)
		if err != nil {
			return err
		}
		foreign, err := n.inherits(ctx, c)
		if err == nil && foreign {
			err = store.ErrNotFound
		}
		return err
	})
	if q.Conversation != 0 && len(q.IDs) == 0 {
		if c, err := n.admit(ctx, q.Conversation); err != nil {
			return failing[store.Summary](err)
		} else if foreign, err := n.inherits(ctx, c); err != nil || foreign {
			return func(yield func(store.Summary, error) bool) {
				if err != nil {
					yield(store.Summary{}, err)
				}
			}
		}
	}
	return filter(n.whole.Summaries(ctx, q), func(s store.Summary) string { return string(s.ID) },
		func(s store.Summary) error { return admit(s.Conversation) })
}

// unless calls fn, unless there is an error already.
func unless[T any](err error, fn func() (T, error)) (T, error) {
	if err != nil {
		return *new(T), err
	}
	return fn()
}

// Record implements [store.Reader].
func (n *reads) Record(ctx context.Context, id store.MessageID) ([]byte, error) {
	return unless(n.admitNode(ctx, store.ID{Message: id}), func() ([]byte, error) { return n.whole.Record(ctx, id) })
}

// Sources implements [store.Reader]. All sources of a summary inside are inside: those
// of forks from outside are not.
func (n *reads) Sources(ctx context.Context, id store.SummaryID) ([]store.ID, error) {
	return unless(n.admitNode(ctx, store.ID{Summary: id}), func() ([]store.ID, error) { return n.whole.Sources(ctx, id) })
}

// Derived implements [store.Reader]. A fork outside may have summarised a message
// inside.
func (n *reads) Derived(ctx context.Context, at store.ID) ([]store.SummaryID, error) {
	found, err := unless(n.admitNode(ctx, at), func() ([]store.SummaryID, error) { return n.whole.Derived(ctx, at) })
	return slices.DeleteFunc(found, func(id store.SummaryID) bool {
		return n.admitNode(ctx, store.ID{Summary: id}) != nil
	}), err
}

// Payload implements [store.Reader]. A payload is inside if a message inside holds it.
// The row has the name and the path that the first message gave it, which may be
// outside; the newest message inside decides instead.
func (n *reads) Payload(ctx context.Context, id store.PayloadID) (store.Payload, error) {
	if n.all {
		return n.whole.Payload(ctx, id)
	}
	holders, err := n.Holders(ctx, id, nil, 1)
	if err != nil {
		return store.Payload{}, err
	}
	if len(holders) == 0 {
		return store.Payload{}, store.Missing(string(id))
	}
	m, err := store.First(n.Messages(ctx, store.MessageQuery{IDs: holders, NoRaw: true}))
	if err != nil {
		return store.Payload{}, err
	}
	p, err := n.whole.Payload(ctx, id)
	if err != nil {
		return store.Payload{}, err
	}
	p.Name, p.Path, p.Created = "", "", m.Stored
	for _, ref := range store.Refs(m.Body.Parts) {
		if ref.ID == string(id) {
			p.Name, p.MIME, p.Summary = ref.Name, cmp.Or(ref.MIME, p.MIME), ref.Note
		}
	}
	return p, nil
}

// Search implements [store.Searcher].
func (n *reads) Search(ctx context.Context, q store.Search) (store.Found, error) {
	if n.all {
		return n.whole.Search(ctx, q)
	}
	ids, err := n.choose(ctx, q.Conversations, !q.Summaries)
	if err != nil || len(ids) == 0 {
		return store.Found{Tier: "index"}, err
	}
	q.Conversations = ids
	return n.whole.Search(ctx, q)
}

// Text implements [store.Searcher].
func (n *reads) Text(ctx context.Context, at store.ID) ([]byte, error) {
	return unless(n.admitNode(ctx, at), func() ([]byte, error) { return n.whole.Text(ctx, at) })
}

// Attached implements [store.Attachments].
func (n *reads) Attached(ctx context.Context, id store.MessageID) ([]store.PayloadID, error) {
	return unless(n.admitNode(ctx, store.ID{Message: id}), func() ([]store.PayloadID, error) { return n.whole.Attached(ctx, id) })
}

// Holders implements [store.Attachments].
func (n *reads) Holders(ctx context.Context, id store.PayloadID, in []store.ConversationID, limit int) ([]store.MessageID, error) {
	if n.all {
		return n.whole.Holders(ctx, id, in, limit)
	}
	ids, err := n.choose(ctx, in, true)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return n.whole.Holders(ctx, id, ids, limit)
}

// Verify implements [store.Checker].
func (n *reads) Verify(ctx context.Context, id store.ConversationID) (store.Verification, error) {
	_, err := n.admit(ctx, id)
	return unless(err, func() (store.Verification, error) { return n.whole.Verify(ctx, id) })
}

// Orphans implements [store.Checker]. Rows of no conversation are of no project.
func (n *reads) Orphans(ctx context.Context) ([]store.Fault, error) {
	if n.all {
		return n.whole.Orphans(ctx)
	}
	return nil, nil
}
