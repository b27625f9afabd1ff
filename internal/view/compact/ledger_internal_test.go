package compact

import (
	"context"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
)

// forgetful is a state that keeps nothing.
type forgetful struct{ store.State }

func (forgetful) Put(context.Context, string, string, []byte, int64, time.Time) (int64, error) {
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
		l := NewLedger(forgetful{}, time.Now)
		e := &Entry{Conversation: 1}
		if err := l.close(t.Context(), e, tt.report, 0, time.Hour); err != nil {
			t.Fatal(err)
		}
		if got := !e.NotBefore.IsZero(); got != tt.pauses {
			t.Errorf("%s: pauses is %v, want %v", tt.name, got, tt.pauses)
		}
	}
}
