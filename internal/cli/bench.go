package cli

import (
	"cmp"
	"context"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/bench/answer"
	"github.com/lossless-context/lcm/internal/bench/harness"
	"github.com/lossless-context/lcm/internal/bench/hooks"
	"github.com/lossless-context/lcm/internal/bench/imports"
	"github.com/lossless-context/lcm/internal/bench/needle"
	"github.com/lossless-context/lcm/internal/bench/pages"
	"github.com/lossless-context/lcm/internal/bench/patterns"
	evidence "github.com/lossless-context/lcm/internal/bench/recall"
	"github.com/lossless-context/lcm/internal/bench/retention"
	"github.com/lossless-context/lcm/internal/bench/scale"
	"github.com/lossless-context/lcm/internal/bench/soak"
	"github.com/lossless-context/lcm/internal/fromconfig"
	"github.com/lossless-context/lcm/internal/postgres"
	"github.com/lossless-context/lcm/internal/prose"
	"github.com/lossless-context/lcm/internal/sample"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/internal/summary"
	"github.com/lossless-context/lcm/llms"
)

func newBench(p *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure what summaries keep, what search finds, and how it scales",
		Args:  usage(cobra.NoArgs),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newBenchRetention(p), newBenchScale(p), newBenchRecall(p), newBenchNeedle(p), newBenchAnswer(p), newBenchSoak(p), newBenchHook(p), newBenchImport(p),
		newBenchPatterns(p), newBenchCache(p), newBenchProxy(p), newBenchUI(p))
	return c
}

// measured is the outcome of a benchmark.
type measured struct {
	text   string
	json   any
	missed error // set if a target was missed
}

// report is the report of a benchmark, and its own JSON.
type report interface{ Text() string }

// reported returns the outcome of a benchmark, with its checks if it has some.
func reported(r report, err error) (measured, error) {
	if err != nil {
		return measured{}, err
	}
	m := measured{text: r.Text(), json: r}
	if c, ok := r.(interface{ Checks() []harness.Check }); ok {
		m.json = map[string]any{"report": r, "checks": c.Checks()}
	}
	return m, nil
}

// withDir measures in the directory that a flag names, or else in a temporary one.
func withDir(dir *string, measure func() (measured, error)) (m measured, err error) {
	if *dir == "" {
		if *dir, err = os.MkdirTemp("", "lcm-bench-*"); err != nil {
			return m, err
		}
		defer os.RemoveAll(*dir)
	}
	return measure()
}

// benchmark makes c a command that measures under a progress bar.
func (p *program) benchmark(label string, c *cobra.Command, measure func(context.Context, *bar) (measured, error)) *cobra.Command {
	c.Args = usage(cobra.NoArgs)
	c.RunE = func(c *cobra.Command, _ []string) error {
		bar := p.newBar(label)
		m, err := measure(c.Context(), bar)
		bar.clear()
		if err != nil {
			return err
		}
		return cmp.Or(p.result(m.json, "%s", m.text), m.missed)
	}
	return p.jsonFlag(c)
}

// benchDir adds the flag for the directory of a benchmark's databases.
func benchDir(c *cobra.Command, dir *string, what string) *cobra.Command {
	c.Flags().StringVar(dir, "dir", "", "directory for "+what+" (default: a temporary one)")
	return c
}

func newBenchRetention(p *program) *cobra.Command {
	var ch choice
	c := p.benchmark("measuring", &cobra.Command{
		Use:   "retention",
		Short: "Count the identifiers that survive summarising",
	}, func(ctx context.Context, _ *bar) (measured, error) {
		sources, err := benchSources(ctx, p, ch)
		if err != nil {
			return measured{}, err
		}
		return reported(retention.Measure(ctx, sources, retention.Options{}))
	})
	ch.flag(c)
	c.Flags().Lookup("conversation").Usage = "conversation number (default: the bundled session)"
	return c
}

// benchSources returns the messages of a conversation, or of the bundled session.
func benchSources(ctx context.Context, p *program, ch choice) ([]summary.Source, error) {
	var sources []summary.Source
	if ch.number == 0 {
		for i, m := range sample.Messages() {
			sources = append(sources, sourceOf(store.MessageID(i+1), int64(i+1), m, llms.Estimate))
		}
		return sources, nil
	}
	err := p.use(ctx, toRead, func(rec *openRecord) error {
		c, err := rec.pick(ctx, ch)
		if err != nil {
			return err
		}
		for m, err := range rec.db.Messages(ctx, store.MessageQuery{Conversation: c.ID}) {
			if err != nil {
				return err
			}
			if m.Flags&(store.FlagEcho|store.FlagHidden) == 0 {
				sources = append(sources, sourceOf(m.ID, m.Seq, m.Body, rec.counter))
			}
		}
		return nil
	})
	return sources, err
}

func sourceOf(id store.MessageID, seq int64, m llms.Message, counter llms.Counter) summary.Source {
	return summary.Source{
		ID: id.String(), Role: m.Role, Time: m.Time, Seq: seq, Text: m.Render(), Tokens: llms.CountMessage(counter, m),
		Tool: m.Role == llms.RoleTool || len(m.ToolResults()) > 0,
	}
}

func newBenchScale(p *program) *cobra.Command {
	var o scale.Options
	c := p.benchmark("measuring", &cobra.Command{
		Use:   "scale",
		Short: "Time storing, appending, folding and contexts as the record grows",
	}, func(ctx context.Context, b *bar) (measured, error) {
		o.Progress = b.set
		if postgres.IsURL(p.database) {
			return reported(scale.MeasureServer(ctx, p.database, o))
		}
		if p.database != "" {
			return measured{}, failed(exitUsage, "leave --db out: the databases are made in a temporary directory", "`lcm bench scale` measures no database file")
		}
		return reported(scale.Measure(ctx, o))
	})
	c.Flags().IntSliceVar(&o.Sizes, "sizes", []int{1_000, 10_000, 100_000}, "numbers of messages")
	c.Flags().IntSliceVar(&o.Spreads, "spread", []int{1, 1_000}, "numbers of conversations they are spread over")
	c.Flags().IntVar(&o.Budget, "budget", 128_000, "size of the context window in tokens")
	c.Flags().IntVar(&o.Samples, "samples", 200, "how often appends and contexts are timed")
	c.Flags().IntVar(&o.Expressions, "expressions", 100, "how many are compared with a loop over all texts, -1 for none")
	return benchDir(c, &o.Dir, "the databases")
}

func newBenchSoak(p *program) *cobra.Command {
	var o soak.Options
	c := p.benchmark("soaking", &cobra.Command{
		Use:   "soak",
		Short: "Append, search and fold for an hour and watch memory and latency",
	}, func(ctx context.Context, b *bar) (measured, error) {
		o.Progress = b.set
		return reported(soak.Measure(ctx, o))
	})
	c.Flags().DurationVar(&o.Duration, "duration", time.Hour, "how long it lasts")
	c.Flags().Float64Var(&o.Rate, "rate", 50, "appends a second")
	c.Flags().Float64Var(&o.Searches, "searches", 2, "searches a second")
	c.Flags().Float64Var(&o.Contexts, "contexts", 1, "contexts a second")
	c.Flags().IntVar(&o.Sessions, "sessions", 4, "number of sessions the appends are spread over")
	c.Flags().IntVar(&o.Budget, "budget", 16_000, "size of each session's context window in tokens")
	return benchDir(c, &o.Dir, "the database")
}

func newBenchNeedle(p *program) *cobra.Command {
	var o needle.Options
	c := p.benchmark("hiding and seeking", &cobra.Command{
		Use:   "needle",
		Short: "Hide facts in long conversations and find them by their key",
	}, func(ctx context.Context, b *bar) (measured, error) {
		if len(o.Sizes) == 0 || slices.Min(o.Sizes) < 1 {
			return measured{}, failed(exitUsage, "for example --sizes 32000,1000000", "a haystack has at least one token")
		}
		o.Progress = b.set
		r, err := needle.Measure(ctx, o)
		if err != nil {
			return measured{}, err
		}
		missed := len(r.Missed())
		m := measured{text: r.Text(), json: map[string]any{"report": r, "figures": r.Figures(func(needle.Find) bool { return true }), "missed": missed}}
		if missed > 0 {
			m.missed = failed(exitFailure, "the report names them", "%s did not come first", prose.Count(missed, "needle", "needles"))
		}
		return m, nil
	})
	c.Flags().IntSliceVar(&o.Sizes, "sizes", needle.DefaultSizes, "sizes of the conversations in tokens")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "seed of the made-up content")
	return benchDir(c, &o.Dir, "the databases")
}

func newBenchImport(p *program) *cobra.Command {
	var o imports.Options
	var megabytes int64
	c := p.benchmark("measuring", &cobra.Command{
		Use:   "import",
		Short: "Time the import of transcripts, once and again",
	}, func(ctx context.Context, b *bar) (measured, error) {
		if megabytes < 1 {
			return measured{}, failed(exitUsage, "for example --size 100", "there is nothing to import in %d MB", megabytes)
		}
		o.Bytes = megabytes * 1_000_000
		o.Progress = b.set
		r, err := imports.Measure(ctx, o)
		if err != nil {
			return measured{}, err
		}
		m := measured{text: r.Text(), json: map[string]any{"report": r, "met": r.Met()}}
		if !r.Met() {
			m.missed = failed(exitFailure, "see how busy the machine is", "a target was missed")
		}
		return m, nil
	})
	c.Flags().Int64Var(&megabytes, "size", 100, "size of the transcripts in MB")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "seed of the made-up content")
	return benchDir(c, &o.Dir, "the files")
}

func newBenchHook(p *program) *cobra.Command {
	var o hooks.Options
	c := p.benchmark("measuring", &cobra.Command{
		Use:   "hook",
		Short: "Time what hosts wait for",
	}, func(ctx context.Context, b *bar) (m measured, err error) {
		if o.Messages < 0 || o.Runs < 1 {
			return m, failed(exitUsage, "", "--messages and --runs must be positive")
		}
		if o.Binary, err = os.Executable(); err != nil {
			return m, err
		}
		o.Progress = b.set
		return withDir(&o.Dir, func() (measured, error) { return reported(hooks.Measure(ctx, o)) })
	})
	c.Flags().IntVar(&o.Messages, "messages", 100_000, "number of messages in the database")
	c.Flags().IntVar(&o.Runs, "runs", 200, "how often each command is timed")
	return benchDir(c, &o.Dir, "the database, which is kept")
}

func newBenchUI(p *program) *cobra.Command {
	var o pages.Options
	c := p.benchmark("measuring", &cobra.Command{
		Use:   "ui",
		Short: "Time the pages of lcm ui on one long session",
	}, func(ctx context.Context, b *bar) (m measured, err error) {
		if o.Messages < 1 || o.Runs < 1 {
			return m, failed(exitUsage, "", "--messages and --runs must be positive")
		}
		o.Progress = b.set
		return reported(pages.Measure(ctx, o))
	})
	c.Flags().IntVar(&o.Messages, "messages", 100_000, "number of messages in the session")
	c.Flags().IntVar(&o.Runs, "runs", 100, "how often each page is asked for")
	return benchDir(c, &o.Dir, "the database, which is kept and used again")
}

func newBenchRecall(p *program) *cobra.Command {
	var path string
	var typos, ablate bool
	c := p.benchmark("measuring", &cobra.Command{
		Use:   "recall",
		Short: "Count how much of the evidence a question's search finds",
	}, func(ctx context.Context, _ *bar) (measured, error) {
		data, err := evidence.Bundled()
		if path != "" {
			data, err = evidence.Load(path)
		}
		if err != nil {
			return measured{}, failed(exitFailure, "`go doc github.com/lossless-context/lcm/internal/bench/recall` describes the formats", "%w", err)
		}
		if typos {
			data = data.WithTypos()
		}
		if ablate {
			return reported(evidence.Ablate(ctx, data))
		}
		cfg, err := p.settings()
		if err != nil {
			return measured{}, err
		}
		return reported(evidence.Measure(ctx, data, func(state store.State) llms.Embedder { return fromconfig.Embedder(cfg, state) }))
	})
	c.Flags().StringVar(&path, "data", "", "data set (default: the bundled one)")
	c.Flags().BoolVar(&typos, "typos", false, "put one typing mistake into each question")
	c.Flags().BoolVar(&ablate, "ablate", false, "measure the ranking without each of its parts")
	return c
}

// identifierBounds are the values of maxTokens that identifiers are measured with.
var identifierBounds = []int{250, 500, 2000, 16_000}

func newBenchAnswer(p *program) *cobra.Command {
	var o answer.Options
	var path string
	var identifiers bool
	c := p.benchmark("asking", &cobra.Command{
		Use:   "answer",
		Short: "Measure how much evidence an answer without a model holds",
	}, func(ctx context.Context, b *bar) (measured, error) {
		o.Progress = b.set
		switch {
		case identifiers:
			return reported(answer.Identifiers(ctx, o, identifierBounds...))
		case path == "":
			return reported(answer.Bundled(ctx, o))
		}
		d, err := evidence.Load(path)
		if err != nil {
			return measured{}, failed(exitNotFound, "--data takes LoCoMo's JSON or lcm's own evidence format", "%w", err)
		}
		return reported(answer.Dataset(ctx, d, o))
	})
	c.Flags().StringVar(&path, "data", "", "dataset (default: the bundled questions)")
	c.Flags().BoolVar(&identifiers, "identifiers", false, "ask for identifiers with prompts about something else")
	c.Flags().IntVar(&o.MaxTokens, "max-tokens", 2000, "length of the answers")
	benchDir(c, &o.Dir, "the database")
	c.MarkFlagsMutuallyExclusive("identifiers", "data")
	c.MarkFlagsMutuallyExclusive("identifiers", "max-tokens")
	return c
}

func newBenchPatterns(p *program) *cobra.Command {
	var o patterns.Options
	var words bool
	c := p.benchmark("measuring", &cobra.Command{
		Use:   "patterns",
		Short: "Time regular expressions beside ripgrep over the same bytes",
	}, func(ctx context.Context, b *bar) (m measured, err error) {
		if o.Messages < 1 || o.Runs < 1 {
			return m, failed(exitUsage, "", "--messages and --runs must be positive")
		}
		o.Progress = b.set
		return withDir(&o.Dir, func() (measured, error) {
			if words {
				return reported(patterns.MeasureWords(ctx, o))
			}
			return reported(patterns.Measure(ctx, o))
		})
	})
	c.Flags().IntVar(&o.Messages, "messages", 200_000, "number of messages in the database")
	c.Flags().IntVar(&o.Runs, "runs", 3, "how often each pattern is searched for; the fastest counts")
	c.Flags().BoolVar(&o.PageOnly, "page-only", false, "leave out the complete counts")
	c.Flags().BoolVar(&words, "words", false, "time ranked searches beside FTS5, not patterns")
	c.Flags().StringSliceVar(&o.Sources, "sources", nil, "directories with text files (default: of the Go distribution)")
	return benchDir(c, &o.Dir, "the database, which is kept")
}
