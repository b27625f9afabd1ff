package delegation

import (
	"context"
	"sync"
)

// turns lets the questions of one caller through one by one. A queue exists
// only while somebody is in it.
type turns struct {
	mu     sync.Mutex
	queues map[string]*queue
}

type queue struct {
	turn  chan struct{}
	users int
}

// take waits for the caller's turn and returns what gives it back. Callers
// without a name are strangers to each other and wait for nobody.
func (t *turns) take(ctx context.Context, caller string) (done func(), err error) {
	if caller == "" {
		return func() {}, ctx.Err()
	}
	t.mu.Lock()
	if t.queues == nil {
		t.queues = map[string]*queue{}
	}
	q := t.queues[caller]
	if q == nil {
		q = &queue{turn: make(chan struct{}, 1)}
		t.queues[caller] = q
	}
	q.users++
	t.mu.Unlock()
	leave := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if q.users--; q.users == 0 {
			delete(t.queues, caller)
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

func (t *turns) waiting() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.queues)
}
