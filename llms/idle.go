package llms

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// ErrIdle is the cause of a call that was given up because the provider had
// gone silent.
var ErrIdle = errors.New("the provider went silent")

// GiveUpWhenIdle runs a call and gives it up when nothing arrives for idle: no
// event and, for a model whose client is from [WatchHTTP], no byte. The time
// that the reader takes to handle an event does not count. With idle <= 0 the
// call is left alone.
//
// A total timeout would not do: a long answer that keeps arriving is healthy,
// and a connection that hangs after its first word is not.
func GiveUpWhenIdle(ctx context.Context, provider string, idle time.Duration, stream func(context.Context) iter.Seq2[Event, error]) iter.Seq2[Event, error] {
	if idle <= 0 {
		return stream(ctx)
	}
	return func(yield func(Event, error) bool) {
		watched, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		timer := time.AfterFunc(idle, func() { cancel(ErrIdle) })
		defer timer.Stop()
		life := signOfLife{idle: idle, sign: func() { timer.Reset(idle) }}
		for event, err := range stream(context.WithValue(watched, lifeKey{}, life)) {
			timer.Stop()
			if err != nil && errors.Is(context.Cause(watched), ErrIdle) {
				silent := &Error{Class: ClassTransient, Provider: provider,
					Message: fmt.Sprintf("%v for %v", ErrIdle, idle), cause: ErrIdle}
				if failed, ok := errors.AsType[*Error](err); ok {
					silent.Usage = failed.Usage
				}
				err = silent
			}
			if !yield(event, err) {
				return
			}
			timer.Reset(idle)
		}
	}
}
