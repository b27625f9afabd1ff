package compact

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lossless-context/lcm/internal/store"
)

var errBusy = errors.New("the conversation is being compacted")

// leasePoll is how often a run that waits for a lease looks again.
const leasePoll = 100 * time.Millisecond

// leases keep the runs of several processes apart.
type leases struct {
	state store.State
	clock func() time.Time
	owner string
	ended func(owner string) bool // see Config.Ended
	ttl   time.Duration
	// left are the versions, by key, of leases that could not be given back: a
	// full disk takes no writes. Nobody but this process knows that they are
	// free.
	left sync.Map
}

// lease is held while a conversation is compacted, or while a process compacts
// in the background ([Runner.Alone]). The nil lease is held by runs without a
// store for leases.
type lease struct {
	*leases
	key     string
	version int64
	expires time.Time
}

// leaseOf is the key of a conversation's lease.
func leaseOf(id store.ConversationID) string { return fmt.Sprintf("compact/%d", id) }

// take takes a lease. If another run has it, take waits for it, and says so, or
// fails with errBusy.
func (l *leases) take(ctx context.Context, key string, wait bool) (held *lease, waited bool, err error) {
	held = &lease{leases: l, key: key}
	for ; ; waited = true {
		err := held.put(ctx, 0)
		if err == nil {
			return held, waited, nil
		}
		if errors.Is(err, store.ErrConflict) {
			// Whoever had it may have folded before it was left behind, so
			// what was read of the view is as old as after a wait.
			if err = held.inherit(ctx); err == nil {
				return held, true, nil
			}
		}
		if !errors.Is(err, store.ErrConflict) {
			return nil, waited, fmt.Errorf("taking the lease: %w", err)
		}
		if !wait {
			return nil, waited, errBusy
		}
		t := time.NewTimer(leasePoll)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil, waited, ctx.Err()
		case <-t.C:
		}
	}
}

// inherit takes a lease over that nobody will give back: its owner was killed,
// or is this process and could not give it back, or took it when the clock was
// ahead of what it is now, so that it would last for as long as the clock
// jumped back. Else it fails with ErrConflict.
func (l *lease) inherit(ctx context.Context) error {
	v, err := l.state.Get(ctx, leaseSpace, l.key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return l.put(ctx, 0) // it was given back meanwhile
	case err != nil:
		return err
	}
	left, mine := l.left.Load(l.key)
	if mine && left == v.Version || l.free(v) {
		return l.put(ctx, v.Version)
	}
	return store.ErrConflict
}

// free reports whether a lease is one that nobody will give back, as far as any
// process can tell.
func (l *leases) free(v store.Value) bool {
	return v.Expires.Sub(l.clock()) > 2*l.ttl || l.ended != nil && l.ended(string(v.Data))
}

func (l *lease) put(ctx context.Context, version int64) error {
	expires := l.clock().Add(l.ttl)
	v, err := l.state.Put(ctx, leaseSpace, l.key, []byte(l.owner), version, expires)
	if err == nil {
		l.version, l.expires = v, expires
	}
	return err
}

// renew makes the lease last through another call of the summariser. A lease
// that was lost is no error: should another run have taken it, the store's own
// check of the view decides whose fold counts.
func (l *lease) renew(ctx context.Context) error {
	if l == nil || l.expires.Sub(l.clock()) > l.ttl*3/4 {
		return nil
	}
	if err := l.put(ctx, l.version); err != nil && !errors.Is(err, store.ErrConflict) {
		return fmt.Errorf("renewing the lease: %w", err)
	}
	return nil
}

// end gives the lease back.
func (l *lease) end(ctx context.Context) error {
	err := l.state.Delete(ctx, leaseSpace, l.key, l.version)
	if err == nil || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	l.left.Store(l.key, l.version)
	return fmt.Errorf("giving the lease back: %w", err)
}
