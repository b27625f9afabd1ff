//go:build unix

package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/postgres/pgtest"
	"github.com/lossless-context/lcm/internal/record/store"
)

// The answer to a commit gets lost. The messages are looked up: they are stored once, and
// the caller gets no error.
func TestUnansweredCommitIsLookedUp(t *testing.T) {
	address := pgtest.URL(t)
	proxy, through := pgtest.NewProxy(t, address)
	db := open(t, through, postgres.Options{})
	id := conversation(t, db, "cut")
	for i := range 10 {
		if i%2 == 0 {
			proxy.Swallow()
		} else {
			proxy.Terminate()
		}
		say(t, db, id, fmt.Sprint("message ", i), fmt.Sprint("another ", i))
	}
	stored := texts(t, db, id)
	if len(stored) != 20 {
		t.Errorf("%d messages are stored, want 20: %q", len(stored), stored)
	}
	if v, err := db.Verify(t.Context(), id); err != nil || len(v.Faults) > 0 {
		t.Errorf("%v, %v", v.Faults, err)
	}
}

// The context of an append ends after the commit and before its answer. The messages are
// looked up all the same: the caller gets no error, and does not store them again.
func TestCommitOfAnEndedContextIsLookedUp(t *testing.T) {
	proxy, through := pgtest.NewProxy(t, pgtest.URL(t))
	db := open(t, through, postgres.Options{})
	id := conversation(t, db, "ended")
	ctx, cancel := context.WithCancel(t.Context())
	proxy.Hold(cancel)
	if err := appendOne(ctx, db, id, "the message"); err != nil {
		t.Errorf("the message is stored, and the error is %v", err)
	}
	if stored := texts(t, db, id); ctx.Err() == nil || len(stored) != 1 {
		t.Errorf("%q is stored, context: %v", stored, ctx.Err())
	}
}

// A transaction without messages whose commit was not answered is reported: whether it is
// stored is not known for sure.
func TestUnansweredStubIsReported(t *testing.T) {
	proxy, through := pgtest.NewProxy(t, pgtest.URL(t))
	db := open(t, through, postgres.Options{})
	id := conversation(t, db, "cut")
	say(t, db, id, "a long message")
	for _, lose := range []func(){proxy.Swallow, proxy.Terminate} {
		lose()
		err := db.Update(t.Context(), id, func(w store.Writer) error { return w.Stub(t.Context(), 1, 0) })
		if err == nil || !strings.Contains(err.Error(), "being committed") {
			t.Errorf("the error is %v", err)
		}
	}
}

func texts(t *testing.T, db store.Store, id store.ConversationID) (all []string) {
	t.Helper()
	for m, err := range db.Messages(t.Context(), store.MessageQuery{Conversation: id}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m.Body.Parts[0].Text)
	}
	return all
}

// Connections are cut at any moment, and the server is stopped at once and started
// again, while sessions append. Every acknowledged message is stored once; one that was
// not acknowledged at most once. A fault waits until a message was appended after the
// one before, so that a slow machine comes to an end too.
func TestAppendsSurviveCutsAndCrashes(t *testing.T) {
	server := pgtest.Crashable(t)
	address := server.Schema(t)
	proxy, through := pgtest.NewProxy(t, address)
	db := open(t, through, postgres.Options{})
	const sessions, each = 6, 40
	stop := make(chan struct{})
	appended := make(chan struct{}, 1) // since the last fault
	var faults sync.WaitGroup
	faults.Go(func() {
		r := rand.New(rand.NewPCG(1, 2))
		for n := 1; ; n++ {
			select {
			case <-stop:
				return
			case <-appended:
				time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond)
			}
			switch {
			case n%12 == 0:
				if err := server.Crash(t.Context()); err != nil {
					t.Error(err)
				}
			case n%3 == 0:
				proxy.Swallow()
			default:
				proxy.Cut()
			}
		}
	})
	acknowledged := make([][]string, sessions)
	ids := make([]store.ConversationID, sessions)
	var writing sync.WaitGroup
	for n := range sessions {
		var err error
		for range 20 {
			var c store.Conversation
			if c, err = db.Open(t.Context(), store.NewConversation{Key: fmt.Sprint("session ", n)}); err == nil {
				ids[n] = c.ID
				break
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		writing.Go(func() {
			for i := range each {
				text := fmt.Sprintf("session %d message %d", n, i)
				err := db.Update(t.Context(), ids[n], func(w store.Writer) error {
					_, err := w.Append(t.Context(), message(text))
					return err
				})
				if err == nil {
					acknowledged[n] = append(acknowledged[n], text)
				}
				select {
				case appended <- struct{}{}:
				default:
				}
			}
		})
	}
	writing.Wait()
	close(stop)
	faults.Wait()
	direct := open(t, address, postgres.Options{})
	total := 0
	for n, id := range ids {
		seen := map[string]int{}
		for _, text := range texts(t, direct, id) {
			if seen[text]++; seen[text] > 1 {
				t.Errorf("%q is stored %d times", text, seen[text])
			}
		}
		for _, text := range acknowledged[n] {
			if seen[text] == 0 {
				t.Errorf("%q was acknowledged and is lost", text)
			}
		}
		total += len(acknowledged[n])
		if v, err := direct.Verify(t.Context(), id); err != nil || len(v.Faults) > 0 {
			t.Errorf("%v, %v", v.Faults, err)
		}
	}
	if total < sessions*each*9/10 {
		t.Errorf("only %d of %d appends were acknowledged", total, sessions*each)
	}
}
