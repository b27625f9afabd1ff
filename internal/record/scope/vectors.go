package scope

import (
	"context"
	"errors"
	"fmt"

	"github.com/lossless-context/lcm/internal/record/store"
)

// Vectors implements [store.VectorIndex]. Vectors are found by the hash of a text that
// the caller has.
func (n *reads) Vectors(ctx context.Context, model string, texts []store.TextHash) (map[store.TextHash][]byte, error) {
	return n.whole.Vectors(ctx, model, texts)
}

// PutVectors implements [store.VectorIndex]. Like the vector of a message that was erased
// meanwhile, that of a message outside is not stored.
func (n *reads) PutVectors(ctx context.Context, model string, vectors []store.MessageVector) error {
	var inside []store.MessageVector
	for _, v := range vectors {
		switch err := n.admitNode(ctx, store.ID{Message: v.Message}); {
		case err == nil:
			inside = append(inside, v)
		case !errors.Is(err, store.ErrNotFound):
			return fmt.Errorf("store the vector of a message: %w", err)
		}
	}
	return n.whole.PutVectors(ctx, model, inside)
}

// HasVectors implements [store.VectorIndex], for the whole store: a search asks it before
// it has the question embedded.
func (n *reads) HasVectors(ctx context.Context, model string) (bool, error) {
	return n.whole.HasVectors(ctx, model)
}

// Nearest implements [store.VectorIndex].
func (n *reads) Nearest(ctx context.Context, q store.NearestQuery) (store.Nearest, error) {
	if !n.all {
		ids, err := n.choose(ctx, q.Conversations, true)
		if err != nil || len(ids) == 0 {
			return store.Nearest{}, err
		}
		q.Conversations = ids
	}
	return n.whole.Nearest(ctx, q)
}

// mayIndex refuses to show or write blocks of vectors, unless every project is inside.
func (n *reads) mayIndex() error {
	if n.all {
		return nil
	}
	return fmt.Errorf("embedding all messages is %w for some projects only, because blocks of vectors have messages of all projects: "+
		"embed with an engine, or a command, that has the whole store", ErrDenied)
}

// VectorStatus implements [store.VectorIndex].
func (n *reads) VectorStatus(ctx context.Context, model string) (store.VectorStatus, error) {
	return unless(n.mayIndex(), func() (store.VectorStatus, error) { return n.whole.VectorStatus(ctx, model) })
}

// PendingBlocks implements [store.VectorIndex].
func (n *reads) PendingBlocks(ctx context.Context, model string) ([]store.VectorBlock, error) {
	return unless(n.mayIndex(), func() ([]store.VectorBlock, error) { return n.whole.PendingBlocks(ctx, model) })
}

// BlockMessages implements [store.VectorIndex].
func (n *reads) BlockMessages(ctx context.Context, b store.VectorBlock) ([]store.MessageID, error) {
	return unless(n.mayIndex(), func() ([]store.MessageID, error) { return n.whole.BlockMessages(ctx, b) })
}

// PutBlock implements [store.VectorIndex].
func (n *reads) PutBlock(ctx context.Context, model string, b store.VectorBlock, vectors []store.MessageVector) error {
	if err := n.mayIndex(); err != nil {
		return err
	}
	return n.whole.PutBlock(ctx, model, b, vectors)
}
