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

// Errors of Call that are not fn's own.
var (
	// ErrNoResult: fn ended its goroutine instead of returning.
	ErrNoResult = errors.New("the call ended without a result")
	// ErrGivenUp: ctx ended before fn returned. context.Cause has the reason.
	ErrGivenUp = errors.New("the call was given up")
)

// Run calls fn and returns its error, or a *Panic if it panicked.
func Run(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &Panic{p, debug.Stack()}
		}
	}()
	return fn()
}

// Call runs fn in a goroutine and waits until it returns or ctx ends. A panic
// becomes a *Panic. When ctx ends, Call waits for fn for another grace period,
// drops its result and returns ErrGivenUp. A function that ignores its context
// keeps its goroutine until it returns.
func Call[T any](ctx context.Context, grace time.Duration, fn func(context.Context) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		r := result{err: ErrNoResult}
		defer func() { done <- r }()
		r.err = Run(func() (err error) { r.value, err = fn(ctx); return err })
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
	return none, ErrGivenUp
}
