// Package guard calls code of others (summarisers, tools, sub-agents) so that it
// can neither crash the program nor hold it up.
package guard

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// Panic is the error of a function that panicked.
type Panic struct {
	Value any
	Stack []byte
}

// Error implements error.
func (p *Panic) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// ErrNoResult is the error of a function that ended its goroutine instead of
// returning.
var ErrNoResult = errors.New("the call ended without a result")

// Call runs fn in a goroutine and waits until it returns or ctx ends. A panic
// becomes a *Panic. When ctx ends, Call waits for fn for another grace period,
// drops its result and returns the cause of ctx. A function that ignores its
// context keeps its goroutine until it returns.
func Call[T any](ctx context.Context, grace time.Duration, fn func(context.Context) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		r := result{err: ErrNoResult}
		defer func() {
			if p := recover(); p != nil {
				r = result{err: &Panic{p, debug.Stack()}}
			}
			done <- r
		}()
		r.value, r.err = fn(ctx)
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
	}
	if grace > 0 {
		t := time.NewTimer(grace)
		defer t.Stop()
		select {
		case <-done:
		case <-t.C:
		}
	}
	var none T
	return none, context.Cause(ctx)
}
