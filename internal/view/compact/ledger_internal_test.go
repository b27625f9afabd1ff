package compact

import (
	"context"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/assemble"
)

// forgetful is a state that keeps nothing.
type forgetful struct {
	store.State
	puts *int
}

func (f forgetful) Put(context.Context, string, string, []byte, int64, time.Time) (int64, error) {
	*f.puts++
	return 1, nil
}

// A conversation is left alone for a while after runs that tried and got
// nowhere, and only after those: where others say more than a run folds, or
// fold what it was about to, the next one is needed all the same.
func TestWhatPausesCompaction(t *testing.T) {
	for _, tt := range []struct {
		name   string
		report Report
		pauses bool
	}{
		{"nothing it tried was smaller", Report{Reason: Exhausted, Passes: 3, TokensBefore: 10, TokensAfter: 10}, true},
		{"the key was refused", Report{Reason: Auth, Passes: 1, TokensBefore: 10, TokensAfter: 10}, true},
		{"it folded, and more was said meanwhile", Report{Reason: Exhausted, Passes: 2, Leaves: 2, TokensBefore: 10, TokensAfter: 12}, false},
		{"it showed a message as a reference", Report{Reason: Passes, Passes: 1, Stubs: 1, TokensBefore: 10, TokensAfter: 12}, false},
		{"another run had folded everything, and more was said", Report{Reason: Exhausted, TokensBefore: 10, TokensAfter: 12}, false},
		{"it was interrupted", Report{Reason: Interrupted, Passes: 1, TokensBefore: 10, TokensAfter: 10}, false},
	} {
		l := NewLedger(forgetful{puts: new(int)}, time.Now)
		e := &Entry{Conversation: 1}
		if err := l.close(t.Context(), e, tt.report, 0, time.Hour); err != nil {
			t.Fatal(err)
		}
		if got := !e.NotBefore.IsZero(); got != tt.pauses {
			t.Errorf("%s: pauses is %v, want %v", tt.name, got, tt.pauses)
		}
	}
}

// A run without trouble leaves nothing behind, and clears what an earlier one left.
func TestWhatTheLedgerRemembers(t *testing.T) {
	for name, c := range map[string]struct {
		entry  Entry
		reason Reason
		puts   int
	}{
		"nothing":      {Entry{}, Done, 0},
		"old trouble":  {Entry{version: 3}, Done, 1},
		"calls":        {Entry{Calls: 2}, Done, 1},
		"it ended ill": {Entry{}, Interrupted, 1},
	} {
		puts := 0
		if err := NewLedger(forgetful{puts: &puts}, time.Now).close(t.Context(), &c.entry, Report{Reason: c.reason}, 0, time.Hour); err != nil || puts != c.puts {
			t.Errorf("%s: %d writes, %v", name, puts, err)
		}
	}
}

// A window has so many calls; the next one begins when it has passed.
func TestReservedCalls(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	b := Bounds{MaxCalls: 8, CallWindow: time.Hour}
	for name, c := range map[string]struct {
		entry              Entry
		calls, puts, total int
	}{
		"the first":           {Entry{}, 8, 1, 8},
		"some are left":       {Entry{Calls: 5, Window: now.Add(-time.Hour + 1)}, 3, 1, 8},
		"none are left":       {Entry{Calls: 8, Window: now}, 0, 0, 8},
		"more than allowed":   {Entry{Calls: 9, Window: now}, 0, 0, 9},
		"the window is over":  {Entry{Calls: 8, Window: now.Add(-time.Hour)}, 8, 1, 8},
		"a clock that jumped": {Entry{Calls: 5, Window: now.Add(time.Hour)}, 3, 1, 8},
	} {
		puts := 0
		calls, err := NewLedger(forgetful{puts: &puts}, func() time.Time { return now }).reserve(t.Context(), &c.entry, b)
		if err != nil || calls != c.calls || puts != c.puts || c.entry.Calls != c.total {
			t.Errorf("%s: %d calls, %d in all, %d writes, %v", name, calls, c.entry.Calls, puts, err)
		}
	}
}

// Pauses double up to half an hour; calls that are used up have one of their own.
func TestPauses(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	l := NewLedger(forgetful{puts: new(int)}, func() time.Time { return now })
	e := &Entry{Calls: 5}
	for i, want := range []time.Duration{5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute, 30 * time.Minute} {
		if err := l.close(t.Context(), e, Report{Reason: Exhausted, Passes: 1}, 1, time.Hour); err != nil || e.NotBefore.Sub(now) != want || e.Calls != 4-i {
			t.Errorf("after %d attempts a pause of %v, %d calls, %v", i+1, e.NotBefore.Sub(now), e.Calls, err)
		}
	}
	if err := l.close(t.Context(), e, Report{Reason: Spend}, 1, time.Hour); err != nil || e.NotBefore.Sub(now) != time.Hour || e.Calls != 0 {
		t.Errorf("the calls are used up: a pause of %v, %d calls, %v", e.NotBefore.Sub(now), e.Calls, err)
	}
}

// A run in the background is worth its cost if enough can be folded, or nobody knows.
func TestWhatPays(t *testing.T) {
	small := store.View{Items: []store.Item{{ID: store.ID{Message: 1}, Tokens: 10}}, Tokens: 10, Count: 1, Gap: 1}
	gap, large := small, small
	gap.Skipped, large.Tokens = 1, 900
	low, none := Limits{Budget: 1000, Soft: 500, Low: 300, Hard: 900}, Limits{Budget: 1000, Soft: 500, Low: 500, Hard: 900}
	for _, c := range []struct {
		name string
		view store.View
		lim  Limits
		want bool
	}{
		{"too little", small, low, false}, {"without a low threshold", small, none, true}, {"a gap", gap, low, true}, {"at the hard limit", large, low, true},
	} {
		if got := pays(c.view, c.lim, Policy{}.withDefaults()); got != c.want {
			t.Errorf("%s: pays is %v", c.name, got)
		}
	}
	pol := Policy{Policy: assemble.Policy{FreshTail: 1, FreshTailTokens: 1}}.withDefaults()
	for tokens, want := range map[int]bool{99: false, 100: true} { // half of what lies between the thresholds; there are no summaries
		v := store.View{Items: []store.Item{{ID: store.ID{Message: 1}, Tokens: tokens}, {ID: store.ID{Message: 2}, Tokens: 10}}, Tokens: tokens + 10, Count: 2, Gap: 2}
		if got := pays(v, low, pol); got != want {
			t.Errorf("%d tokens before the tail: pays is %v", tokens, got)
		}
	}
}
