package faulttest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
)

// workUntilKilled is the process that is killed.
func workUntilKilled(ctx context.Context, o order) error {
	db, err := sqlite.Open(ctx, o.Path, sqlite.Options{})
	if err != nil {
		return err
	}
	w := &worker{Out: os.Stdout, Seed: o.Seed, Sessions: o.Sessions, From: o.From}
	if err := w.Start(ctx, db); err != nil {
		return err
	}
	fmt.Println("ready")
	for {
		if err := w.Step(ctx); err != nil {
			return err
		}
	}
}

var killSessions = []string{"a", "b", "c"}

// life is a record whose processes are killed, one after the other.
type life struct {
	path string
	want *expected
	rng  *rand.Rand
}

func newLife(dir string, seed uint64) *life {
	return &life{path: filepath.Join(dir, "lcm.db"), want: newExpected(), rng: rand.New(rand.NewPCG(seed, 3))}
}

// kill starts a process, kills it at a random point, and checks the record.
func (l *life) kill(ctx context.Context) error {
	from := map[string]int{}
	for _, s := range killSessions {
		from[s] = l.want.Next(s)
	}
	p, err := start(ctx, order{Role: "worker", Path: l.path, Seed: l.rng.Uint64(), Sessions: killSessions, From: from})
	if err != nil {
		return err
	}
	// Most are killed at work; some while they open or make the database.
	early := time.Duration(0)
	if l.rng.IntN(6) == 0 {
		early = time.Duration(l.rng.Int64N(int64(40 * time.Millisecond)))
		time.AfterFunc(early, func() { _ = p.Process.Kill() })
	}
	err = p.lines(func(line string) {
		if line == "ready\n" && early == 0 {
			time.AfterFunc(time.Duration(l.rng.Int64N(int64(150*time.Millisecond))), func() { _ = p.Process.Kill() })
		}
		l.want.Read(line)
	})
	killed := p.Wait()
	if err == nil && p.ProcessState.Exited() {
		err = fmt.Errorf("the process ended before it was killed: %w: %s", killed, p.errs.b)
	}
	if err != nil {
		return err
	}
	return l.want.Check(ctx, l.path)
}

// goesOn proves that compaction does: whatever those that were killed left
// behind does not stop the next one, nor make it wait.
func (l *life) goesOn(ctx context.Context) (err error) {
	db, err := sqlite.Open(ctx, l.path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	engine, err := lcm.New(db, lcm.WithBudget(smallBudget), lcm.WithoutBackground())
	if err != nil {
		return err
	}
	summaries := int64(0)
	for _, s := range killSessions {
		began := time.Now()
		r, err := engine.Session(s).Compact(ctx, lcm.CompactOptions{Budget: smallBudget, Full: true})
		if err != nil {
			return err
		}
		if r.Reason == "busy" || time.Since(began) > time.Minute {
			return fmt.Errorf("compaction of %s does not go on: %s after %v", s, r, time.Since(began))
		}
	}
	all, err := db.Conversations(ctx, store.ConversationQuery{})
	for _, c := range all {
		summaries += c.Summaries
	}
	if err == nil && l.want.Acknowledged() > 500 && summaries == 0 {
		err = errors.New("nothing was ever folded")
	}
	return err
}

// TestKills kills 28 processes, each on the record that the one before left.
func TestKills(t *testing.T) {
	t.Parallel()
	const lives, each = 2, 14
	for n := range lives {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			l := newLife(t.TempDir(), uint64(n))
			for range each {
				if err := l.kill(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if err := l.goesOn(t.Context()); err != nil {
				t.Error(err)
			}
			if err := l.want.Check(t.Context(), l.path); err != nil {
				t.Error(err)
			}
			if t.Logf("%d acknowledged", l.want.Acknowledged()); l.want.Acknowledged() < each {
				t.Errorf("only %d messages were acknowledged", l.want.Acknowledged())
			}
		})
	}
}
