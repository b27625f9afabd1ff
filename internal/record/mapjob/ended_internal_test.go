package mapjob

import (
	"errors"
	"testing"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// A job ends at its budget, and 0 is none.
func TestEndedAtTheBudget(t *testing.T) {
	for _, c := range []struct {
		budget, used int
		ended        bool
	}{{0, 1_000_000, false}, {100, 99, false}, {100, 100, true}, {100, 101, true}, {1, 1, true}} {
		s := store.MapState{Items: 3, Done: 1, Usage: llms.Usage{InputTokens: c.used - c.used/3, OutputTokens: c.used / 3}}
		ended, err := (&worker{Job: Job{Budget: c.budget}}).ended(t.Context(), s)
		if ended != c.ended || errors.Is(err, ErrBudget) != c.ended {
			t.Errorf("%d of %d: ended %t, %v", c.used, c.budget, ended, err)
		}
		s.Done = s.Items
		if ended, err := (&worker{Job: Job{Budget: c.budget}}).ended(t.Context(), s); !ended || err != nil {
			t.Errorf("without an open item: %t, %v", ended, err)
		}
	}
}
