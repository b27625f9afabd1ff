package compact_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/assemble"
	"github.com/lossless-context/lcm/internal/view/compact"
	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

// limits of the conversations below, which have about 20,000 tokens.
var limits = compact.Limits{Budget: 16_000}

// conversation returns a store with n turns of about 200 tokens each.
func conversation(n int) *memory {
	s := newMemory()
	for i := range n {
		s.append(llms.User(fmt.Sprintf("Question %d. %s", i, text(400))), llms.Assistant(fmt.Sprintf("Answer %d. %s", i, text(400))))
	}
	return s
}

func newRunner(t *testing.T, c compact.Config) *compact.Runner {
	t.Helper()
	r, err := compact.NewRunner(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func run(t *testing.T, r *compact.Runner, mode compact.Mode) compact.Report {
	t.Helper()
	rep, err := r.Run(t.Context(), 1, limits, mode)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func TestEscalation(t *testing.T) {
	const footer = "\n" + summary.Footer + "x"
	long := func(r summary.Request) string { return strings.Repeat("word ", 3*r.Target) }
	tests := []struct {
		name  string
		write func(level summary.Level, r summary.Request) (string, error)
		level summary.Level
		calls int
	}{
		{"accepted", func(summary.Level, summary.Request) (string, error) { return "short" + footer, nil }, summary.Normal, 1},
		{"far too long at first", func(l summary.Level, r summary.Request) (string, error) {
			if l == summary.Normal {
				return long(r), nil
			}
			return "short" + footer, nil
		}, summary.Aggressive, 2},
		{"always too long", func(_ summary.Level, r summary.Request) (string, error) { return long(r), nil }, summary.Fallback, 2},
		{"empty", func(summary.Level, summary.Request) (string, error) { return "", nil }, summary.Fallback, 1},
		{"error", func(summary.Level, summary.Request) (string, error) { return "", errors.New("503") }, summary.Fallback, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := conversation(60)
			sum := &summariser{write: func(_ context.Context, r summary.Request) (string, error) { return tt.write(r.Level, r) }}
			r := newRunner(t, compact.Config{Store: s, Summariser: sum, Bounds: compact.Bounds{MaxPasses: 1}})
			rep := run(t, r, compact.Soft)
			if rep.Folds() != 1 || rep.Calls != tt.calls || int(sum.calls.Load()) != tt.calls {
				t.Errorf("%v after %d calls", rep, rep.Calls)
			}
			for _, made := range s.summaries {
				if made.Level != tt.level || !summary.HasFooter(made.Body) {
					t.Errorf("level %s: %s", made.Level, made.Body)
				}
			}
		})
	}
}

// Two calls that fail in a row end the use of the summariser in a run; two with a good one between them do not.
func TestWhenASummariserIsGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		fail      map[int64]bool // by the number of the call
		fallbacks func(folds int) int
	}{
		"failures in a row":        {map[int64]bool{1: true, 2: true}, func(folds int) int { return folds }},
		"a good call between them": {map[int64]bool{1: true, 3: true}, func(int) int { return 2 }},
	} {
		t.Run(name, func(t *testing.T) {
			sum := &summariser{}
			sum.write = func(context.Context, summary.Request) (string, error) {
				if c.fail[sum.calls.Load()] {
					return "", errors.New("503")
				}
				return "short\n" + summary.Footer + "x", nil
			}
			rep := run(t, newRunner(t, compact.Config{Store: conversation(100), Summariser: sum}), compact.Soft)
			if rep.Folds() < 4 || rep.Fallbacks != c.fallbacks(rep.Folds()) {
				t.Errorf("%v: %d of %d folds were without the summariser", rep, rep.Fallbacks, rep.Folds())
			}
		})
	}
}

func TestShortestSummaryOfAll(t *testing.T) {
	s := conversation(60)
	broken := &summariser{write: func(context.Context, summary.Request) (string, error) { return "", summary.ErrIncompressible }}
	rep := run(t, newRunner(t, compact.Config{Store: s, Fallback: broken}), compact.Soft)
	if rep.Reason != compact.Done || rep.Bare == 0 || rep.Bare != rep.Folds() {
		t.Fatalf("%v, %d bare", rep, rep.Bare)
	}
	for _, made := range s.summaries {
		if want := fmt.Sprintf("Expand for details about: all of it (%d messages)", made.Messages); made.Body != want {
			t.Errorf("got %q, want %q", made.Body, want)
		}
	}
}

func TestRefusedKeyWritesNothing(t *testing.T) {
	s := conversation(60)
	sum := &summariser{write: func(context.Context, summary.Request) (string, error) { return "", fmt.Errorf("model: %w", refused{}) }}
	cfg := compact.Config{Store: s, State: s, Summariser: sum}
	for _, mode := range []compact.Mode{compact.Soft, compact.Hard, compact.Full} {
		rep := run(t, newRunner(t, cfg), mode)
		if rep.Reason != compact.Auth && rep.Reason != compact.Pause {
			t.Errorf("%s: %v", mode, rep)
		}
	}
	if s.writes != 0 || len(s.summaries) != 0 {
		t.Errorf("%d writes", s.writes)
	}
}

func TestHangingSummariserIsCutOff(t *testing.T) {
	for name, heeds := range map[string]bool{"heeds its context": true, "does not": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				defer close(release)
				sum := &summariser{write: func(ctx context.Context, _ summary.Request) (string, error) {
					if !heeds {
						<-release
						return "", nil
					}
					<-ctx.Done()
					return "", ctx.Err()
				}}
				began := time.Now()
				rep := run(t, newRunner(t, compact.Config{Store: conversation(80), Summariser: sum}), compact.Hard)
				if rep.TokensAfter >= limits.Budget*95/100 || rep.Fallbacks != rep.Folds() {
					t.Errorf("%v", rep)
				}
				if took := time.Since(began); took > 121*time.Second {
					t.Errorf("the run took %s", took)
				}
			})
		})
	}
}

func TestViewThatMovesIsPlannedForAnew(t *testing.T) {
	s := conversation(60)
	moves := 0
	s.onFold = func() {
		if moves++; moves == 1 {
			// Another process folds the first ten messages.
			s.mu.Lock()
			defer s.mu.Unlock()
			over := s.items[:10]
			if _, err := (memoryWriter{s: s}).Fold(t.Context(), store.NewSummary{Over: over, Wording: store.Wording{Body: "other", Tokens: 100}}); err != nil {
				t.Error(err)
			}
		}
	}
	rep := run(t, newRunner(t, compact.Config{Store: s}), compact.Soft)
	if rep.Stale != 1 || rep.Reason != compact.Done {
		t.Errorf("%v, %d stale", rep, rep.Stale)
	}
	v, _ := s.View(t.Context(), 1, store.Window{})
	if rep.TokensAfter != v.Tokens {
		t.Errorf("the report says %d tokens, the view has %d", rep.TokensAfter, v.Tokens)
	}
}

func TestViewThatKeepsMovingIsGivenUp(t *testing.T) {
	s := conversation(60)
	n := int64(1000)
	s.onFold = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		n++
		s.items[0].Message = store.MessageID(n%100 + 1)
	}
	if rep := run(t, newRunner(t, compact.Config{Store: s}), compact.Soft); rep.Reason != compact.Moving || rep.Folds() != 0 {
		t.Errorf("%v", rep)
	}
}

func TestFullFoldsEverythingButTheTail(t *testing.T) {
	s := conversation(300)
	r := newRunner(t, compact.Config{Store: s, Policy: compact.Policy{Policy: assemble.Policy{FreshTail: 4}}, Bounds: compact.Bounds{MaxPasses: 1000}})
	rep := run(t, r, compact.Full)
	if rep.Reason != compact.Done || rep.Condensed == 0 {
		t.Fatalf("%v", rep)
	}
	raw := 0
	for _, it := range s.items {
		if !it.IsSummary() {
			raw++
		}
	}
	if raw > 12 {
		t.Errorf("%d messages are not folded", raw)
	}
	if again := run(t, r, compact.Full); again.Folds() != 0 {
		t.Errorf("a second run: %v", again)
	}
}

// A session that is folded whole gets a tree as flat as one that was folded while it
// grew.
func TestFullMakesAFlatTree(t *testing.T) {
	full := &summariser{write: func(_ context.Context, r summary.Request) (string, error) {
		return text(3*r.Target) + "\n" + summary.Footer + "the rest", nil
	}}
	made := func(growing bool) (leaves, condensed, deepest int) {
		s := newMemory()
		r := newRunner(t, compact.Config{Store: s, Summariser: full, Bounds: compact.Bounds{MaxCalls: 10_000}})
		lim := compact.Limits{Budget: 128_000, Low: 128_000 * 3 / 10}
		for i := range 740 {
			s.append(llms.User(fmt.Sprint(i, text(4000))), llms.Assistant(fmt.Sprint(i, text(4000))))
			if growing {
				runTo(t, r, lim, compact.Soft)
			}
		}
		runTo(t, r, lim, compact.Full)
		for _, sum := range s.summaries {
			if deepest = max(deepest, sum.Depth); sum.Depth > 0 {
				condensed++
			} else {
				leaves++
			}
		}
		return leaves, condensed, deepest
	}
	leaves, condensed, deepest := made(true)
	l, c, d := made(false)
	t.Logf("growing: %d + %d, depth %d; at once: %d + %d, depth %d", leaves, condensed, deepest, l, c, d)
	if l < 60 || c > condensed+1 || d > deepest {
		t.Errorf("%d leaf summaries got %d above them and depth %d; a growing session has %d, %d and %d", l, c, d, leaves, condensed, deepest)
	}
}

func TestLongHistoryIsReadInWindows(t *testing.T) {
	compact.ReadOldest(t, 256)
	s := conversation(600)
	rep := run(t, newRunner(t, compact.Config{Store: s}), compact.Hard)
	if rep.Reason != compact.Done || rep.TokensAfter >= 12_000 {
		t.Fatalf("%v", rep)
	}
	if n := len(s.covered()); n != 1200 {
		t.Errorf("the view leads to %d messages", n)
	}
}

// A summary that is gone is not folded as if it had said nothing.
func TestAMissingSummaryIsNotFolded(t *testing.T) {
	s := conversation(60)
	r := newRunner(t, compact.Config{Store: s})
	run(t, r, compact.Soft)
	clear(s.summaries)
	items := len(s.items)
	lim := compact.Limits{Budget: 1000}
	if _, err := r.Run(t.Context(), 1, lim, compact.Hard); !errors.Is(err, store.ErrNotFound) || len(s.items) > items {
		t.Errorf("%v, %d items", err, len(s.items))
	}
}

// Calls that overlap without end hold the whole conversation together. They
// must not keep it from being folded, nor from being sent.
func TestEndlessOverlapOfCallsIsFolded(t *testing.T) {
	s := newMemory()
	s.append(llms.User("Go."))
	call := func(n int) llms.Message {
		return llms.Calls("", llms.ToolCall{ID: fmt.Sprint("c", n), Name: "sh", Arguments: "{}"})
	}
	s.append(call(0))
	for n := range 200 {
		s.append(call(n+1), llms.Result(fmt.Sprint("c", n), "sh", text(400), false))
	}
	rep := run(t, newRunner(t, compact.Config{Store: s}), compact.Hard)
	if rep.TokensAfter >= limits.Budget*95/100 {
		t.Fatalf("%v", rep)
	}
}

func TestPreviousSummaryIsGivenForContinuity(t *testing.T) {
	s := conversation(80)
	var previous []string
	sum := &summariser{write: func(_ context.Context, r summary.Request) (string, error) {
		previous = append(previous, r.Previous)
		return fmt.Sprintf("summary %d\n%sx", len(previous), summary.Footer), nil
	}}
	for range 2 {
		run(t, newRunner(t, compact.Config{Store: s, Summariser: sum, Bounds: compact.Bounds{MaxPasses: 1}}), compact.Soft)
	}
	if diff := cmp.Diff([]string{"", "summary 1\n" + summary.Footer + "x"}, previous); diff != "" {
		t.Error(diff)
	}
}

// An instruction of the user that a model leaves out of its summary is added.
func TestInstructionsAreAddedToAModelsSummary(t *testing.T) {
	s := newMemory()
	s.append(llms.User("Never push to main without asking me."))
	for i := range 60 {
		s.append(llms.User("And then?"), llms.Assistant(fmt.Sprintf("Answer %d. %s", i, text(400))))
	}
	sum := &summariser{write: func(context.Context, summary.Request) (string, error) { return "short\n" + summary.Footer + "x", nil }}
	run(t, newRunner(t, compact.Config{Store: s, Summariser: sum}), compact.Full)
	for _, made := range s.summaries {
		if strings.Contains(made.Body, "user#1: Never push to main without asking me.") {
			return
		}
	}
	t.Errorf("no summary has it: %v", s.summaries)
}

func TestEchoesAreCoveredButNotSummarised(t *testing.T) {
	s := newMemory()
	for i := range 60 {
		s.append(llms.User(fmt.Sprintf("Question %d. %s", i, text(400))))
		s.add(llms.Assistant("ECHO "+text(400)), store.FlagEcho)
	}
	var seen strings.Builder
	sum := &summariser{write: func(_ context.Context, r summary.Request) (string, error) {
		seen.WriteString(material(r))
		return "short\n" + summary.Footer + "x", nil
	}}
	run(t, newRunner(t, compact.Config{Store: s, Summariser: sum}), compact.Full)
	if strings.Contains(seen.String(), "ECHO") || !strings.Contains(seen.String(), "Question 1.") {
		t.Error("the summariser was given an echo, or nothing else")
	}
	if len(s.covered()) != 120 {
		t.Errorf("%d messages are covered", len(s.covered()))
	}
}

func TestBoundsOfARun(t *testing.T) {
	t.Run("passes", func(t *testing.T) {
		rep := run(t, newRunner(t, compact.Config{Store: conversation(400), Bounds: compact.Bounds{MaxPasses: 3}}), compact.Soft)
		if rep.Reason != compact.Passes || rep.Passes != 3 {
			t.Errorf("%v", rep)
		}
	})
	t.Run("deadline", func(t *testing.T) {
		now := time.Unix(0, 0)
		clock := func() time.Time { now = now.Add(20 * time.Second); return now }
		rep := run(t, newRunner(t, compact.Config{Store: conversation(400), Clock: clock, Bounds: compact.Bounds{MaxPasses: 100}}), compact.Soft)
		if rep.Reason != compact.Deadline || rep.Folds() == 0 || rep.Elapsed < 2*time.Minute {
			t.Errorf("%v", rep)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		sum := &summariser{write: func(ctx context.Context, _ summary.Request) (string, error) {
			cancel()
			<-ctx.Done()
			return "", ctx.Err()
		}}
		s := conversation(60)
		_, err := newRunner(t, compact.Config{Store: s, State: s, Summariser: sum}).Run(ctx, 1, limits, compact.Soft)
		if !errors.Is(err, context.Canceled) || len(s.summaries) > 0 {
			t.Errorf("got %v and %d summaries", err, len(s.summaries))
		}
		if len(s.state) != 1 {
			t.Errorf("the lease was not given back: %v", s.state)
		}
	})
}

// A message that no folding makes room for is shown as a reference, if that is smaller.
func TestAMessageThatDoesNotFit(t *testing.T) {
	s := newMemory()
	s.append(llms.User("Go."), llms.Assistant(text(100_000)))
	rep := run(t, newRunner(t, compact.Config{Store: s}), compact.Hard)
	if rep.Reason != compact.Done || rep.Stubs != 1 || !s.items[1].Stub || rep.TokensAfter != sumTokens(s.items) {
		t.Errorf("%v, %+v", rep, s.items)
	}
	s = newMemory()
	s.append(llms.User("Go."), llms.Assistant(text(400)))
	size := s.items[1].Tokens
	rep, err := newRunner(t, compact.Config{Store: s}).Run(t.Context(), 1, compact.Limits{Budget: size, Soft: size - 2, Hard: size - 1}, compact.Hard)
	if err != nil || rep.Reason != compact.Exhausted || rep.Stubs != 0 || s.writes != 0 {
		t.Errorf("a reference that is larger: %v, %v", rep, err)
	}
	s = newMemory()
	s.append(llms.User("Go."), llms.Assistant(text(100_000)))
	s.onFold = func() { s.items[1].Message = 1 } // another process changes the view
	if rep := run(t, newRunner(t, compact.Config{Store: s}), compact.Hard); rep.Stale != 1 {
		t.Errorf("a view that has changed: %v", rep)
	}
}

// Damaged text is not summarised, and a summariser that panics is one that fails.
func TestDamagedTextIsNotRepeated(t *testing.T) {
	s := conversation(60)
	for i := range s.messages {
		s.messages[i].Damaged = i < 5
	}
	var heard strings.Builder
	sum := &summariser{write: func(_ context.Context, r summary.Request) (string, error) {
		heard.WriteString(material(r))
		panic("ouch")
	}}
	folds := 0
	rep := run(t, newRunner(t, compact.Config{Store: s, Summariser: sum}).OnFold(func(compact.Report) { folds++ }), compact.Soft)
	if rep.Folds() == 0 || folds != rep.Folds() || rep.Cause == nil || !strings.Contains(rep.Cause.Error(), "panicked: ouch") {
		t.Errorf("%v, %d folds were told, %v", rep, folds, rep.Cause)
	}
	if all := heard.String(); strings.Contains(all, "Question 1.") || !strings.Contains(all, store.DamageNotice) || !strings.Contains(all, "Question 3.") {
		t.Errorf("the model reads %.2000s", all)
	}
	if _, err := compact.NewRunner(compact.Config{}); err == nil {
		t.Error("a runner without a store")
	}
}
