package faulttest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/compact"
	"github.com/lossless-context/lcm/llms"
)

// The roles of processes that share a file. Each says "took N" for every
// append, in microseconds, "did N" for every other thing, and "ack ID…".

// sharedBudget is such that the shared session is folded all the time.
const sharedBudget = smallBudget

func openShared(ctx context.Context, o order, options ...lcm.Option) (*sqlite.DB, *lcm.Engine, error) {
	db, err := sqlite.Open(ctx, o.Path, sqlite.Options{})
	if err != nil {
		return nil, nil, err
	}
	options = append(options, lcm.WithBudget(sharedBudget), lcm.WithLargeContent(smallPayload))
	engine, err := lcm.New(db, options...)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, engine, nil
}

// paced calls do at the order's rate until its time is up.
func (o order) paced(do func(n int) error) error {
	begun := time.Now()
	for n := 0; time.Since(begun) < o.For; n++ {
		if o.Rate > 0 {
			time.Sleep(time.Until(begun.Add(time.Duration(float64(n) / o.Rate * float64(time.Second)))))
		}
		if err := do(n); err != nil {
			return err
		}
	}
	return nil
}

// appendOne appends a message of its own session, or of the one that all
// share, and says how long that took.
func appendOne(ctx context.Context, s *lcm.Session, ids ...string) error {
	var ms []llms.Message
	line := "ack"
	for _, id := range ids {
		m, err := message(id)
		if err != nil {
			return err
		}
		ms = append(ms, m)
		line += " " + id
	}
	start := time.Now()
	if err := s.Append(ctx, ms...); err != nil {
		return err
	}
	_, err := fmt.Fprintf(os.Stdout, "took %d\n%s\n", time.Since(start).Microseconds(), line)
	return err
}

// beHook appends as a host's hook does: most of it to a session of its own,
// some to one that all share, and leaves folding to others.
func beHook(ctx context.Context, o order) error {
	db, engine, err := openShared(ctx, o, lcm.WithoutBackground())
	if err != nil {
		return err
	}
	own, shared := engine.Session(o.Sessions[0]), engine.Session("shared")
	err = o.paced(func(n int) error {
		id := messageID(o.Sessions[0], o.From[o.Sessions[0]]+n)
		if n%4 == 0 {
			return appendOne(ctx, shared, id)
		}
		return appendOne(ctx, own, id)
	})
	return errors.Join(err, engine.Close(ctx), db.Close())
}

// beServer is an MCP server: it searches, reads contexts, and stores new messages.
func beServer(ctx context.Context, o order) error {
	db, engine, err := openShared(ctx, o)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(o.Seed, 9))
	own := engine.Session(o.Sessions[0])
	err = o.paced(func(n int) error {
		if err := appendOne(ctx, own, messageID(o.Sessions[0], o.From[o.Sessions[0]]+n)); err != nil || n%10 != 0 {
			return err
		}
		start := time.Now()
		s := store.Search{Mode: store.FullText, Pattern: vocabulary[rng.IntN(len(vocabulary))] + " queue", Sort: store.ByRelevance, Limit: 10, CountTo: 100}
		if rng.IntN(2) == 0 {
			s.Mode, s.Pattern, s.Sort = store.Regex, `app\d+/x\.go:7`, store.ByRecency
		}
		if _, err := db.Search(ctx, s); err != nil {
			return err
		}
		if _, err := own.Context(ctx, sharedBudget); tolerate(err) != nil {
			return err
		}
		fmt.Printf("did %d\n", time.Since(start).Microseconds())
		return nil
	})
	return errors.Join(err, engine.Close(ctx), db.Close())
}

// beImporter stores in batches.
func beImporter(ctx context.Context, o order) error {
	db, engine, err := openShared(ctx, o, lcm.WithoutBackground())
	if err != nil {
		return err
	}
	own, next := engine.Session(o.Sessions[0]), o.From[o.Sessions[0]]
	if o.Rate > 0 {
		o.Rate /= 10
	}
	err = o.paced(func(int) error {
		var ids []string
		for range 10 {
			ids = append(ids, messageID(o.Sessions[0], next))
			next++
		}
		return appendOne(ctx, own, ids...)
	})
	return errors.Join(err, engine.Close(ctx), db.Close())
}

// beKeeper appends and has the shared session folded after each append, as
// every process with an engine does. It says how often it folded and how often
// another process was at it.
func beKeeper(ctx context.Context, o order) error {
	db, engine, err := openShared(ctx, o, lcm.WithoutBackground())
	if err != nil {
		return err
	}
	runner, err := compact.NewRunner(compact.Config{Store: db, State: db, Owner: o.Sessions[0]})
	if err != nil {
		return err
	}
	own, shared := engine.Session(o.Sessions[0]), engine.Session("shared")
	folds, busy, paused := 0, 0, 0
	err = o.paced(func(n int) error {
		if err := appendOne(ctx, own, messageID(o.Sessions[0], o.From[o.Sessions[0]]+n)); err != nil {
			return err
		}
		c, err := shared.Conversation(ctx)
		if err != nil {
			return err
		}
		r, err := runner.Run(ctx, c.ID, compact.Limits{Budget: sharedBudget}, compact.Soft)
		folds += r.Folds()
		switch r.Reason {
		case compact.Busy:
			busy++
		case compact.Pause:
			paused++
		}
		if r.Stale > 0 {
			fmt.Printf("stale %d\n", r.Stale)
		}
		return err
	})
	fmt.Printf("folded %d\nbusy %d\npaused %d\n", folds, busy, paused)
	return errors.Join(err, engine.Close(ctx), db.Close())
}
