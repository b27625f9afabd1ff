package faulttest

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
)

// crowd is the result of sixteen processes on one file.
type crowd struct {
	mu     sync.Mutex
	took   []time.Duration // of appends
	did    []time.Duration // of searches and contexts
	folded int
	busy   int
	paused int
	stale  int
	errors []string
}

// cast is who the sixteen are.
func cast() []string {
	var all []string
	for role, n := range map[string]int{"hook": 6, "server": 4, "importer": 2, "keeper": 4} {
		all = append(all, slices.Repeat([]string{role}, n)...)
	}
	slices.Sort(all)
	return all
}

// gather runs sixteen processes on one file.
func gather(ctx context.Context, t testing.TB, path string, want *expected, rate float64, last time.Duration) *crowd {
	t.Helper()
	c := &crowd{}
	var wg sync.WaitGroup
	for i, role := range cast() {
		session := fmt.Sprintf("%s-%d", role, i)
		p, err := start(ctx, order{
			Role: role, Path: path, Seed: uint64(i), Sessions: []string{session}, From: map[string]int{session: want.Next(session)}, Rate: rate, For: last,
		})
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			err := p.lines(func(line string) { c.read(line); want.Read(line) })
			if ended := p.Wait(); err == nil {
				err = ended
			}
			if err != nil {
				c.mu.Lock()
				c.errors = append(c.errors, fmt.Sprintf("%s: %v: %s", session, err, p.errs.b))
				c.mu.Unlock()
			}
		})
	}
	wg.Wait()
	return c
}

func (c *crowd) read(line string) {
	verb, number, _ := strings.Cut(strings.TrimSpace(line), " ")
	if verb == "ack" {
		return
	}
	var n int
	if _, err := fmt.Sscan(number, &n); err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch verb {
	case "took":
		c.took = append(c.took, time.Duration(n)*time.Microsecond)
	case "did":
		c.did = append(c.did, time.Duration(n)*time.Microsecond)
	case "folded":
		c.folded += n
	case "busy":
		c.busy += n
	case "paused":
		c.paused += n
	case "stale":
		c.stale += n
	}
}

func quantile(all []time.Duration, share float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[int(share*float64(len(all)-1))]
}

// String returns the figures in a line.
func (c *crowd) String() string {
	return fmt.Sprintf("%d appends, p50 %v, p99 %v, slowest %v; %d searches with a context, p99 %v; %d folds of the shared session, %d refused as busy, %d stale; %d errors",
		len(c.took), quantile(c.took, 0.5), quantile(c.took, 0.99), quantile(c.took, 1), len(c.did), quantile(c.did, 0.99), c.folded, c.busy, c.stale, len(c.errors))
}

// foldedOnce proves that no message of the shared session was folded by two
// processes: the summaries that were made are all in use, each made once.
func foldedOnce(ctx context.Context, t testing.TB, path string, c *crowd) {
	t.Helper()
	db, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	all, err := db.Conversations(ctx, store.ConversationQuery{Key: "shared"})
	if err != nil || len(all) != 1 {
		t.Fatalf("%d conversations under one key, %v", len(all), err)
	}
	if all[0].Summaries != int64(c.folded) {
		t.Errorf("%d folds were made, the record has %d summaries", c.folded, all[0].Summaries)
	}
	if c.stale > 0 {
		t.Errorf("%d summaries were made in vain, %d were not: the lease does not keep processes apart", c.stale, c.folded)
	}
}

// together runs the crowd and checks everything that must hold of it.
func together(ctx context.Context, t testing.TB, path string, want *expected, rate float64, last time.Duration) *crowd {
	t.Helper()
	c := gather(ctx, t, path, want, rate, last)
	for _, e := range c.errors {
		t.Errorf("a caller saw an error: %s", e)
	}
	if c.paused > 0 {
		t.Errorf("folding was put off %d times, as if it had got nowhere: %v", c.paused, c)
	}
	if err := want.Check(ctx, path); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestProcesses is the short form: sixteen processes for a second.
func TestProcesses(t *testing.T) {
	want, path := newExpected(), filepath.Join(t.TempDir(), "lcm.db")
	c := together(t.Context(), t, path, want, 20, time.Second)
	t.Logf("%v", c)
	if len(c.took) < 16 {
		t.Errorf("%d appends", len(c.took))
	}
	foldedOnce(t.Context(), t, path, c)
}
