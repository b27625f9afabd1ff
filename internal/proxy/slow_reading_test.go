package proxy_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/hosts"
	"github.com/lossless-context/lcm/internal/proxy"
	"github.com/lossless-context/lcm/internal/record/store"
)

// heldFeed is a feed that reads no transcript while it is held, as if a message were very long.
type heldFeed struct {
	proxy.Feed
	held    atomic.Pointer[chan struct{}] // closed when it goes on
	waiting chan struct{}                 // has a value for each reading that waits
}

func (f *heldFeed) CatchUp(ctx context.Context, t hosts.Transcript, l hosts.Limits) (hosts.Report, error) {
	if held := f.held.Load(); held != nil {
		f.waiting <- struct{}{}
		select {
		case <-*held:
		case <-ctx.Done():
			return hosts.Report{}, ctx.Err()
		}
	}
	return f.Feed.CatchUp(ctx, t, l)
}

// hold has later readings wait for the result to be called.
func (f *heldFeed) hold() (release func()) {
	held := make(chan struct{})
	f.held.Store(&held)
	return func() { close(held) }
}

// stored counts the messages of the session in the record.
func (b *bed) stored() int64 {
	b.t.Helper()
	found, err := b.db.Conversations(b.t.Context(), store.ConversationQuery{Key: "claude:" + sessionID, Limit: 1})
	if err != nil {
		b.t.Fatal(err)
	}
	if len(found) == 0 {
		return 0
	}
	return found[0].Messages
}

// TestSlowReading: while a message is being read that takes long, what was read before it is folded.
func TestSlowReading(t *testing.T) {
	feed := &heldFeed{waiting: make(chan struct{}, 100)}
	b := newBed(t, func(c *proxy.Config) { feed.Feed, c.Feed = c.Feed, feed })
	b.play(25)                                                                               // too little for a fold
	for ends := time.Now().Add(time.Minute); b.stored() < 51; time.Sleep(time.Millisecond) { // a busy machine reads late
		if time.Now().After(ends) {
			t.Fatalf("%d messages were read", b.stored())
		}
	}
	defer feed.hold()()
	b.send(b.body())
	<-feed.waiting
	for i := 25; i < 40; i++ {
		b.step(i)
	}
	b.flush()
	b.server.SetPatience(20 * time.Second)
	b.next()
	if run := b.server.Result(); run.Folds == 0 || run.OverBudget() > 0 {
		t.Errorf("%+v", run)
	}
}

// TestAboveWindow: a request that the model API would refuse waits longer for its fold than
// one that is only above the budget.
func TestAboveWindow(t *testing.T) {
	feed := &heldFeed{waiting: make(chan struct{}, 100)}
	b := newBed(t, func(c *proxy.Config) {
		feed.Feed, c.Feed, c.Windows = c.Feed, feed, map[string]int{"": 64_000}
	})
	release := feed.hold()
	b.server.SetPatience(time.Millisecond)
	b.prompt("Read the logs.")
	for i := range 100 {
		b.step(i)
	}
	b.flush()
	time.AfterFunc(500*time.Millisecond, release)
	b.next()
}
