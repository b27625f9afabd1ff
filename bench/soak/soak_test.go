package soak_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/bench/soak"
)

func TestSoakKeepsWhatItAcknowledged(t *testing.T) {
	r, err := soak.Measure(t.Context(), soak.Options{Duration: 1500 * time.Millisecond, Rate: 200, Searches: 10, Contexts: 10, Budget: 2_000, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if r.Appended == 0 || r.Appended != r.Stored || len(r.Faults) > 0 || r.Warnings > 0 {
		t.Errorf("%d appended, %d stored, faults %v, %d warnings", r.Appended, r.Stored, r.Faults, r.Warnings)
	}
	if r.Summaries == 0 {
		t.Error("nothing was folded")
	}
	// A disk that stalls can leave a third without an append.
	var appends int64
	for i, third := range r.Thirds {
		appends += third.Appends
		if third.AppendP99 < third.AppendP50 || third.Appends > 0 && third.AppendP50 <= 0 || third.RSS <= 0 {
			t.Errorf("third %d: %+v", i, third)
		}
	}
	if appends != r.Appended {
		t.Errorf("the thirds have %d appends of %d", appends, r.Appended)
	}
	if text := r.Text(); !strings.Contains(text, "append p99, ms") || !strings.Contains(text, "RSS slope") {
		t.Errorf("report:\n%s", text)
	}
}

func TestSoakReportsTheTimeItHad(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer stop()
	r, err := soak.Measure(ctx, soak.Options{Duration: time.Hour, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if r.Lasted > time.Minute || r.Asked != time.Hour {
		t.Errorf("lasted %v of %v", r.Lasted, r.Asked)
	}
}

func TestSoakRefusesNonsense(t *testing.T) {
	for _, o := range []soak.Options{{Duration: time.Millisecond}, {Rate: -1}, {Budget: 10}, {Sessions: -1}} {
		if _, err := soak.Measure(t.Context(), o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}
