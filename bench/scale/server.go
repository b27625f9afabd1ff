package scale

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/bench/harness"
	"github.com/lossless-context/lcm/internal/record/postgres"
	"github.com/lossless-context/lcm/internal/record/sqldb"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// ServerReport compares PostgreSQL with SQLite and with hand-written pgx.
type ServerReport struct {
	Machine harness.Machine `json:"machine"`
	Corpus  string          `json:"corpus"`
	Samples int             `json:"samples"`
	// Appends of one session and of many, each durable and of one message.
	One      Rates       `json:"oneSession"`
	Many     Rates       `json:"manySessions"`
	Sessions int         `json:"sessions"`
	Runs     []ServerRun `json:"runs"`
}

// Rates are appends a second, by the engine and by hand, and the median of their ratios
// in turns that followed each other.
type Rates struct {
	Engine float64 `json:"engine"`
	Hand   float64 `json:"hand"`
	Ratio  float64 `json:"ratio"`
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
	Index    float64 `json:"indexPerSecond"`
	Word     float64 `json:"wordP95Ms"`
	Question float64 `json:"questionP95Ms"`
	Regex    float64 `json:"regexP95Ms"`
	Context  float64 `json:"contextP50Ms"`
	Bytes    int64   `json:"bytes"`
}

// sessions is how many append at once. Each has a writer and a reader of the engine and
// a connection by hand, of the 100 that PostgreSQL has by default.
const sessions = 24

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
// Both write the same rows, and the server syncs both.
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
			hand, err := newPgxByHand(ctx, own, other)
			if err != nil {
				return err
			}
			defer hand.close(ctx)
			agents := make([]*lcm.Session, sessions)
			for n := range agents {
				agents[n] = engine.Session(key(n))
			}
			t := inTurns{
				engine: func(session, n int) error { return agents[session].Append(ctx, harness.Message(n)) },
				hand:   func(session int) error { return hand.append(ctx, session) },
				follow: func(sessions int) error { return hand.follow(ctx, sessions) },
			}
			o.Progress.Say("appends of one session and of %d", sessions)
			if r.One, err = t.run(1, o.Samples); err != nil {
				return err
			}
			if r.Many, err = t.run(sessions, max(turns, o.Samples/8)); err != nil {
				return err
			}
			byHand, err := postgres.Open(ctx, other, postgres.Options{DeferIndex: true})
			if err != nil {
				return err
			}
			defer byHand.Close()
			return hand.sameRows(ctx, db, byHand)
		})
	})
}

// inTurns has the appends that are timed in turns: first the engine's, then the same rows
// by hand.
type inTurns struct {
	engine  func(session, n int) error
	hand    func(session int) error
	follow  func(sessions int) error
	written int
}

// run appends so many messages to each session. The ratio is the median of the turns.
func (t *inTurns) run(sessions, samples int) (r Rates, err error) {
	each := max(1, samples/turns)
	var took [2]time.Duration
	var ratios []float64
	for turn := range turns + 1 { // the first one warms up
		from := t.written
		t.written += each
		engine, err := together(sessions, each, func(session, i int) error { return t.engine(session, from+i) })
		if err == nil {
			err = t.follow(sessions)
		}
		if err != nil {
			return r, err
		}
		hand, err := together(sessions, each, func(session, _ int) error { return t.hand(session) })
		if err != nil {
			return r, err
		}
		if turn > 0 {
			took[0], took[1] = took[0]+engine, took[1]+hand
			ratios = append(ratios, hand.Seconds()/engine.Seconds())
		}
	}
	slices.Sort(ratios)
	done := float64(sessions * each * turns)
	return Rates{done / took[0].Seconds(), done / took[1].Seconds(), ratios[len(ratios)/2]}, nil
}

// together calls fn for each session on a goroutine of its own, and returns how long all
// took.
func together(sessions, each int, fn func(session, i int) error) (time.Duration, error) {
	errs := make([]error, sessions)
	at := time.Now()
	var wg sync.WaitGroup
	for s := range sessions {
		wg.Go(func() {
			for i := range each {
				if errs[s] = fn(s, i); errs[s] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(at), errors.Join(errs...)
}

// backend is a store that is measured.
type backend interface {
	store.Store
	Reindex(context.Context) error
	SQL() sqldb.DB
}

// side is one of the two backends that are measured beside each other.
type side struct {
	backend
	to      *BackendFigures
	engine  *lcm.Engine
	session *lcm.Session
	took    time.Duration // of ingest
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
		sides := []*side{{backend: server, to: &run.Server}, {backend: file, to: &run.File}}
		for _, s := range sides {
			s.engine, err = lcm.New(s.backend, lcm.WithoutBackground(), lcm.WithBudget(o.Budget), lcm.WithSummariser(&instant{}),
				lcm.WithBounds(lcm.Bounds{MaxPasses: 1 << 20, MaxCalls: 1 << 30, Deadline: time.Hour}))
			if err != nil {
				return err
			}
			defer s.engine.Close(ctx)
			s.session = s.engine.Session(key(0))
		}
		// The server's autovacuum does this within a minute or so of a fill or a fold.
		settle := func(ctx context.Context, _ []*side, _ Options, _ int) error { return vacuum(ctx, own) }
		for _, step := range []func(context.Context, []*side, Options, int) error{fillBoth, settle, searchBoth, foldBoth, settle, contextBoth} {
			if err := step(ctx, sides, o, size); err != nil {
				return err
			}
		}
		for _, s := range sides {
			used, err := s.SQL().Size(ctx)
			if err != nil {
				return err
			}
			s.to.Bytes = max(used.Stored, used.Used)
		}
		return nil
	})
	return run, err
}

// fillBoth stores the messages, a batch here and a batch there, and indexes them.
func fillBoth(ctx context.Context, sides []*side, o Options, size int) error {
	for first := 0; first < size; first += batch {
		ms := make([]llms.Message, min(batch, size-first))
		for i := range ms {
			ms[i] = harness.Message(first + i)
		}
		for _, s := range sides {
			at := time.Now()
			if err := s.session.Append(ctx, ms...); err != nil {
				return err
			}
			s.took += time.Since(at)
		}
		if done := first + len(ms); done%(100*batch) == 0 {
			o.Progress.Say("%d of %d messages", done, size)
		}
	}
	for _, s := range sides {
		s.to.Ingest = float64(size) / s.took.Seconds()
		at := time.Now()
		if err := s.Reindex(ctx); err != nil {
			return err
		}
		s.to.Index = float64(size) / time.Since(at).Seconds()
	}
	return nil
}

// searchBoth times searches, one here and the same one there. Other searches of the same
// kinds warm both up.
func searchBoth(ctx context.Context, sides []*side, o Options, size int) error {
	b := &bench{Options: o, Run: Run{Messages: size}}
	for _, k := range b.kinds() {
		pick := map[string]func(*BackendFigures) *float64{
			"selective word":    func(f *BackendFigures) *float64 { return &f.Word },
			"six-word question": func(f *BackendFigures) *float64 { return &f.Question },
			selectiveRegex:      func(f *BackendFigures) *float64 { return &f.Regex },
		}[k.name]
		if pick == nil {
			continue
		}
		o.Progress.Say("%d messages: %s", size, k.name)
		times := make([][]time.Duration, len(sides))
		for seed, warm := range []bool{true, false} {
			rng := rand.New(rand.NewPCG(uint64(6+seed), uint64(len(k.name))))
			for range patterns {
				q := k.query(rng)
				q.Limit = 50
				for i, s := range sides {
					at := time.Now()
					if _, err := s.Search(ctx, q); err != nil {
						return err
					}
					if !warm {
						times[i] = append(times[i], time.Since(at))
					}
				}
			}
		}
		for i, s := range sides {
			*pick(s.to) = harness.Quantile(times[i], 0.95)
		}
	}
	return nil
}

// vacuum removes the dead rows of a schema and brings its statistics up to date.
func vacuum(ctx context.Context, address string) error {
	c, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	rows, _ := c.Query(ctx, "SELECT 'VACUUM (ANALYZE) ' || c.oid::regclass FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace")
	orders, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, order := range orders {
		if err == nil {
			_, err = c.Exec(ctx, order)
		}
	}
	return errors.Join(err, c.Close(ctx))
}

// foldBoth folds the conversation.
func foldBoth(ctx context.Context, sides []*side, o Options, size int) error {
	for _, s := range sides {
		o.Progress.Say("%d messages: folding", size)
		if _, err := s.session.Compact(ctx, lcm.CompactOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// contextBoth times contexts of fresh sessions.
func contextBoth(ctx context.Context, sides []*side, o Options, _ int) error {
	times := make([][]time.Duration, len(sides))
	for range o.Samples {
		for i, s := range sides {
			at := time.Now()
			if _, err := s.engine.Session(key(0)).Context(ctx, o.Budget); err != nil {
				return err
			}
			times[i] = append(times[i], time.Since(at))
		}
	}
	for i, s := range sides {
		s.to.Context = harness.Quantile(times[i], 0.5)
	}
	return nil
}

// Checks sets the figures of the largest run beside their targets.
func (r ServerReport) Checks() []harness.Check {
	checks := []harness.Check{
		harness.AtLeast("durable appends, by pgx by hand", r.One.Ratio, 0.7),
		harness.AtLeast(fmt.Sprintf("gain of %d sessions, by that of pgx", r.Sessions), r.Many.Ratio/r.One.Ratio, 0.8),
	}
	last := r.Runs[len(r.Runs)-1]
	compare := func(what string, target float64, pick func(BackendFigures) float64) {
		checks = append(checks, harness.AtMost(fmt.Sprintf("%s at %d, by SQLite's", what, last.Messages), pick(last.Server)/pick(last.File), target))
	}
	compare("selective word p95", 3, func(f BackendFigures) float64 { return f.Word })
	compare("six-word question p95", 3, func(f BackendFigures) float64 { return f.Question })
	compare("selective regex p95", 3, func(f BackendFigures) float64 { return f.Regex })
	compare("context p50", 3, func(f BackendFigures) float64 { return f.Context })
	compare("bytes on disk", 1.5, func(f BackendFigures) float64 { return float64(f.Bytes) })
	if first := r.Runs[0]; len(r.Runs) > 1 {
		checks = append(checks, harness.AtMost(fmt.Sprintf("growth of the context p50 from %d to %d", first.Messages, last.Messages), last.Server.Context/first.Server.Context, 2))
	}
	return checks
}

// Text renders the report for people.
func (r ServerReport) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d cores, %s, load %s, corpus %s\n\n", r.Machine.Platform, r.Machine.Cores, r.Machine.Go, r.Machine.Load, r.Corpus)
	fmt.Fprintf(&b, "durable appends a second: one session %.0f (by hand %.0f), %d sessions %.0f (by hand %.0f)\n\n", r.One.Engine, r.One.Hand, r.Sessions, r.Many.Engine, r.Many.Hand)
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
	line("indexing, messages/s", func(f BackendFigures) string { return fmt.Sprintf("%.0f", f.Index) })
	line("selective word p95, ms", func(f BackendFigures) string { return fmt.Sprintf("%.1f", f.Word) })
	line("six-word question p95, ms", func(f BackendFigures) string { return fmt.Sprintf("%.1f", f.Question) })
	line("selective regex p95, ms", func(f BackendFigures) string { return fmt.Sprintf("%.1f", f.Regex) })
	line("context p50, ms", func(f BackendFigures) string { return fmt.Sprintf("%.2f", f.Context) })
	line("database, MB", func(f BackendFigures) string { return fmt.Sprintf("%.1f", float64(f.Bytes)/1e6) })
	_ = w.Flush() // a strings.Builder takes everything
	b.WriteByte('\n')
	harness.WriteChecks(&b, r.Checks(), 48)
	return b.String()
}
