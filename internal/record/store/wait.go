package store

import (
	"context"
	"time"
)

// Wait waits for d, for a caller that then looks whether another process has written.
func Wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
