package store

import (
	"context"
	"time"
)

// Waiter is a store that notices when another process has written.
type Waiter interface {
	// Wait returns when another process may have written, or after d. A store that is
	// notified of writes may wait longer than d. The caller then reads the store again.
	Wait(ctx context.Context, d time.Duration) error
}

// Wait waits for a change of a store that is a [Waiter], and else for d.
func Wait(ctx context.Context, s any, d time.Duration) error {
	if w, ok := s.(Waiter); ok {
		return w.Wait(ctx, d)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
