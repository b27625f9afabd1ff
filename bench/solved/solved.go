// Package solved measures what sessions would have been told after their failures. It plays the
// calls of a record that failed, in the order of their times, each against everything that was
// stored with an earlier time.
package solved

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/lossless-context/lcm/bench/harness"
	"github.com/lossless-context/lcm/internal/hosts/solved"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Options says what to measure.
type Options struct {
	DB       string // the record
	Since    time.Time
	Recur    bool      // as if each failure came again later: what of all its solutions would be told
	Answers  io.Writer // gets every failure with a cause, as a line of JSON
	Progress harness.Progress
}

// Report is the outcome.
type Report struct {
	Sessions int     `json:"sessions"`
	Failed   int     `json:"failed"`
	Causes   int     `json:"causes"` // failures with a known cause, once a session and cause
	Told     int     `json:"told"`
	CPU      float64 `json:"cpuMillis"`
	CPUMax   float64 `json:"cpuMaxMillis"`
}

// Text is the report for people.
func (r Report) Text() string {
	return fmt.Sprintf("%d sessions: %d failed calls, %d with a cause that is known (once a session), %d were told; %.1f ms of processor time each, at most %.1f\n",
		r.Sessions, r.Failed, r.Causes, r.Told, r.CPU, r.CPUMax)
}

// Measure plays the sessions.
func Measure(ctx context.Context, o Options) (r Report, err error) {
	rec, err := harness.Open(ctx, o.DB, sqlite.Options{})
	if err != nil {
		return r, err
	}
	defer rec.Close(ctx)
	all, err := rec.DB.Conversations(ctx, store.ConversationQuery{})
	if err != nil {
		return r, err
	}
	var busy time.Duration
	for _, c := range all {
		r.Sessions++
		told := map[string]bool{}
		for f, err := range solved.Results(ctx, rec.DB, c.ID, o.Since) {
			if err != nil {
				return r, err
			}
			if f.Known {
				r.Failed++
			}
			cause := f.Cause()
			if cause == "" || told[cause] {
				continue
			}
			r.Causes++
			before := f.Time
			if o.Recur {
				before = time.Time{}
			}
			began := harness.CPUTime()
			s, err := solved.Find(ctx, rec.DB, f.Failure, solved.Options{Project: c.Project, Before: before})
			if err != nil {
				return r, err
			}
			took := harness.CPUTime() - began
			busy, r.CPUMax = busy+took, max(r.CPUMax, harness.Millis(took))
			if told[cause] = s.Block() != ""; told[cause] {
				r.Told++
			}
			if o.Answers != nil {
				line, err := json.Marshal(map[string]any{"session": c.Key, "message": f.Message.String(), "time": f.Time, "call": f.Call.Arguments, "cause": cause, "solution": s, "block": s.Block()})
				if err != nil {
					return r, err
				}
				fmt.Fprintf(o.Answers, "%s\n", line)
			}
		}
		o.Progress.Tell(int64(r.Sessions), int64(len(all)), "sessions")
	}
	r.CPU = harness.Millis(busy) / float64(max(1, r.Causes))
	return r, nil
}
