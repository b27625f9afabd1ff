package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
)

// runLog keeps the record of a run and of its last requests in memory, and writes both
// to the store every writeEvery.
type runLog struct {
	store store.State
	clock func() time.Time

	mu       sync.Mutex
	run      Run
	requests map[string][]Composition // by session key
	costs    map[string]*costs
	changed  bool
	writing  sync.Mutex
}

func newRunLog(s store.State, run Run, clock func() time.Time) *runLog {
	l := &runLog{store: s, clock: clock, run: run, requests: map[string][]Composition{}, costs: map[string]*costs{}, changed: true}
	if l.run.Started.IsZero() {
		l.run.Started = clock()
	}
	return l
}

// keep writes the changes every writeEvery until ctx ends, and calls also each time.
func (l *runLog) keep(ctx context.Context, also func(context.Context), failed func(error)) {
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	for {
		if err := l.write(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
		also(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// add adds a request of a session.
func (l *runLog) add(ctx context.Context, key string, m Composition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &l.run
	l.changed = true
	r.Requests++
	if !slices.Contains(r.Sessions, key) {
		r.Sessions = append(r.Sessions, key)
	}
	if m.Dropped > 0 {
		r.Changed++
	}
	if m.Fold {
		r.Folds++
	}
	if m.Subscription {
		r.Subscription++
	}
	if m.Checkpoint {
		r.Checkpoints++
	}
	if m.Failure != "" {
		count(&r.Failures, m.Failure)
	}
	if m.Over != "" {
		count(&r.Over, m.Over)
	}
	if key == UnknownClient {
		r.Unknown++
	}
	sent := m.Tokens
	if m.Observe {
		sent = m.FullTokens
	}
	r.Largest = max(r.Largest, cmp.Or(m.Usage.Total(), sent))
	r.Usage.Input += m.Usage.Input
	r.Usage.CacheRead += m.Usage.CacheRead
	r.Usage.CacheWrite += m.Usage.CacheWrite
	r.Usage.Output += m.Usage.Output
	if m.Usage.Total() == 0 && m.Status == 0 {
		r.Unanswered++
	}
	if l.costs[key] == nil {
		l.costs[key] = &costs{}
		l.requests[key], _ = Requests(ctx, l.store, key) // of earlier runs; an error costs the oldest ones
	}
	l.costs[key].count(m, r.Observe)
	r.Cost, r.Plain = 0, 0
	for _, c := range l.costs {
		cost, plain := c.total(r.Observe)
		r.Cost, r.Plain = r.Cost+cost, r.Plain+plain
	}
	l.requests[key] = append(l.requests[key], m)
	if n := len(l.requests[key]) - requestsKept; n > 0 {
		l.requests[key] = slices.Delete(l.requests[key], 0, n)
	}
}

// count adds one to a counter.
func count(in *map[string]int, key string) {
	if *in == nil {
		*in = map[string]int{}
	}
	(*in)[key]++
}

// problem counts an error of the work in the background.
func (l *runLog) problem(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	count(&l.run.Problems, err.Error())
	l.changed = true
}

// verbatim sets how many messages of the run's sessions the record has.
func (l *runLog) verbatim(messages int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.run.Verbatim, l.changed = messages, true
}

// snapshot returns a copy of the record.
func (l *runLog) snapshot() Run {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.run
	r.Sessions = slices.Clone(r.Sessions)
	r.Failures, r.Problems, r.Over = maps.Clone(r.Failures), maps.Clone(r.Problems), maps.Clone(r.Over)
	return r
}

// close writes the end of the run.
func (l *runLog) close(ctx context.Context) error {
	l.mu.Lock()
	l.run.Ended, l.changed = l.clock(), true
	l.mu.Unlock()
	return l.write(ctx)
}

// write writes the record if it has changed. After an error the next write tries again.
func (l *runLog) write(ctx context.Context) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	changed, run := l.changed, l.run
	values := map[[2]string]json.RawMessage{} // by space and key
	var problems []error
	encode := func(space, key string, v any) {
		data, err := json.Marshal(v)
		values[[2]string{space, key}] = data
		problems = append(problems, err)
	}
	if changed {
		encode(store.RunSpace, run.ID, run)
		for key, made := range l.requests {
			encode(store.RequestSpace, key, made)
		}
	}
	l.changed = false
	l.mu.Unlock()
	for at, data := range values {
		problems = append(problems, store.Set(ctx, l.store, at[0], at[1], data, run.Started.Add(runsKept)))
	}
	err := errors.Join(problems...)
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.changed = true
	}
	return err
}

// Runs returns the records of runs, the last first.
func Runs(ctx context.Context, s store.State) ([]Run, error) {
	values, err := s.List(ctx, store.RunSpace)
	if err != nil {
		return nil, fmt.Errorf("read the records of runs: %w", err)
	}
	runs := make([]Run, 0, len(values))
	for _, v := range values {
		var r Run
		if json.Unmarshal(v.Data, &r) == nil {
			runs = append(runs, r)
		}
	}
	slices.SortFunc(runs, func(a, b Run) int { return b.Started.Compare(a.Started) })
	return runs, nil
}

// Requests returns the last requests of a session, the oldest first.
func Requests(ctx context.Context, s store.State, key string) ([]Composition, error) {
	v, err := s.Get(ctx, store.RequestSpace, key)
	if err != nil {
		return nil, err
	}
	var made []Composition
	if err := json.Unmarshal(v.Data, &made); err != nil {
		return nil, fmt.Errorf("read the requests of %s: %w", key, err)
	}
	return made, nil
}
