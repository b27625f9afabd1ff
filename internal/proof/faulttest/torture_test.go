package faulttest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

// The least that a torture does, however long it takes.
const (
	leastKills  = 500
	leastFaults = 200
)

// figures count the faults and checks of a torture run.
type figures struct {
	mu      sync.Mutex
	kills   int
	cuts    int
	faults  map[faultKind]int
	acked   int
	checks  int
	records int
}

func (f *figures) add(change func(*figures)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *figures) allFaults() (n int) {
	for _, fired := range f.faults {
		n += fired
	}
	return n
}

// String returns the figures in a line.
func (f *figures) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Sprintf("%d processes killed, %d power cuts, %d injected faults %v; %d records, %d messages acknowledged, %d checks",
		f.kills, f.cuts, f.allFaults(), f.faults, f.records, f.acked, f.checks)
}

func (f *figures) enough() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.kills >= leastKills && f.allFaults() >= leastFaults
}

// torture is how long the long forms last; they are not run without it.
func torture(t *testing.T) time.Duration {
	t.Helper()
	given := os.Getenv("LCM_TORTURE")
	if given == "" {
		t.Skip("make torture runs this")
	}
	d, err := time.ParseDuration(given)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestTorture kills, cuts the power and lets the disk fail until its time is
// up and it has done enough of each.
func TestTorture(t *testing.T) {
	last := torture(t)
	begun := time.Now()
	f := &figures{faults: map[faultKind]int{}}
	on := func() bool { return !t.Failed() && (time.Since(begun) < last || !f.enough()) }
	var wg sync.WaitGroup
	for i := range max(2, runtime.NumCPU()) {
		wg.Go(func() {
			for n := 0; on(); n++ {
				if i == 0 {
					fmt.Printf("%v: %s\n", time.Since(begun).Round(time.Second), f)
				}
				seed := uint64(begun.UnixNano()) + uint64(1_000_000*i+1000*n)
				tortureKills(t.Context(), t, f, seed)
				if on() {
					torturePower(t.Context(), t, f, seed)
					tortureFaults(t.Context(), t, f, seed)
				}
			}
		})
	}
	wg.Wait()
	verdict := "0 lost, 0 doubled, 0 failed verifications"
	if t.Failed() {
		verdict = "FAILED, see above"
	}
	t.Logf("%v: %s; %s", time.Since(begun).Round(time.Second), f, verdict)
}

// tempDir is a directory that is gone when the round is: a torture has
// thousands.
func tempDir(t testing.TB) (string, func()) {
	dir, err := os.MkdirTemp("", "lcm-torture-")
	if err != nil {
		t.Error(err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }
}

func tortureKills(ctx context.Context, t testing.TB, f *figures, seed uint64) {
	dir, done := tempDir(t)
	defer done()
	l := newLife(dir, seed)
	for range 20 {
		if err := l.kill(ctx); err != nil {
			t.Errorf("seed %d: %v", seed, err)
			return
		}
		f.add(func(f *figures) { f.kills++; f.checks++ })
	}
	if err := l.goesOn(ctx); err != nil {
		t.Errorf("seed %d: %v", seed, err)
	}
	f.add(func(f *figures) { f.records++; f.acked += l.want.Acknowledged() })
}

func torturePower(ctx context.Context, t testing.TB, f *figures, seed uint64) {
	dir, done := tempDir(t)
	defer done()
	want, path := newExpected(), filepath.Join(dir, "lcm.db")
	for n := range uint64(6) {
		left, err := powerCut(ctx, t, seed+n, path, want, 1500)
		if err != nil {
			t.Errorf("seed %d: %v", seed+n, err)
			return
		}
		path = filepath.Join(dir, fmt.Sprintf("after-%d", n), "lcm.db")
		if err := os.Rename(filepath.Dir(left), filepath.Dir(path)); err != nil {
			t.Error(err)
			return
		}
		f.add(func(f *figures) { f.cuts++; f.checks++ })
	}
	f.add(func(f *figures) { f.records++; f.acked += want.Acknowledged() })
}

func tortureFaults(ctx context.Context, t testing.TB, f *figures, seed uint64) {
	for i, kind := range faultKinds {
		dir, done := tempDir(t)
		b := newWorkbench(t, seed+uint64(i), filepath.Join(dir, "lcm.db"), newExpected())
		if err := b.open(ctx); err != nil {
			t.Error(err)
			done()
			return
		}
		for n := range 4 {
			on := []string{"-wal", ".db", ""}[(i+n)%3]
			if err := faulty(ctx, b, fault{Kind: kind, On: on, After: int(seed+uint64(n*n)) % 40, Times: n % 3}); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
			if b.disk.Dead() {
				break
			}
		}
		if err := b.afterPowerCut(ctx, dir); err != nil {
			t.Errorf("seed %d, %s: %v", seed, kind, err)
		}
		f.add(func(f *figures) {
			f.faults[kind] += b.disk.Fired()
			f.records++
			f.acked += b.want.Acknowledged()
			f.checks++
		})
		b.disk.Remove()
		done()
	}
}

// TestTortureProcesses has sixteen processes share a file: paced as hooks are,
// then as fast as they can.
func TestTortureProcesses(t *testing.T) {
	last := min(torture(t), 2*time.Minute)
	want, path := newExpected(), filepath.Join(t.TempDir(), "lcm.db")
	c := together(t.Context(), t, path, want, 20, last)
	t.Logf("paced at 20 appends/s each for %v: %v", last, c)
	if p99 := quantile(c.took, 0.99); p99 > 500*time.Millisecond {
		t.Errorf("the p99 of an append is %v, more than 500 ms", p99)
	}
	foldedOnce(t.Context(), t, path, c)
	c = together(t.Context(), t, path, want, 0, last/4)
	t.Logf("unpaced for %v: %.0f appends/s: %v", last/4, float64(len(c.took))/(last/4).Seconds(), c)
}
