package compact

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/lossless-context/lcm/internal/record/lease"
	"github.com/lossless-context/lcm/internal/record/store"
)

// backgroundLease is the key of the lease that [Runner.Alone] holds.
const backgroundLease = "compact/background"

// leaseOf is the key of a conversation's lease.
func leaseOf(id store.ConversationID) string { return fmt.Sprintf("compact/%d", id) }

// Alone calls work unless another process that shares the store is in Alone, and
// reports whether it did. It never waits. It bounds how many processes work in
// the background; runs on one conversation have a lease of their own.
func (r *Runner) Alone(ctx context.Context, work func(context.Context) error) (bool, error) {
	if r.leases == nil {
		return true, work(ctx)
	}
	held, err := r.leases.Take(ctx, backgroundLease, false)
	if errors.Is(err, lease.ErrBusy) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	stop := held.Keep(ctx)
	err = work(ctx)
	return true, errors.Join(err, stop(), held.Release(ctx))
}

// Occupied reports whether a process is in Alone.
func (r *Runner) Occupied(ctx context.Context) (bool, error) {
	if r.leases == nil {
		return false, nil
	}
	return r.leases.Taken(ctx, backgroundLease)
}

// Hold waits for a run on a conversation to end and keeps others from starting
// until release is called. A caller that erases or masks messages holds the
// conversation, so that no summary of the old messages is written afterwards. It is
// renewed until then, because an erasure may take longer than a lease lasts.
func (r *Runner) Hold(ctx context.Context, id store.ConversationID) (release func(), err error) {
	return r.hold(ctx, leaseOf(id))
}

// HoldTurn waits until no other agent takes a turn in a session, and keeps others from it
// until release is called.
func (r *Runner) HoldTurn(ctx context.Context, session string) (release func(), err error) {
	return r.hold(ctx, fmt.Sprintf("turn/%x", sha256.Sum256([]byte(session))))
}

func (r *Runner) hold(ctx context.Context, key string) (release func(), err error) {
	if r.leases == nil {
		return func() {}, nil
	}
	held, err := r.leases.Take(ctx, key, true)
	if err != nil {
		return nil, err
	}
	stop := held.Keep(ctx)
	return func() { _, _ = stop(), held.Release(ctx) }, nil // it also expires by itself
}
