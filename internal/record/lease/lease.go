// Package lease lets one process at a time do a piece of work, among the
// processes that share a store.
//
// A lease is a row of [store.State] with an expiry. The process whose
// compare-and-set succeeds holds it. A process that dies does not give its lease
// back: others take it over when it expires, or at once if its owner is known to
// have ended. Two processes may hold a lease at the same time after a clock has
// jumped or a process was suspended, so a lease saves work and protects nothing:
// the store's own checks must.
package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
)

// ErrBusy says that another process holds the lease.
var ErrBusy = errors.New("another process holds the lease")

// poll is how often Take looks again while it waits.
const poll = 100 * time.Millisecond

// Leases are the leases of one space of a state. All fields but Ended must be
// set. It is safe for concurrent use.
type Leases struct {
	State store.State
	Space string
	Clock func() time.Time
	Owner string // this process; it should be unique
	// Ended reports whether an owner is known to have ended. Nil knows of none.
	Ended func(owner string) bool
	TTL   time.Duration
	// unreturned has the versions, by key, of leases that this process could not
	// give back because the disk was full.
	unreturned sync.Map
}

// Lease is a lease that this process holds. The methods of a nil Lease do
// nothing.
type Lease struct {
	*Leases
	key     string
	version int64
	expires time.Time
}

// Take takes the lease of a key. If another process holds it, Take waits for it
// or, without wait, fails with ErrBusy.
func (l *Leases) Take(ctx context.Context, key string, wait bool) (*Lease, error) {
	held := &Lease{Leases: l, key: key}
	for {
		err := held.put(ctx, 0)
		if errors.Is(err, store.ErrConflict) {
			err = held.takeOver(ctx)
		}
		if err == nil {
			return held, nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return nil, fmt.Errorf("taking the lease: %w", err)
		}
		if !wait {
			return nil, ErrBusy
		}
		if err := store.Wait(ctx, poll); err != nil {
			return nil, err
		}
	}
}

// Taken reports whether a process holds the lease of a key.
func (l *Leases) Taken(ctx context.Context, key string) (bool, error) {
	v, err := l.State.Get(ctx, l.Space, key)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && !l.abandoned(v), err
}

// takeOver takes a lease that its owner will not give back, or fails with
// ErrConflict.
func (l *Lease) takeOver(ctx context.Context) error {
	v, err := l.State.Get(ctx, l.Space, l.key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return l.put(ctx, 0) // it was given back meanwhile
	case err != nil:
		return err
	}
	version, mine := l.unreturned.Load(l.key)
	if mine && version == v.Version || l.abandoned(v) {
		return l.put(ctx, v.Version)
	}
	return store.ErrConflict
}

// abandoned reports whether the owner of a lease has ended, or took the lease
// when the clock was ahead: it would last as long as the clock jumped back. A lease
// without end is damaged.
func (l *Leases) abandoned(v store.Value) bool {
	return v.Expires.IsZero() || v.Expires.Sub(l.Clock()) > 2*l.TTL || l.Ended != nil && l.Ended(string(v.Data))
}

func (l *Lease) put(ctx context.Context, version int64) error {
	expires := l.Clock().Add(l.TTL)
	v, err := l.State.Put(ctx, l.Space, l.key, []byte(l.Owner), version, expires)
	if err == nil {
		l.version, l.expires = v, expires
	}
	return err
}

// Renew extends the lease once a quarter of its time has passed, or takes it again
// if it has expired: a long transaction may have kept Renew waiting. It is no error if
// another process has taken the lease.
func (l *Lease) Renew(ctx context.Context) error {
	if l == nil || l.expires.Sub(l.Clock()) > l.TTL*3/4 {
		return nil
	}
	err := l.put(ctx, l.version)
	if errors.Is(err, store.ErrConflict) {
		err = l.put(ctx, 0)
	}
	if err != nil && !errors.Is(err, store.ErrConflict) {
		return fmt.Errorf("renewing the lease: %w", err)
	}
	return nil
}

// Keep renews the lease in the background until stop is called.
func (l *Lease) Keep(ctx context.Context) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		tick := time.NewTicker(l.TTL / 3)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				done <- nil
				return
			case <-tick.C:
				if err := l.Renew(ctx); err != nil && ctx.Err() == nil {
					done <- err
					return
				}
			}
		}
	}()
	return func() error { cancel(); return <-done }
}

// Release gives the lease back, even if ctx has ended.
func (l *Lease) Release(ctx context.Context) error {
	if l == nil {
		return nil
	}
	err := l.State.Delete(context.WithoutCancel(ctx), l.Space, l.key, l.version)
	if err == nil || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	l.unreturned.Store(l.key, l.version)
	return fmt.Errorf("giving the lease back: %w", err)
}
