package compact

import (
	"context"

	"github.com/lossless-context/lcm/internal/store"
)

// Hold keeps every other run off a conversation until release is called, and
// waits for one that is under way. Whoever changes what summaries were made
// from holds it, so that no summary of what was is written after the change.
func (r *Runner) Hold(ctx context.Context, id store.ConversationID) (release func(), err error) {
	if r.leases == nil {
		return func() {}, nil
	}
	held, _, err := r.leases.take(ctx, leaseOf(id), true)
	if err != nil {
		return nil, err
	}
	// A lease that is not given back runs out by itself.
	return func() { _ = held.end(context.WithoutCancel(ctx)) }, nil
}
