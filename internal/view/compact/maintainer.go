package compact

import (
	"context"
	"sync"

	"github.com/lossless-context/lcm/internal/record/store"
)

// Job compacts one conversation; it is Runner.Run in mode Soft with the limits
// that apply.
type Job func(ctx context.Context, id store.ConversationID) (Report, error)

// Maintainer compacts in the background, one conversation at a time, in the order
// of the calls of Notify. Notify never blocks, and a conversation that is already
// queued is not queued twice. One whose run stopped at a bound is queued again.
type Maintainer struct {
	job    Job
	report func(Report, error)
	cancel context.CancelFunc
	wake   chan struct{}
	done   chan struct{}

	mu     sync.Mutex
	queue  []store.ConversationID
	queued map[store.ConversationID]bool
	busy   bool
	closed bool
	idle   []chan struct{} // closed when there is nothing left to do
}

// NewMaintainer starts a maintainer, which works until Close or until ctx
// ends. Each run is reported to report, which must not block; nil drops the
// reports.
func NewMaintainer(ctx context.Context, job Job, report func(Report, error)) *Maintainer {
	if report == nil {
		report = func(Report, error) {}
	}
	ctx, cancel := context.WithCancel(ctx)
	m := &Maintainer{
		job: job, report: report, cancel: cancel,
		wake: make(chan struct{}, 1), done: make(chan struct{}), queued: map[store.ConversationID]bool{},
	}
	go m.work(ctx)
	return m
}

// Notify says that a conversation has grown. After Close it does nothing.
func (m *Maintainer) Notify(id store.ConversationID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.queued[id] {
		return
	}
	m.queued[id] = true
	m.queue = append(m.queue, id)
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *Maintainer) work(ctx context.Context) {
	defer close(m.done)
	defer m.stop()
	for {
		id, found, open := m.next()
		switch {
		case !open || ctx.Err() != nil:
			return
		case found:
			r, err := m.job(ctx, id)
			m.report(r, err)
			if err == nil && r.Unfinished() {
				m.Notify(id)
			}
		default:
			select {
			case <-ctx.Done():
			case <-m.wake:
			}
		}
	}
}

// next takes the next conversation off the queue, if there is one, and says
// whether the maintainer is still open. A conversation may be queued again
// while it is worked on, because the run may not see its newest messages.
func (m *Maintainer) next() (id store.ConversationID, found, open bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.busy = len(m.queue) > 0
	if !m.busy {
		m.release()
		return 0, false, !m.closed
	}
	id = m.queue[0]
	m.queue = m.queue[1:]
	delete(m.queued, id)
	return id, true, true
}

// release ends the calls of Wait.
func (m *Maintainer) release() {
	for _, c := range m.idle {
		close(c)
	}
	m.idle = nil
}

// stop marks the maintainer as closed and ends the calls of Wait.
func (m *Maintainer) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed, m.busy = true, false
	m.release()
}

// Wait waits until there is nothing left to do, or ctx ends.
func (m *Maintainer) Wait(ctx context.Context) error {
	m.mu.Lock()
	if m.closed || (!m.busy && len(m.queue) == 0) {
		m.mu.Unlock()
		return nil
	}
	idle := make(chan struct{})
	m.idle = append(m.idle, idle)
	m.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close takes no more work, waits for the run that is under way and returns
// when the maintainer has stopped. If ctx ends first, the run is cancelled and
// Close returns why. Conversations that were waiting are compacted when they
// grow again.
func (m *Maintainer) Close(ctx context.Context) error {
	defer m.cancel()
	m.mu.Lock()
	m.closed = true
	m.queue = nil
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
	select {
	case <-m.done:
		return nil
	case <-ctx.Done():
		m.cancel()
		<-m.done
		return ctx.Err()
	}
}
