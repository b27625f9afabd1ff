package enginetest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/proof/sample"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/compact"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
	"go.uber.org/goleak"
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

// foldEngine opens a database as a process that folds for others does.
func foldEngine(t *testing.T, path string, options ...lcm.Option) *lcm.Engine {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Relaxed: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	e, err := lcm.New(db, append([]lcm.Option{lcm.WithoutBackground(), lcm.WithBudget(8000)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func conversation(t *testing.T, e *lcm.Engine, key string) store.Conversation {
	t.Helper()
	c, err := e.Session(key).Conversation(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestFoldDue: every conversation above the soft threshold is folded until it
// is below it, a small one is left alone, and afterwards nothing is due.
func TestFoldDue(t *testing.T) {
	e := foldEngine(t, filepath.Join(t.TempDir(), "lcm.db"))
	for _, key := range []string{"a", "b"} {
		if err := e.Session(key).Append(t.Context(), sample.Messages()...); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Session("small").Append(t.Context(), llms.User("hello")); err != nil {
		t.Fatal(err)
	}
	only := []store.ConversationID{conversation(t, e, "b").ID}
	f, err := e.FoldDue(t.Context(), lcm.FoldOptions{Conversations: only})
	if err != nil || f.Conversations != 1 || conversation(t, e, "a").Summaries != 0 {
		t.Fatalf("one of two: %+v, %v", f, err)
	}
	if f, err = e.FoldDue(t.Context(), lcm.FoldOptions{}); err != nil || f.Conversations != 1 || f.Left != 0 {
		t.Fatalf("the other: %+v, %v", f, err)
	}
	a, b, small := conversation(t, e, "a"), conversation(t, e, "b"), conversation(t, e, "small")
	if a.ViewTokens >= 6000 || b.ViewTokens >= 6000 || a.Summaries != int64(f.Folds) || small.Summaries != 0 {
		t.Errorf("views of %d and %d tokens, %d summaries of %d, %d of a small one", a.ViewTokens, b.ViewTokens, a.Summaries, f.Folds, small.Summaries)
	}
	if due, err := e.Due(t.Context(), nil); err != nil || len(due) != 0 {
		t.Errorf("still due: %v, %v", due, err)
	}
}

// TestFoldDueAlone: while one process folds, another does nothing, and a lease
// of a process that was killed keeps nobody from it.
func TestFoldDueAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lcm.db")
	one, two := foldEngine(t, path), foldEngine(t, path)
	for i := range 2 {
		if err := one.Session(fmt.Sprint(i)).Append(t.Context(), sample.Messages()...); err != nil {
			t.Fatal(err)
		}
	}
	tried := 0
	f, err := one.FoldDue(t.Context(), lcm.FoldOptions{OnStart: func(store.Conversation, int) {
		tried++
		if other, err := two.FoldDue(t.Context(), lcm.FoldOptions{}); err != nil || !other.Busy || other.Folds > 0 {
			t.Errorf("beside it: %+v, %v", other, err)
		}
		if busy, err := two.Folding(t.Context()); err != nil || !busy {
			t.Errorf("the other does not see it: %t, %v", busy, err)
		}
	}})
	if err != nil || f.Busy || f.Conversations != 2 || tried != 2 {
		t.Errorf("%+v, %v", f, err)
	}
	if busy, err := two.Folding(t.Context()); err != nil || busy {
		t.Errorf("after it: %t, %v", busy, err)
	}
	if f, err := two.FoldDue(t.Context(), lcm.FoldOptions{}); err != nil || f.Busy {
		t.Errorf("after it: %+v, %v", f, err)
	}
}

// TestFoldDueTime: it ends when its time does, says what is left, and the next
// call goes on.
func TestFoldDueTime(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	e := foldEngine(t, filepath.Join(t.TempDir(), "lcm.db"), lcm.WithClock(func() time.Time { return now }),
		lcm.WithBounds(lcm.Bounds{MaxPasses: 4}))
	if err := e.Session("a").Append(t.Context(), sample.Messages()...); err != nil {
		t.Fatal(err)
	}
	told := 0
	o := lcm.FoldOptions{Time: time.Minute, OnFold: func(compact.Report) { told++; now = now.Add(time.Minute) }}
	f, err := e.FoldDue(t.Context(), o)
	if err != nil || f.Left != 1 || f.Folds == 0 || f.Folds > 4 || told != f.Folds {
		t.Fatalf("%+v, %v, told of %d", f, err, told)
	}
	o.OnFold = nil
	if f, err = e.FoldDue(t.Context(), o); err != nil || f.Left != 0 || f.Folds == 0 {
		t.Errorf("then: %+v, %v", f, err)
	}
}

// TestContextShowsTheFinestSummaries: a view that was folded for a small budget shows the
// summaries beneath its own in a large one, within their share, and folds nothing for it.
func TestContextShowsTheFinestSummaries(t *testing.T) {
	e := foldEngine(t, filepath.Join(t.TempDir(), "lcm.db"))
	s := e.Session("s")
	for range 4 {
		if err := s.Append(t.Context(), sample.Messages()...); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Compact(t.Context(), lcm.CompactOptions{Budget: 4_000}); err != nil {
		t.Fatal(err)
	}
	shown := func(budget int) (n, tokens int) {
		view, err := s.Context(t.Context(), budget)
		if err != nil {
			t.Fatal(err)
		}
		if view.Compaction != nil && view.Compaction.Folds() > 0 {
			t.Fatalf("folded for a budget of %d", budget)
		}
		for _, it := range view.Items {
			if it.IsSummary() {
				n, tokens = n+1, tokens+it.Tokens
			}
		}
		return n, tokens
	}
	few, _ := shown(4_000)
	many, tokens := shown(100_000)
	if many <= few || tokens > e.SummaryShare(100_000) {
		t.Errorf("%d summaries in a budget of 4,000, %d of %d tokens in one of 100,000, whose share is %d", few, many, tokens, e.SummaryShare(100_000))
	}
}
