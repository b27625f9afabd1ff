package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/lossless-context/lcm/internal/store"
)

// ProjectOnly restricts a store to the conversations of one project: for every
// reader of the returned store, all others do not exist. Writes are not
// restricted.
//
// The restriction is around the store and not in each tool, so that a tool that
// is added later cannot leave the project either.
func ProjectOnly(s store.Store, p store.Project) store.Store {
	return &projectStore{Store: s, project: p}
}

type projectStore struct {
	store.Store
	project store.Project
}

var _ store.Store = (*projectStore)(nil)

// inside lists the conversations of the project.
func (f *projectStore) inside(ctx context.Context) ([]store.ConversationID, error) {
	found, err := f.Store.Conversations(ctx, store.ConversationQuery{Project: &f.project})
	ids := make([]store.ConversationID, len(found))
	for i, c := range found {
		ids[i] = c.ID
	}
	return ids, err
}

// admit returns ErrNotFound for a conversation of another project.
func (f *projectStore) admit(ctx context.Context, id store.ConversationID) error {
	ids, err := f.inside(ctx)
	if err == nil && !slices.Contains(ids, id) {
		err = store.Missing(fmt.Sprint("conversation ", int64(id)))
	}
	return err
}

// admitNode returns ErrNotFound for a message or summary of another project.
func (f *projectStore) admitNode(ctx context.Context, n store.Node) error {
	if n.IsSummary() {
		for _, err := range f.Summaries(ctx, store.SummaryQuery{IDs: []store.SummaryID{n.Summary}}) {
			return err
		}
	} else {
		for _, err := range f.Messages(ctx, store.MessageQuery{IDs: []store.MessageID{n.Message}}) {
			return err
		}
	}
	return store.Missing(n.String())
}

// unless calls fn, unless there is an error already.
func unless[T any](err error, fn func() (T, error)) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return fn()
}

// inProject passes on the items of the project, and fails at one of another.
func inProject[T any](ctx context.Context, f *projectStore, all iter.Seq2[T, error], of func(T) (store.ConversationID, string)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		ids, err := f.inside(ctx)
		if err != nil {
			yield(none, err)
			return
		}
		for item, err := range all {
			if conversation, name := of(item); err == nil && !slices.Contains(ids, conversation) {
				item, err = none, store.Missing(name)
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// Conversation implements [store.Reader].
func (f *projectStore) Conversation(ctx context.Context, id store.ConversationID) (store.Conversation, error) {
	return unless(f.admit(ctx, id), func() (store.Conversation, error) { return f.Store.Conversation(ctx, id) })
}

// Conversations implements [store.Reader].
func (f *projectStore) Conversations(ctx context.Context, q store.ConversationQuery) ([]store.Conversation, error) {
	ids, err := f.inside(ctx)
	if err != nil {
		return nil, err
	}
	limit := q.Limit
	q.Limit = 0 // conversations of other projects must not use it up
	found, err := f.Store.Conversations(ctx, q)
	found = slices.DeleteFunc(found, func(c store.Conversation) bool { return !slices.Contains(ids, c.ID) })
	if limit > 0 && len(found) > limit {
		found = found[:limit]
	}
	return found, err
}

// View implements [store.Reader].
func (f *projectStore) View(ctx context.Context, id store.ConversationID, w store.Window) (store.View, error) {
	return unless(f.admit(ctx, id), func() (store.View, error) { return f.Store.View(ctx, id, w) })
}

// Messages implements [store.Reader].
func (f *projectStore) Messages(ctx context.Context, q store.MessageQuery) iter.Seq2[store.Message, error] {
	return inProject(ctx, f, f.Store.Messages(ctx, q), func(m store.Message) (store.ConversationID, string) {
		return m.Conversation, m.ID.String()
	})
}

// Summaries implements [store.Reader].
func (f *projectStore) Summaries(ctx context.Context, q store.SummaryQuery) iter.Seq2[store.Summary, error] {
	return inProject(ctx, f, f.Store.Summaries(ctx, q), func(s store.Summary) (store.ConversationID, string) {
		return s.Conversation, string(s.ID)
	})
}

// Record implements [store.Reader].
func (f *projectStore) Record(ctx context.Context, id store.MessageID) ([]byte, error) {
	return unless(f.admitNode(ctx, store.Node{Message: id}), func() ([]byte, error) { return f.Store.Record(ctx, id) })
}

// Sources implements [store.Reader]. The sources of a summary are in its project
// or in the one it was forked from; reading the latter fails.
func (f *projectStore) Sources(ctx context.Context, id store.SummaryID) ([]store.Node, error) {
	return unless(f.admitNode(ctx, store.Node{Summary: id}), func() ([]store.Node, error) { return f.Store.Sources(ctx, id) })
}

// Derived implements [store.Reader]. A fork in another project may have
// summarised a message of this one.
func (f *projectStore) Derived(ctx context.Context, n store.Node) ([]store.SummaryID, error) {
	if err := f.admitNode(ctx, n); err != nil {
		return nil, err
	}
	found, err := f.Store.Derived(ctx, n)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(id store.SummaryID) bool {
		return f.admitNode(ctx, store.Node{Summary: id}) != nil
	}), nil
}

// Payload implements [store.Reader]. A payload belongs to the project if one of
// its messages holds it.
func (f *projectStore) Payload(ctx context.Context, id store.PayloadID) (store.Payload, error) {
	holders, err := f.Holders(ctx, id, nil, 1)
	if err != nil {
		return store.Payload{}, err
	}
	if len(holders) == 0 {
		return store.Payload{}, store.Missing(string(id))
	}
	return f.Store.Payload(ctx, id)
}

// Search implements [store.Searcher].
func (f *projectStore) Search(ctx context.Context, q store.Search) (store.Found, error) {
	ids, err := f.within(ctx, q.Conversations)
	if err != nil || len(ids) == 0 {
		return store.Found{Tier: "index"}, err
	}
	q.Conversations = ids
	return f.Store.Search(ctx, q)
}

// Text implements [store.Searcher].
func (f *projectStore) Text(ctx context.Context, n store.Node) ([]byte, error) {
	return unless(f.admitNode(ctx, n), func() ([]byte, error) { return f.Store.Text(ctx, n) })
}

// Attached implements [store.Attachments].
func (f *projectStore) Attached(ctx context.Context, id store.MessageID) ([]store.PayloadID, error) {
	return unless(f.admitNode(ctx, store.Node{Message: id}), func() ([]store.PayloadID, error) { return f.Store.Attached(ctx, id) })
}

// Holders implements [store.Attachments].
func (f *projectStore) Holders(ctx context.Context, id store.PayloadID, in []store.ConversationID, limit int) ([]store.MessageID, error) {
	ids, err := f.within(ctx, in)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return f.Store.Holders(ctx, id, ids, limit)
}

// Verify implements [store.Checker].
func (f *projectStore) Verify(ctx context.Context, id store.ConversationID) (store.Verification, error) {
	return unless(f.admit(ctx, id), func() (store.Verification, error) { return f.Store.Verify(ctx, id) })
}

// within returns the chosen conversations (none: all) that are in the project.
func (f *projectStore) within(ctx context.Context, chosen []store.ConversationID) ([]store.ConversationID, error) {
	ids, err := f.inside(ctx)
	if len(chosen) > 0 {
		ids = slices.DeleteFunc(ids, func(id store.ConversationID) bool { return !slices.Contains(chosen, id) })
	}
	return ids, err
}

// Vectors implements [store.VectorCache] where the store does. Vectors are found
// by the hash of a text that the caller has.
func (f *projectStore) Vectors(ctx context.Context, model string, texts []store.TextHash) (map[store.TextHash][]byte, error) {
	cache, ok := f.Store.(store.VectorCache)
	if !ok {
		return nil, nil
	}
	return cache.Vectors(ctx, model, texts)
}

// PutVectors implements [store.VectorCache] where the store does.
func (f *projectStore) PutVectors(ctx context.Context, model string, vectors []store.MessageVector) error {
	cache, ok := f.Store.(store.VectorCache)
	if !ok {
		return nil
	}
	return cache.PutVectors(ctx, model, vectors)
}

// vectorIndex is the index of a store that has one.
func (f *projectStore) vectorIndex() (store.VectorIndex, error) {
	index, ok := f.Store.(store.VectorIndex)
	if !ok {
		return nil, errors.New("the store has no index of vectors")
	}
	return index, nil
}

// VectorStatus implements [store.VectorIndex]; a store without an index has an empty one.
func (f *projectStore) VectorStatus(ctx context.Context, model string) (store.VectorStatus, error) {
	index, err := f.vectorIndex()
	if err != nil {
		return store.VectorStatus{}, nil
	}
	return index.VectorStatus(ctx, model)
}

// Nearest implements [store.VectorIndex]: it compares the vectors of the project.
func (f *projectStore) Nearest(ctx context.Context, q store.NearestQuery) (store.Nearest, error) {
	index, err := f.vectorIndex()
	if err == nil {
		q.Conversations, err = f.within(ctx, q.Conversations)
	}
	if err != nil || len(q.Conversations) == 0 {
		return store.Nearest{}, err
	}
	return index.Nearest(ctx, q)
}

// PendingBlocks implements [store.VectorIndex].
func (f *projectStore) PendingBlocks(context.Context, string) ([]store.VectorBlock, error) {
	return nil, errBlocks
}

// BlockMessages implements [store.VectorIndex]. A block has messages of all
// projects, so that nobody makes one here.
func (f *projectStore) BlockMessages(context.Context, store.VectorBlock) ([]store.MessageID, error) {
	return nil, errBlocks
}

// PutBlock implements [store.VectorIndex].
func (f *projectStore) PutBlock(context.Context, string, store.VectorBlock, []store.MessageVector) error {
	return errBlocks
}

var errBlocks = errors.New("the vectors of one project alone cannot be indexed")
