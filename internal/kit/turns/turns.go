// Package turns serialises callers inside one process. Unlike a mutex, a caller
// can stop waiting when its context ends.
package turns

import (
	"context"
	"sync"
)

// Turns lets one caller at a time through for each key. The zero value is ready.
type Turns struct {
	mu     sync.Mutex
	queues map[string]*queue
}

// queue exists while a caller holds or waits for the turn of its key.
type queue struct {
	turn  chan struct{}
	users int
}

// Take waits for the turn of a key, or fails with the cause of ctx. The caller
// ends its turn with done.
func (t *Turns) Take(ctx context.Context, key string) (done func(), err error) {
	t.mu.Lock()
	if t.queues == nil {
		t.queues = map[string]*queue{}
	}
	q := t.queues[key]
	if q == nil {
		q = &queue{turn: make(chan struct{}, 1)}
		t.queues[key] = q
	}
	q.users++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if q.users--; q.users == 0 {
			delete(t.queues, key)
		}
	}
	select {
	case q.turn <- struct{}{}:
		return func() { <-q.turn; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}

// Keys returns how many keys have a caller that holds or waits for the turn.
func (t *Turns) Keys() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.queues)
}
