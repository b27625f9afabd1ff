package compact

import (
	"context"
	"errors"
	"time"

	"github.com/lossless-context/lcm/internal/store"
)

// backgroundLease is the key of the lease that [Runner.Alone] holds.
const backgroundLease = "compact/background"

// Alone calls work while no other process that shares the store is in Alone,
// and reports whether it did: it never waits. A lease keeps the processes
// apart. A process that is killed loses it.
//
// Alone bounds how many processes work in the background. It is not needed for
// two runs on one conversation, which their own lease keeps apart.
func (r *Runner) Alone(ctx context.Context, work func(context.Context) error) (bool, error) {
	if r.leases == nil {
		return true, work(ctx)
	}
	held, _, err := r.leases.take(ctx, backgroundLease, false)
	if errors.Is(err, errBusy) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	stop := held.keep(ctx)
	err = work(ctx)
	return true, errors.Join(err, stop(), held.end(context.WithoutCancel(ctx)))
}

// Occupied reports whether a process is in Alone.
func (r *Runner) Occupied(ctx context.Context) (bool, error) {
	if r.leases == nil {
		return false, nil
	}
	v, err := r.leases.state.Get(ctx, leaseSpace, backgroundLease)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && !r.leases.free(v), err
}

// keep renews the lease until the function that it returns is called.
func (l *lease) keep(ctx context.Context) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		tick := time.NewTicker(l.ttl / 3)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				done <- nil
				return
			case <-tick.C:
				if err := l.renew(ctx); err != nil && ctx.Err() == nil {
					done <- err
					return
				}
			}
		}
	}()
	return func() error { cancel(); return <-done }
}
