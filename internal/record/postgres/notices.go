package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// notices wakes callers of [pool.Wait] when a process has written. A notice carries no
// data, and a missed one costs time only: every caller looks again by itself later.
//
// A process that has written notifies the others in a transaction of its own. A NOTIFY in
// the transaction of a writer would make all writers of the database commit one after the
// other.
type notices struct {
	mu        sync.Mutex
	changed   chan struct{} // closed by the next notice
	following bool          // the listener was started
	listening bool          // the listener is connected
	sending   bool          // a notice will be sent
}

const (
	// noticeEvery is the time between two notices of a process.
	noticeEvery = 50 * time.Millisecond
	// relisten is how long a listener waits after it lost its connection.
	relisten = time.Second
	// fallback is how many times longer a caller waits before it looks again by
	// itself, while notices arrive.
	fallback = 4
)

// wakeAll wakes the callers of Wait.
func (n *notices) wakeAll(listening bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listening = listening
	if n.changed != nil {
		close(n.changed)
		n.changed = nil
	}
}

// Wait implements [sqldb.DB].
func (p *pool) Wait(ctx context.Context, d time.Duration) error {
	n := &p.notices
	n.mu.Lock()
	start := !n.following
	n.following = true
	if n.changed == nil {
		n.changed = make(chan struct{})
	}
	changed := n.changed
	if n.listening {
		d *= fallback
	}
	n.mu.Unlock()
	if start {
		p.Background(p.listen)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-changed:
	case <-t.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// listen wakes callers of Wait until the pool is closed.
func (p *pool) listen(ctx context.Context) {
	for ctx.Err() == nil {
		_ = p.listenOnce(ctx) // the connection was lost, or there is none
		p.notices.wakeAll(false)
		select {
		case <-ctx.Done():
		case <-time.After(relisten):
		}
	}
}

// listenOnce listens on one connection, until it is lost.
func (p *pool) listenOnce(ctx context.Context) error {
	c, err := pgx.ConnectConfig(ctx, p.config)
	if err != nil {
		return err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
		defer cancel()
		_ = c.Close(end)
	}()
	var channel string
	if err := c.QueryRow(ctx, "SELECT "+noticeChannel).Scan(&channel); err != nil {
		return err
	}
	if _, err := c.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return err
	}
	for { // the first time for the notices that were missed
		p.notices.wakeAll(true)
		if _, err := c.WaitForNotification(ctx); err != nil {
			return err
		}
	}
}

// noticeChannel is an expression: the channel of the schema.
const noticeChannel = "left('lcm/' || current_schema(), 63)"

// notify tells other processes that this one has written, a moment later for all writes
// until then, and at once when the pool is closed.
func (p *pool) notify() {
	n := &p.notices
	n.mu.Lock()
	sending := n.sending
	n.sending = true
	n.mu.Unlock()
	if sending {
		return
	}
	p.Background(func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-time.After(noticeEvery):
		}
		n.mu.Lock()
		n.sending = false
		n.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
		defer cancel()
		_ = p.lend(ctx, func(c *conn) error { return c.Script("SELECT pg_notify(" + noticeChannel + ", '')") }) // nobody depends on it
	})
}
