package compact_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/compact"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a job that waits to be let go.
type recorder struct {
	mu   sync.Mutex
	ran  []store.ConversationID
	gate chan struct{}
}

func (r *recorder) job(ctx context.Context, id store.ConversationID) (compact.Report, error) {
	r.mu.Lock()
	r.ran = append(r.ran, id)
	r.mu.Unlock()
	select {
	case <-r.gate:
		return compact.Report{Conversation: id}, nil
	case <-ctx.Done():
		return compact.Report{Conversation: id}, ctx.Err()
	}
}

func TestMaintainerCoalesces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{gate: make(chan struct{})}
		reports := 0
		m := compact.NewMaintainer(t.Context(), r.job, func(compact.Report, error) { reports++ })
		m.Notify(1)
		synctest.Wait()
		for range 100 {
			m.Notify(1) // grew while it is worked on: once more
			m.Notify(2)
		}
		close(r.gate)
		if err := m.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]store.ConversationID{1, 1, 2}, r.ran); diff != "" || reports != 3 {
			t.Errorf("%d reports, %s", reports, diff)
		}
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
		m.Notify(3)
		if err := m.Wait(t.Context()); err != nil || len(r.ran) != 3 {
			t.Errorf("after Close: %v, %v", r.ran, err)
		}
	})
}

func TestMaintainerCloseWaitsForTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{gate: make(chan struct{})}
		var last error
		m := compact.NewMaintainer(t.Context(), r.job, func(_ compact.Report, err error) { last = err })
		m.Notify(1)
		m.Notify(2)
		synctest.Wait()
		go func() { time.Sleep(time.Second); close(r.gate) }()
		if err := m.Close(t.Context()); err != nil || last != nil {
			t.Errorf("got %v, the run %v", err, last)
		}
		if len(r.ran) != 1 {
			t.Errorf("ran %v", r.ran)
		}
	})
}

func TestMaintainerCloseCancelsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{gate: make(chan struct{})}
		var last error
		m := compact.NewMaintainer(t.Context(), r.job, func(_ compact.Report, err error) { last = err })
		m.Notify(1)
		synctest.Wait()
		waiting := make(chan error)
		go func() { waiting <- m.Wait(t.Context()) }()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := m.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(last, context.Canceled) {
			t.Errorf("got %v, the run %v", err, last)
		}
		if err := <-waiting; err != nil {
			t.Errorf("Wait: %v", err)
		}
	})
}

func TestMaintainerFinishesARunThatStoppedAtABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := 3
		m := compact.NewMaintainer(t.Context(), func(context.Context, store.ConversationID) (compact.Report, error) {
			if left--; left == 0 {
				return compact.Report{Reason: compact.Done}, nil
			}
			return compact.Report{Reason: compact.Passes, Leaves: 1}, nil
		}, nil)
		m.Notify(1)
		if err := m.Wait(t.Context()); err != nil || left != 0 {
			t.Errorf("%d runs are left, %v", left, err)
		}
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A run that failed is not tried again before the conversation grows.
func TestMaintainerLeavesARunThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		m := compact.NewMaintainer(t.Context(), func(context.Context, store.ConversationID) (compact.Report, error) {
			if runs++; runs > 3 {
				return compact.Report{}, nil
			}
			return compact.Report{Reason: compact.Passes, Leaves: 1}, errors.New("the disk is full")
		}, nil)
		m.Notify(1)
		if err := m.Wait(t.Context()); err != nil || runs != 1 {
			t.Errorf("%d runs, %v", runs, err)
		}
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
