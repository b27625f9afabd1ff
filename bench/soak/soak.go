// Package soak keeps an engine at work for a long time and watches its memory,
// its file descriptors, and the latency of appends.
//
// One process appends at a steady rate to a few sessions whose budget is small,
// so that compaction never rests, while it searches and asks for contexts as
// agents do. A leak shows as a slope of the resident memory over the last three
// quarters of the run, after caches have filled; a slowdown shows as a p99 of the
// last third above that of the first. At the end every conversation is verified,
// and the messages are counted against those acknowledged.
//
// The measuring itself holds no more after an hour than after a minute:
// latencies go into histograms of a fixed size.
package soak

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/bench/harness"
	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// Options say how long and how hard.
type Options struct {
	Duration time.Duration // 1 hour
	Rate     float64       // appends a second (50)
	Searches float64       // searches a second (2)
	Contexts float64       // contexts a second (1)
	Sessions int           // that the appends are spread over (4)
	Budget   int           // of each session in tokens (16,000)
	Dir      string        // for the database (a temporary one)
	Progress harness.Progress
}

func (o Options) withDefaults() Options {
	o.Rate, o.Searches, o.Contexts = cmp.Or(o.Rate, 50), cmp.Or(o.Searches, 2), cmp.Or(o.Contexts, 1)
	o.Duration, o.Sessions, o.Budget = cmp.Or(o.Duration, time.Hour), cmp.Or(o.Sessions, 4), cmp.Or(o.Budget, 16_000)
	return o
}

func (o Options) check() error {
	switch {
	case o.Duration < time.Second:
		return fmt.Errorf("a duration of %v is too short: use at least a second", o.Duration)
	case o.Rate < 0 || o.Rate > 10_000:
		return fmt.Errorf("%g appends a second are out of range: use 1 to 10000", o.Rate)
	case o.Searches < 0 || o.Contexts < 0 || o.Sessions < 1:
		return errors.New("rates and the number of sessions must be positive")
	case o.Budget < lcm.MinBudget:
		return fmt.Errorf("a budget of %d tokens is too small: use at least %d", o.Budget, lcm.MinBudget)
	}
	return nil
}

// samples is how many points the report's curves have.
const samples = 240

// run is a soak under way.
type run struct {
	Options
	*harness.Record
	recall   *lookup.Service
	sessions []*lcm.Session
	begun    time.Time
	warnings atomic.Int64

	appended atomic.Int64
	appends  [3]histogram // one for each third
	searches [3]histogram
	contexts [3]histogram
}

// Measure runs a soak to its end, or until ctx ends: then the report is of the
// time there was.
func Measure(ctx context.Context, o Options) (rep Report, err error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return rep, err
	}
	r := &run{Options: o}
	whole := context.WithoutCancel(ctx)
	if err := r.open(whole); err != nil {
		return rep, err
	}
	defer func() { err = errors.Join(err, r.Close(whole)) }()
	points, err := r.work(ctx)
	if err != nil {
		return rep, err
	}
	return r.report(whole, points)
}

func (r *run) open(ctx context.Context) (err error) {
	log := slog.New(counting{slog.DiscardHandler, &r.warnings})
	if r.Dir == "" {
		r.Record, err = harness.Temp(ctx, "", sqlite.Options{Log: log}, lcm.WithBudget(r.Budget), lcm.WithLogger(log))
	} else {
		r.Record, err = harness.Open(ctx, filepath.Join(r.Dir, "soak.db"), sqlite.Options{Log: log}, lcm.WithBudget(r.Budget), lcm.WithLogger(log))
	}
	if err != nil {
		return err
	}
	if r.recall, err = lookup.New(r.DB); err != nil {
		return errors.Join(err, r.Close(ctx))
	}
	harness.Message(0) // prepares the words, which would delay the first append
	for i := range r.Sessions {
		r.sessions = append(r.sessions, r.Engine.Session(fmt.Sprintf("soak/%d", i)))
	}
	return nil
}

// counting counts the warnings of background work.
type counting struct {
	slog.Handler
	n *atomic.Int64
}

// Enabled implements [slog.Handler].
func (counting) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

// Handle implements [slog.Handler].
func (c counting) Handle(context.Context, slog.Record) error { c.n.Add(1); return nil }

// work appends, searches and asks for contexts side by side until time is up.
func (r *run) work(ctx context.Context) ([]Point, error) {
	ctx, stop := context.WithTimeout(ctx, r.Duration)
	defer stop()
	r.begun = time.Now()
	var wg sync.WaitGroup
	errs := make([]error, 3)
	for i, job := range []struct {
		rate float64
		do   func(context.Context, int) error
	}{{r.Rate, r.append}, {r.Searches, r.search}, {r.Contexts, r.context}} {
		wg.Go(func() {
			if errs[i] = r.pace(ctx, job.rate, job.do); errs[i] != nil {
				stop()
			}
		})
	}
	points := r.watch(ctx)
	wg.Wait()
	return points, errors.Join(errs...)
}

// pace calls do at a steady rate. Calls that are late follow each other
// without a pause, so that the rate is that of the whole run.
func (r *run) pace(ctx context.Context, rate float64, do func(context.Context, int) error) error {
	t := time.NewTimer(0)
	defer t.Stop()
	for n := 0; ; n++ {
		t.Reset(time.Until(r.begun.Add(time.Duration(float64(n+1) / rate * float64(time.Second)))))
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		// A call that has begun finishes after the end of the run.
		if err := do(context.WithoutCancel(ctx), n); err != nil {
			return err
		}
	}
}

// third says in which third of the run it is.
func (r *run) third() int { return min(2, int(3*time.Since(r.begun)/r.Duration)) }

// timed calls do and adds its duration to the histogram of the third.
func (r *run) timed(into *[3]histogram, do func() error) error {
	third, start := r.third(), time.Now()
	err := do()
	into[third].add(time.Since(start))
	return err
}

func (r *run) append(ctx context.Context, n int) error {
	m := harness.Message(n)
	if err := r.timed(&r.appends, func() error { return r.sessions[n/4%len(r.sessions)].Append(ctx, m) }); err != nil {
		return fmt.Errorf("append %d: %w", n, err)
	}
	r.appended.Add(1)
	return nil
}

func (r *run) search(ctx context.Context, n int) error {
	rng := rand.New(rand.NewPCG(uint64(n), 0x9e))
	first, second := harness.Pick(rng), harness.Pick(rng)
	q := recall.GrepRequest{Mode: store.FullText, Pattern: first + " " + second + " " + harness.Pick(rng), Where: recall.Where{AllConversations: true}, Limit: 10}
	if n%2 == 1 {
		q.Mode, q.Pattern = store.Regex, first+`\s+`+second
	}
	return r.timed(&r.searches, func() error {
		if _, err := r.recall.Grep(ctx, q); err != nil {
			return fmt.Errorf("search %d (%s): %w", n, q.Pattern, err)
		}
		return nil
	})
}

func (r *run) context(ctx context.Context, n int) error {
	return r.timed(&r.contexts, func() error {
		if _, err := r.sessions[n%len(r.sessions)].Context(ctx, 0); err != nil {
			return fmt.Errorf("context %d: %w", n, err)
		}
		return nil
	})
}

// watch looks at the process until the run ends.
func (r *run) watch(ctx context.Context) []Point {
	points := make([]Point, 0, samples+2)
	tick := time.NewTicker(max(r.Duration/samples, 10*time.Millisecond))
	defer tick.Stop()
	for {
		points = append(points, look(time.Since(r.begun), r.appended.Load()))
		last := points[len(points)-1]
		r.Progress.Tell(int64(last.At), int64(r.Duration), fmt.Sprintf("%d appends, %.0f MB, %d descriptors", last.Appended, float64(last.RSS)/1e6, last.Files))
		select {
		case <-ctx.Done():
			return append(points, look(time.Since(r.begun), r.appended.Load()))
		case <-tick.C:
		}
	}
}
