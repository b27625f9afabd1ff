package compact_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/compact"
)

// slowRenewal is a state whose first renewal of a lease waits for a transaction
// that takes longer than the lease lasts.
type slowRenewal struct {
	store.State
	wait time.Duration
	once sync.Once
}

func (s *slowRenewal) Put(ctx context.Context, space, key string, data []byte, version int64, expires time.Time) (int64, error) {
	if version != 0 {
		s.once.Do(func() { time.Sleep(s.wait) })
	}
	return s.State.Put(ctx, space, key, data, version, expires)
}

// Hold keeps other processes from compacting for as long as it is held, also if
// that is longer than a lease lasts.
func TestHoldLastsUntilReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := conversation(60)
		bounds := compact.Bounds{LeaseTTL: time.Minute}
		state := &slowRenewal{State: s, wait: 2 * bounds.LeaseTTL}
		release, err := newRunner(t, compact.Config{Store: s, State: state, Owner: "erasing", Bounds: bounds}).Hold(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		other := newRunner(t, compact.Config{Store: s, State: s, Owner: "folding", Bounds: bounds})
		time.Sleep(10 * bounds.LeaseTTL)
		if rep := run(t, other, compact.Soft); rep.Reason != compact.Busy {
			t.Errorf("a run under a hold ended with %q after %d folds", rep.Reason, rep.Folds())
		}
		release()
		if rep := run(t, other, compact.Soft); rep.Folds() == 0 {
			t.Errorf("a run after the release ended with %q and folded nothing", rep.Reason)
		}
	})
}

// A run that a user orders waits for one that is under way, whichever mode it has.
func TestAnOrderedRunWaitsForAnother(t *testing.T) {
	for _, mode := range []compact.Mode{compact.Hard, compact.Full} {
		synctest.Test(t, func(t *testing.T) {
			s := conversation(60)
			release, err := newRunner(t, compact.Config{Store: s, State: s, Owner: "other"}).Hold(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(20*time.Second, release)
			if rep := run(t, newRunner(t, compact.Config{Store: s, State: s, Owner: "user"}), mode); rep.Folds() == 0 {
				t.Errorf("%s: %v", mode, rep)
			}
		})
	}
}

// One process at a time works in the background. Without a state nobody knows of others.
func TestOneProcessWorksInTheBackground(t *testing.T) {
	for _, shared := range []bool{true, false} {
		s := conversation(1)
		runner := func(owner string) *compact.Runner {
			if !shared {
				return newRunner(t, compact.Config{Store: s})
			}
			return newRunner(t, compact.Config{Store: s, State: s, Owner: owner})
		}
		occupied := func(want bool) {
			t.Helper()
			if got, err := runner("c").Occupied(t.Context()); got != want || err != nil {
				t.Errorf("shared is %v: occupied is %v, %v", shared, got, err)
			}
		}
		broken := errors.New("the work failed")
		did, err := runner("a").Alone(t.Context(), func(ctx context.Context) error {
			occupied(shared)
			if second, err := runner("b").Alone(ctx, func(context.Context) error { return nil }); second == shared || err != nil {
				t.Errorf("shared is %v: a second process works: %v, %v", shared, second, err)
			}
			return broken
		})
		if !did || !errors.Is(err, broken) {
			t.Errorf("shared is %v: %v, %v", shared, did, err)
		}
		occupied(false)
	}
}

// Agents of one session take turns, those of others do not wait for them.
func TestTurnsOfASession(t *testing.T) {
	s := conversation(1)
	first, second := newRunner(t, compact.Config{Store: s, State: s, Owner: "a"}), newRunner(t, compact.Config{Store: s, State: s, Owner: "b"})
	synctest.Test(t, func(t *testing.T) {
		release, err := first.HoldTurn(t.Context(), "one")
		if err != nil {
			t.Fatal(err)
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if other, err := second.HoldTurn(soon, "two"); err != nil {
			t.Errorf("another session waits: %v", err)
		} else {
			other()
		}
		if _, err := second.HoldTurn(soon, "one"); err == nil {
			t.Error("two agents have the turn")
		}
		release()
	})
	alone := newRunner(t, compact.Config{Store: s})
	for range 2 { // there is nobody to wait for
		if release, err := alone.HoldTurn(t.Context(), "one"); err != nil || release == nil {
			t.Errorf("without a state: %v", err)
		}
	}
}
