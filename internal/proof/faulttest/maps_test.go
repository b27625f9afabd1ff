package faulttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/postgres/pgtest"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/llms/llmtest"
)

// hopeless says that no reply for an item fits.
func hopeless(item int) bool { return item%250 == 249 }

// mapJob is a job over numbers whose model takes its time, replies wrongly in three of a hundred
// calls and fails in one. Each call writes a line to a file.
func mapJob(o order) lcm.MapJob {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(o.Seed, 5))
	job := lcm.MapJob{Key: "squares", Prompt: "Square it.", Schema: json.RawMessage(`{"type":"object","properties":{"square":{"type":"integer"}},"required":["square"]}`),
		ItemTimeout: 4 * time.Second, MaxAttempts: 5}
	if o.Items < 1000 { // so that there is time to kill
		job.Concurrency = 4
	}
	for i := range o.Items {
		job.Items = append(job.Items, i)
	}
	job.Model = llmtest.New(func(r llms.Request) llmtest.Reply {
		mu.Lock()
		pause, luck := time.Duration(rng.Int64N(int64(2*o.For)+1)), rng.IntN(100)
		mu.Unlock()
		time.Sleep(pause)
		n := 0
		if _, err := fmt.Sscan(r.Messages[0].PlainText(), &n); err != nil {
			panic(err)
		}
		if err := effect(o.Effects, fmt.Sprint(n)); err != nil {
			panic(err)
		}
		switch {
		case luck == 0:
			return llmtest.Status(http.StatusInternalServerError, "try later")
		case luck < 4 || hopeless(n):
			return llmtest.Say(`{"square": "large"}`)
		}
		return llmtest.Say(fmt.Sprintf(`{"square": %d}`, n*n))
	})
	return job
}

// beMapper works on the job until it has ended.
func beMapper(ctx context.Context, o order) error {
	return withMap(ctx, o, func(s *lcm.Session, job lcm.MapJob) error {
		fmt.Println("ready")
		_, err := s.Map(ctx, job)
		return err
	})
}

func withMap(ctx context.Context, o order, do func(*lcm.Session, lcm.MapJob) error) error {
	var db lcm.Store
	var err error
	if strings.HasPrefix(o.Path, "postgres") {
		db, err = postgres.Open(ctx, o.Path, postgres.Options{})
	} else {
		db, err = sqlite.Open(ctx, o.Path, sqlite.Options{})
	}
	if err != nil {
		return err
	}
	defer db.Close()
	engine, err := lcm.New(db)
	if err != nil {
		return err
	}
	defer engine.Close(ctx)
	return do(engine.Session("maps"), mapJob(o))
}

// A map on which four processes work, and of which one is killed again and again, has every item
// once in its output, or failed with its reason. Resumed, it asks nothing more.
func TestMapsSurviveKills(t *testing.T) {
	items, kills, pause := 300, 4, 100*time.Millisecond
	if os.Getenv("LCM_TORTURE") != "" {
		items, kills, pause = 10_000, 30, 200*time.Millisecond
	}
	for _, backend := range []string{"sqlite", "postgres"} {
		t.Run(backend, func(t *testing.T) {
			o := order{Role: "mapper", Path: filepath.Join(t.TempDir(), "maps.db"), Items: items, For: pause}
			o.Effects = o.Path
			if backend == "postgres" {
				o.Path = pgtest.URL(t)
			}
			killMappers(t, o, kills)
			calls := countCalls(t, o)
			err := withMap(t.Context(), o, func(s *lcm.Session, job lcm.MapJob) error { return checkMap(t, s, job, calls) })
			if err != nil {
				t.Fatal(err)
			}
			if again := countCalls(t, o); again != calls {
				t.Errorf("the job had ended and was asked %d times more", again-calls)
			}
		})
	}
}

// killMappers has four processes work on a job, and replaces one that it kills.
func killMappers(t *testing.T, o order, kills int) {
	var running []*process
	begin := func() *process {
		o.Seed++
		p, err := start(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if line, err := p.out.ReadString('\n'); err != nil || line != "ready\n" {
			t.Fatalf("%q %v: %s", line, err, p.errs.b)
		}
		return p
	}
	for range 4 {
		running = append(running, begin())
	}
	rng := rand.New(rand.NewPCG(11, 11))
	killed := 0
	for ; killed < kills; killed++ {
		time.Sleep(time.Duration(rng.Int64N(int64(4 * o.For))))
		i := rng.IntN(len(running))
		if err := running[i].Process.Kill(); err != nil {
			t.Fatal(err)
		}
		var exit interface{ ExitCode() int }
		if err := running[i].Wait(); !errors.As(err, &exit) || exit.ExitCode() >= 0 {
			break // it had ended: the job is done
		}
		running[i] = begin()
	}
	if killed == 0 || killed < kills && os.Getenv("LCM_TORTURE") != "" {
		t.Errorf("%d processes were killed before the job ended", killed)
	}
	for _, p := range running {
		if err := p.Wait(); err != nil {
			t.Errorf("%v: %s", err, p.errs.b)
		}
	}
}

func countCalls(t *testing.T, o order) int {
	lines, err := os.ReadFile(o.Effects + ".effects")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(lines, []byte("\n"))
}

func checkMap(t *testing.T, s *lcm.Session, job lcm.MapJob, calls int) error {
	type answer struct{ Square int }
	n, failed := 0, 0
	for a, err := range lcm.MapInto[answer](t.Context(), s, job) {
		failure, ok := errors.AsType[*lcm.MapFailure](err)
		switch {
		case err != nil && !ok:
			return err
		case ok && (failure.Item != n || failure.Reason == ""):
			t.Errorf("item %d is %+v", n, failure)
		case ok != hopeless(n), err == nil && a.Square != n*n:
			t.Errorf("item %d is %+v, %v", n, a, err)
		}
		n++
		if ok {
			failed++
		}
	}
	report, err := s.Map(t.Context(), job)
	if err != nil {
		return err
	}
	if n != len(job.Items) || report.Done+report.Failed != n || report.Failed != failed {
		t.Errorf("%d items, %+v", n, report)
	}
	// Calls of killed processes are made and not counted.
	if report.Calls < n || report.Calls > calls {
		t.Errorf("%d calls were made, %d are counted", calls, report.Calls)
	}
	t.Logf("%d items, %d failed, %d calls, %d of them by processes that were killed", n, failed, calls, calls-report.Calls)
	v, err := s.Verify(t.Context())
	if err == nil && len(v.Faults) > 0 {
		t.Errorf("the record is damaged: %v", v.Faults)
	}
	return err
}
