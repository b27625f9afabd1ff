package compact_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lossless-context/lcm/internal/view/compact"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

func TestPausesSurviveARestart(t *testing.T) {
	s := conversation(60)
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	s.clock = func() time.Time { return now }
	sum := &summariser{write: func(context.Context, summary.Request) (string, error) { return "", refused{} }}
	// Each run has a runner of its own, as after a restart.
	try := func(mode compact.Mode) compact.Report {
		return run(t, newRunner(t, compact.Config{Store: s, State: s, Summariser: sum, Clock: s.clock}), mode)
	}
	for _, pause := range []time.Duration{5, 10, 20, 30, 30} {
		if rep := try(compact.Soft); rep.Reason != compact.Auth {
			t.Fatalf("%v", rep)
		}
		now = now.Add(pause*time.Minute - time.Second)
		if rep := try(compact.Soft); rep.Reason != compact.Pause {
			t.Fatalf("a second before the pause of %d minutes ends: %v", pause, rep)
		}
		now = now.Add(time.Second)
	}
	try(compact.Soft)
	if rep := try(compact.Full); rep.Reason != compact.Auth {
		t.Fatalf("a manual run: %v", rep)
	}
	if rep := try(compact.Soft); rep.Reason != compact.Auth {
		t.Fatalf("a manual run clears the pause: %v", rep)
	}
	e, err := compact.NewLedger(s, s.clock).Entry(t.Context(), 1)
	if err != nil || e.Attempts != 1 || e.Reason != compact.Auth || e.Detail == "" {
		t.Errorf("entry %+v, %v", e, err)
	}
}

func TestSpendSurvivesARestart(t *testing.T) {
	s := conversation(2000)
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	s.clock = func() time.Time { return now }
	sum := hostile()["good"]
	try := func(mode compact.Mode) compact.Report {
		cfg := compact.Config{Store: s, State: s, Summariser: sum, Clock: s.clock, Bounds: compact.Bounds{MaxCalls: 5, MaxPasses: 3}}
		return run(t, newRunner(t, cfg), mode)
	}
	if rep := try(compact.Soft); rep.Calls != 3 || rep.Reason != compact.Passes {
		t.Fatalf("%v", rep)
	}
	if rep := try(compact.Soft); rep.Calls != 2 || rep.Reason != compact.Spend {
		t.Fatalf("%v", rep)
	}
	if rep := try(compact.Soft); rep.Calls != 0 || rep.Reason != compact.Pause {
		t.Fatalf("%v", rep)
	}
	now = now.Add(30 * time.Minute)
	if rep := try(compact.Soft); rep.Calls != 3 {
		t.Fatalf("in the next window: %v", rep)
	}
	if rep := try(compact.Hard); rep.Calls != 2 || rep.TokensAfter >= limits.Budget*95/100 {
		t.Fatalf("a hard run goes on without the model: %v", rep)
	}
}

func TestOneRunAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := conversation(60)
		release := make(chan struct{})
		slow := &summariser{write: func(context.Context, summary.Request) (string, error) {
			<-release
			return "short\n" + summary.Footer + "x", nil
		}}
		runner := func(owner string) *compact.Runner {
			return newRunner(t, compact.Config{Store: s, State: s, Summariser: slow, Owner: owner})
		}
		first := make(chan compact.Report)
		go func() { first <- run(t, runner("a"), compact.Soft) }()
		synctest.Wait()
		if rep := run(t, runner("b"), compact.Soft); rep.Reason != compact.Busy {
			t.Errorf("a second run: %v", rep)
		}
		waited := make(chan compact.Report)
		go func() { waited <- run(t, runner("c"), compact.Hard) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := runner("d").Run(ctx, 1, limits, compact.Hard); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a run that may not wait any longer: %v", err)
		}
		close(release)
		if rep := <-first; rep.Folds() == 0 {
			t.Errorf("the first run: %v", rep)
		}
		if rep := <-waited; rep.Reason != compact.Done {
			t.Errorf("the run that waited: %v", rep)
		}
	})
}

func TestLeaseIsRenewedDuringALongRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := conversation(400)
		slow := &summariser{write: func(context.Context, summary.Request) (string, error) {
			time.Sleep(50 * time.Second)
			return "short\n" + summary.Footer + "x", nil
		}}
		done := make(chan compact.Report)
		go func() {
			done <- run(t, newRunner(t, compact.Config{Store: s, State: s, Summariser: slow}), compact.Soft)
		}()
		time.Sleep(2 * time.Minute) // the lease lasts 90 seconds
		if rep := run(t, newRunner(t, compact.Config{Store: s, State: s}), compact.Soft); rep.Reason != compact.Busy {
			t.Errorf("a second run: %v", rep)
		}
		if rep := <-done; rep.Reason != compact.Deadline || rep.Folds() != 3 {
			t.Errorf("the slow run: %v", rep)
		}
	})
}

func TestLeaseOfADeadProcessExpires(t *testing.T) {
	s := conversation(60)
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	s.clock = func() time.Time { return now }
	if _, err := s.Put(t.Context(), "lease", "compact/1", []byte("dead"), 0, now.Add(90*time.Second)); err != nil {
		t.Fatal(err)
	}
	r := newRunner(t, compact.Config{Store: s, State: s, Clock: s.clock})
	if rep := run(t, r, compact.Soft); rep.Reason != compact.Busy {
		t.Errorf("%v", rep)
	}
	now = now.Add(91 * time.Second)
	if rep := run(t, r, compact.Soft); rep.Reason != compact.Done {
		t.Errorf("%v", rep)
	}
}

func ExampleReport_String() {
	fmt.Println(compact.Report{Conversation: 1, Reason: compact.Done, TokensBefore: 99_000, TokensAfter: 81_000, Passes: 1, Leaves: 1})
	// Output: conversation 1: 99000 → 81000 tokens in 1 passes (1 leaf, 0 condensed, 0 stubs): done
}

// A process that was killed does not give its lease back, and one that took it
// while the clock was ahead has it for as long as the clock jumped back.
func TestLeasesThatNobodyGivesBack(t *testing.T) {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		expires time.Time
		ended   func(string) bool
		taken   bool
	}{
		"its owner runs":          {now.Add(time.Minute), func(string) bool { return false }, false},
		"its owner was killed":    {now.Add(time.Minute), func(owner string) bool { return owner == "other" }, true},
		"nobody knows":            {now.Add(time.Minute), nil, false},
		"the clock was far ahead": {now.AddDate(3, 0, 0), nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := conversation(60)
			s.clock = func() time.Time { return now }
			if _, err := s.Put(t.Context(), "lease", "compact/1", []byte("other"), 0, c.expires); err != nil {
				t.Fatal(err)
			}
			rep := run(t, newRunner(t, compact.Config{Store: s, State: s, Clock: s.clock, Owner: "me", Ended: c.ended}), compact.Soft)
			if taken := rep.Reason != compact.Busy; taken != c.taken {
				t.Errorf("%v", rep)
			}
		})
	}
}

func TestAPauseDoesNotOutlastAClockThatJumpsBack(t *testing.T) {
	s := conversation(60)
	now := time.Date(2030, 5, 1, 0, 0, 0, 0, time.UTC)
	s.clock = func() time.Time { return now }
	sum := &summariser{write: func(context.Context, summary.Request) (string, error) { return "", refused{} }}
	try := func() compact.Report {
		return run(t, newRunner(t, compact.Config{Store: s, State: s, Summariser: sum, Clock: s.clock}), compact.Soft)
	}
	try()
	if rep := try(); rep.Reason != compact.Pause {
		t.Fatalf("%v", rep)
	}
	now = now.AddDate(-4, 0, 0)
	if rep := try(); rep.Reason != compact.Auth {
		t.Errorf("four years earlier: %v", rep)
	}
}

// noDelete is a state on a disk that is full while it is.
type noDelete struct {
	*memory
	full bool
}

func (s *noDelete) Delete(ctx context.Context, space, key string, version int64) error {
	if s.full {
		return errors.New("the disk is full")
	}
	return s.memory.Delete(ctx, space, key, version)
}

// A lease that could not be given back must not keep its own process waiting.
func TestALeaseThatCouldNotBeGivenBack(t *testing.T) {
	s := conversation(60)
	state := &noDelete{memory: s, full: true}
	r := newRunner(t, compact.Config{Store: s, State: state, Owner: "me"})
	if _, err := r.Run(t.Context(), 1, limits, compact.Soft); err == nil {
		t.Fatal("a lease that was not given back went unnoticed")
	}
	state.full = false
	for range 60 {
		s.append(llms.User(strings.Repeat("word ", 2_000)))
	}
	if rep := run(t, r, compact.Soft); rep.Reason == compact.Busy {
		t.Errorf("the process waits for itself: %v", rep)
	}
}
