package scale

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/bench/harness"
	"github.com/lossless-context/lcm/internal/compact"
	"github.com/lossless-context/lcm/internal/postgres"
	"github.com/lossless-context/lcm/internal/sqldb"
	"github.com/lossless-context/lcm/internal/sqlite"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/llms"
)

// ServerReport compares PostgreSQL with SQLite and with hand-written pgx.
type ServerReport struct {
	Machine harness.Machine `json:"machine"`
	Corpus  string          `json:"corpus"`
	Samples int             `json:"samples"`
	// Appends a second of one session and of many, by the engine and by hand, each
	// durable and of one message.
	Engine1  float64     `json:"engineOneSession"`
	Hand1    float64     `json:"handOneSession"`
	EngineN  float64     `json:"engineSessions"`
	HandN    float64     `json:"handSessions"`
	Sessions int         `json:"sessions"`
	Runs     []ServerRun `json:"runs"`
}

// ServerRun has the figures of one size, of PostgreSQL and of SQLite.
type ServerRun struct {
	Messages int            `json:"messages"`
	Server   BackendFigures `json:"postgres"`
	File     BackendFigures `json:"sqlite"`
}

// BackendFigures are p95 of searches and p50 of a context in milliseconds, and the size.
type BackendFigures struct {
	Ingest   float64 `json:"ingestPerSecond"`
	Word     float64 `json:"wordP95Ms"`
	Question float64 `json:"questionP95Ms"`
	Regex    float64 `json:"regexP95Ms"`
	Context  float64 `json:"contextP50Ms"`
	Bytes    int64   `json:"bytes"`
}

// sessions is how many append at once.
const sessions = 64

// MeasureServer measures a PostgreSQL database. It works in schemas of its own, which it
// removes.
func MeasureServer(ctx context.Context, address string, o Options) (ServerReport, error) {
	if err := o.fill(); err != nil {
		return ServerReport{}, err
	}
	r := ServerReport{Corpus: harness.Digest(), Samples: o.Samples, Sessions: sessions}
	var err error
	if r.Machine, err = harness.ThisMachine(); err != nil {
		return r, err
	}
	if err := r.appends(ctx, address, o); err != nil {
		return r, fmt.Errorf("scale: appends: %w", err)
	}
	for _, size := range o.Sizes {
		o.Progress.Say("%d messages", size)
		run, err := measureBoth(ctx, address, o, size)
		if err != nil {
			return r, fmt.Errorf("scale: %d messages: %w", size, err)
		}
		r.Runs = append(r.Runs, run)
	}
	return r, nil
}

// inSchema calls fn with the address of a new schema, and removes it.
func inSchema(ctx context.Context, address string, fn func(address string) error) (err error) {
	name := fmt.Sprintf("lcm_bench_%d_%d", os.Getpid(), rand.Int32())
	c, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer func() {
		_, dropped := c.Exec(context.WithoutCancel(ctx), "DROP SCHEMA IF EXISTS "+name+" CASCADE")
		err = errors.Join(err, dropped, c.Close(context.WithoutCancel(ctx)))
	}()
	if _, err := c.Exec(ctx, "CREATE SCHEMA "+name); err != nil {
		return err
	}
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	q := u.Query()
	q.Set("search_path", name)
	u.RawQuery = q.Encode()
	return fn(u.String())
}

// appends times durable appends of single messages, by the engine and by hand in turns.
func (r *ServerReport) appends(ctx context.Context, address string, o Options) error {
	return inSchema(ctx, address, func(own string) error {
		return inSchema(ctx, address, func(other string) error {
			db, err := postgres.Open(ctx, own, postgres.Options{MaxWriters: sessions, MaxReaders: sessions, DeferIndex: true})
			if err != nil {
				return err
			}
			defer db.Close()
			engine, err := lcm.New(db, lcm.WithoutBackground())
			if err != nil {
				return err
			}
			defer engine.Close(ctx)
			hand, err := newPgxByHand(ctx, other)
			if err != nil {
				return err
			}
			defer hand.close(ctx)
			byHand := func(session, n int) error { return hand.append(ctx, session, n) }
			byEngine := func(session, n int) error {
				return engine.Session(key(session)).Append(ctx, harness.Message(n))
			}
			o.Progress.Say("appends of one session and of %d", sessions)
			if r.Engine1, r.Hand1, err = inTurns(1, o.Samples, byEngine, byHand); err != nil {
				return err
			}
			r.EngineN, r.HandN, err = inTurns(sessions, o.Samples, byEngine, byHand)
			return err
		})
	})
}

// inTurns runs two kinds of appends in turns, and returns how many each did in a second.
func inTurns(sessions, samples int, a, b func(session, n int) error) (perA, perB float64, err error) {
	const turns = 4
	var took [2]time.Duration
	each := max(1, samples/turns)
	for turn := range turns + 1 { // the first one warms up
		for i, fn := range []func(session, n int) error{a, b} {
			errs := make([]error, sessions)
			at := time.Now()
			var wg sync.WaitGroup
			for s := range sessions {
				wg.Go(func() {
					for n := range each {
						if err := fn(s, turn*each+n); err != nil {
							errs[s] = err
							return
						}
					}
				})
			}
			wg.Wait()
			if turn > 0 {
				took[i] += time.Since(at)
			}
			if err := errors.Join(errs...); err != nil {
				return 0, 0, err
			}
		}
	}
	done := float64(sessions * each * turns)
	return done / took[0].Seconds(), done / took[1].Seconds(), nil
}

// backend is a store that is measured.
type backend interface {
	store.Store
	Reindex(context.Context) error
	SQL() sqldb.DB
}

func measureBoth(ctx context.Context, address string, o Options, size int) (run ServerRun, err error) {
	run.Messages = size
	dir, err := os.MkdirTemp(o.Dir, "lcm-bench-*")
	if err != nil {
		return run, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	err = inSchema(ctx, address, func(own string) error {
		server, err := postgres.Open(ctx, own, postgres.Options{DeferIndex: true})
		if err != nil {
			return err
		}
		defer server.Close()
		file, err := sqlite.Open(ctx, filepath.Join(dir, "lcm.db"), sqlite.Options{DeferIndex: true})
		if err != nil {
			return err
		}
		defer file.Close()
		for _, b := range []struct {
			backend
			to *BackendFigures
		}{{server, &run.Server}, {file, &run.File}} {
			if err := measureBackend(ctx, b.backend, o, size, b.to); err != nil {
				return err
			}
		}
		return nil
	})
	return run, err
}

func measureBackend(ctx context.Context, db backend, o Options, size int, to *BackendFigures) error {
	var summariser instant
	engine, err := lcm.New(db, lcm.WithoutBackground(), lcm.WithBudget(o.Budget), lcm.WithSummariser(&summariser),
		lcm.WithBounds(compact.Bounds{MaxPasses: 1 << 20, MaxCalls: 1 << 30, Deadline: time.Hour}))
	if err != nil {
		return err
	}
	defer engine.Close(ctx)
	session := engine.Session(key(0))
	at := time.Now()
	for first := 0; first < size; first += batch {
		ms := make([]llms.Message, min(batch, size-first))
		for i := range ms {
			ms[i] = harness.Message(first + i)
		}
		if err := session.Append(ctx, ms...); err != nil {
			return err
		}
	}
	to.Ingest = float64(size) / time.Since(at).Seconds()
	if err := db.Reindex(ctx); err != nil {
		return err
	}
	b := &bench{Options: o, Run: Run{Messages: size}}
	for _, k := range b.kinds() {
		var p95 *float64
		switch k.name {
		case "selective word":
			p95 = &to.Word
		case "six-word question":
			p95 = &to.Question
		case selectiveRegex:
			p95 = &to.Regex
		default:
			continue
		}
		rng := rand.New(rand.NewPCG(7, uint64(len(k.name))))
		var times []time.Duration
		for range patterns {
			q := k.query(rng)
			q.Limit = 50
			at := time.Now()
			if _, err := db.Search(ctx, q); err != nil {
				return err
			}
			times = append(times, time.Since(at))
		}
		*p95 = harness.Quantile(times, 0.95)
	}
	if _, err := session.Compact(ctx, lcm.CompactOptions{}); err != nil {
		return err
	}
	var contexts []time.Duration
	for range o.Samples {
		at := time.Now()
		if _, err := engine.Session(key(0)).Context(ctx, o.Budget); err != nil {
			return err
		}
		contexts = append(contexts, time.Since(at))
	}
	to.Context = harness.Quantile(contexts, 0.5)
	used, err := db.SQL().Size(ctx)
	to.Bytes = max(used.Stored, used.Used)
	return err
}

// Checks sets the worst of the runs beside each target.
func (r ServerReport) Checks() []harness.Check {
	checks := []harness.Check{
		harness.AtLeast("durable appends, by pgx by hand", r.Engine1/r.Hand1, 0.7),
		harness.AtLeast(fmt.Sprintf("gain of %d sessions, by that of pgx", r.Sessions), (r.EngineN/r.Engine1)/(r.HandN/r.Hand1), 0.8),
	}
	worst := func(what string, target float64, pick func(BackendFigures) float64) {
		ratio := 0.0
		for _, run := range r.Runs {
			ratio = max(ratio, pick(run.Server)/pick(run.File))
		}
		checks = append(checks, harness.AtMost(what+", by SQLite's", ratio, target))
	}
	worst("selective word p95", 3, func(f BackendFigures) float64 { return f.Word })
	worst("six-word question p95", 3, func(f BackendFigures) float64 { return f.Question })
	worst("selective regex p95", 3, func(f BackendFigures) float64 { return f.Regex })
	worst("context p50", 3, func(f BackendFigures) float64 { return f.Context })
	worst("bytes on disk", 1.5, func(f BackendFigures) float64 { return float64(f.Bytes) })
	if n := len(r.Runs); n > 1 {
		first, last := r.Runs[0].Server, r.Runs[n-1].Server
		checks = append(checks, harness.AtMost(fmt.Sprintf("growth of the context p50 from %d to %d", r.Runs[0].Messages, r.Runs[n-1].Messages), last.Context/first.Context, 2))
	}
	return checks
}

// Text renders the report for people.
func (r ServerReport) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d cores, %s, load %s, corpus %s\n\n", r.Machine.Platform, r.Machine.Cores, r.Machine.Go, r.Machine.Load, r.Corpus)
	fmt.Fprintf(&b, "durable appends a second: one session %.0f (by hand %.0f), %d sessions %.0f (by hand %.0f)\n\n", r.Engine1, r.Hand1, r.Sessions, r.EngineN, r.HandN)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(name string, cell func(BackendFigures) string) {
		fmt.Fprintf(w, "%-26s\t", name)
		for _, run := range r.Runs {
			fmt.Fprintf(w, "%s\t%s\t", cell(run.Server), cell(run.File))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%-26s\t", "messages")
	for _, run := range r.Runs {
		fmt.Fprintf(w, "%d\tSQLite\t", run.Messages)
	}
	fmt.Fprintln(w)
	line("batch ingest, messages/s", func(f BackendFigures) string { return fmt.Sprintf("%.0f", f.Ingest) })
	line("selective word p95, ms", func(f BackendFigures) string { return fmt.Sprintf("%.1f", f.Word) })
	line("six-word question p95, ms", func(f BackendFigures) string { return fmt.Sprintf("%.1f", f.Question) })
	line("selective regex p95, ms", func(f BackendFigures) string { return fmt.Sprintf("%.1f", f.Regex) })
	line("context p50, ms", func(f BackendFigures) string { return fmt.Sprintf("%.2f", f.Context) })
	line("database, MB", func(f BackendFigures) string { return fmt.Sprintf("%.1f", float64(f.Bytes)/1e6) })
	_ = w.Flush() // a strings.Builder takes everything
	b.WriteByte('\n')
	harness.WriteChecks(&b, r.Checks(), 44)
	return b.String()
}
