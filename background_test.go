package lcm_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/view/compact"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

// slow is a summariser that waits until it is released or its context ends.
type slow struct {
	summary.Summariser
	release chan struct{}
}

func newSlow() *slow {
	return &slow{Summariser: summary.NewExtractive(), release: make(chan struct{})}
}

func (s *slow) Summarise(ctx context.Context, r summary.Request) (summary.Result, error) {
	select {
	case <-s.release:
		return s.Summariser.Summarise(ctx, r)
	case <-ctx.Done():
		return summary.Result{}, ctx.Err()
	}
}

// crowded returns a session whose view is several times the budget.
func crowded(t *testing.T, engine *lcm.Engine) *lcm.Session {
	t.Helper()
	session := engine.Session("crowded")
	var ms []llms.Message
	for i := range 600 {
		ms = append(ms, llms.User(prose(i)), llms.Assistant(prose(i+1)))
	}
	if err := session.Append(t.Context(), ms...); err != nil {
		t.Fatal(err)
	}
	return session
}

const crowdedBudget = 16_000

// Context returns the newest messages while folding goes on, and the next ones
// show its result.
func TestContextDoesNotWaitForALongFold(t *testing.T) {
	for name, options := range map[string][]lcm.Option{"background": nil, "without background": {lcm.WithoutBackground()}} {
		t.Run(name, func(t *testing.T) {
			sum := newSlow()
			engine := newEngine(t, append(options, lcm.WithSummariser(sum), lcm.WithBudget(crowdedBudget))...)
			session := crowded(t, engine)
			shortest := time.Hour
			for n := range 5 { // the later calls share the run of the first
				asked := time.Now()
				view, err := session.Context(t.Context(), 0)
				if err != nil {
					t.Fatal(err)
				}
				if view.Compaction == nil || view.Compaction.Reason != compact.Behind || view.Unfolded < crowdedBudget || view.Tokens > crowdedBudget {
					t.Fatalf("%v, %d tokens, %d unfolded", view.Compaction, view.Tokens, view.Unfolded)
				}
				if n > 0 {
					shortest = min(shortest, time.Since(asked))
				}
				if last := view.Messages[len(view.Messages)-1].PlainText(); last != prose(600) {
					t.Errorf("the newest message is %q", last)
				}
			}
			if shortest > 900*time.Millisecond { // a call that waits takes a second; one may be slow on a busy machine
				t.Errorf("the later calls waited too, each at least %s", shortest)
			}
			close(sum.release)
			if err := engine.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			view, err := session.Context(t.Context(), 0)
			if err != nil || view.Unfolded != 0 || len(view.Dropped)+view.Skipped != 0 || view.Tokens > crowdedBudget {
				t.Errorf("after folding: %d tokens, %d unfolded, %v", view.Tokens, view.Unfolded, err)
			}
			sound(t, session)
		})
	}
}

// Close waits for folding as long as its context allows, then ends it.
func TestCloseEndsALongFold(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	engine := newEngine(t, lcm.WithSummariser(newSlow()), lcm.WithBudget(crowdedBudget), lcm.WithoutBackground())
	session := crowded(t, engine)
	if view, err := session.Context(t.Context(), 0); err != nil || view.Compaction.Reason != compact.Behind {
		t.Fatalf("%v, %v", view.Compaction, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := engine.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("closed with %v", err)
	}
	goleak.VerifyNone(t, ignore)
	sound(t, session)
}

// A caller that gives up while it waits is told so, and does not end the fold.
func TestContextThatIsCancelledWhileItWaits(t *testing.T) {
	sum := newSlow()
	engine := newEngine(t, lcm.WithSummariser(sum), lcm.WithBudget(crowdedBudget), lcm.WithoutBackground())
	session := crowded(t, engine)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := session.Context(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	close(sum.release)
	if err := engine.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if view, err := session.Context(t.Context(), 0); err != nil || view.Compaction != nil {
		t.Errorf("then: %v, %v", view.Compaction, err)
	}
}
