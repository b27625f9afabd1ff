package lcm_test

import (
	"sync"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// A session whose title quotes an erased message loses the title while other
// goroutines open, fork and read the session. The race detector checks it.
func TestSessionIsSafeForConcurrentUse(t *testing.T) {
	ctx := t.Context()
	engine := newEngine(t)
	erased := llms.User("the password of the gateway is walrus, and it must not be kept anywhere")
	erased.ID, erased.Time = "m1", time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	if err := engine.Session("host:1").Append(ctx, erased); err != nil {
		t.Fatal(err)
	}
	order, err := engine.Order(ctx, lcm.EraseQuery{Conversations: []store.ConversationID{1}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Erase(ctx, order, nil); err != nil {
		t.Fatal(err)
	}
	for range 20 { // each with a title to lose
		session := engine.Session("host:1", lcm.WithTitle("The password of the gateway is…"))
		var all sync.WaitGroup
		for _, call := range []func() error{
			func() error { return session.DropForgottenTitle(ctx, ingest.Messages(erased)...) },
			func() error { return session.Append(ctx, erased) },
			func() error { _, err := session.Conversation(ctx); return err },
			func() error { _, err := session.Preview(ctx, 0); return err },
			func() error { _, _ = session.Fork(ctx, "fork", 1); return nil }, // message 1 is erased
		} {
			all.Go(func() {
				if err := call(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if err := session.Archive(ctx, "next"); err != nil {
			t.Fatal(err)
		}
		// The title is lost for good.
		if c, err := session.Conversation(ctx); err != nil || c.Title != "" {
			t.Errorf("the title is %q, %v", c.Title, err)
		}
		if err := session.Archive(ctx, "next"); err != nil {
			t.Fatal(err)
		}
	}
}
