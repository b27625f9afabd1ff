package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/bench/harness"
	"github.com/lossless-context/lcm/internal/bench/retention"
	"github.com/lossless-context/lcm/internal/bench/scale"
	"github.com/lossless-context/lcm/internal/sample"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/internal/summary"
	"github.com/lossless-context/lcm/llms"
)

func newBench(p *program) *cobra.Command {
	c := &cobra.Command{
		Use:     "bench",
		Short:   "Measure what summaries keep, what search finds, and how it scales",
		Example: "lcm bench retention\nlcm bench recall\nlcm bench needle\nlcm bench scale --sizes 1000,10000",
		Args:    usage(cobra.NoArgs),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newBenchRetention(p), newBenchScale(p), newBenchRecall(p), newBenchNeedle(p), newBenchAnswer(p), newBenchSoak(p), newBenchHook(p), newBenchImport(p))
	return c
}

// measured runs a benchmark under a progress bar and prints its report as text
// or as JSON.
func (p *program) measured(label string, run func(harness.Progress) (text string, data any, err error)) error {
	bar := p.newBar(label)
	text, data, err := run(bar.set)
	bar.clear()
	if err != nil {
		return err
	}
	if p.json {
		return p.printJSON(data)
	}
	p.printf("%s", text)
	return nil
}

func newBenchRetention(p *program) *cobra.Command {
	var ch choice
	c := &cobra.Command{
		Use:   "retention",
		Short: "Count the identifiers that survive summarising",
		Long: `Fold the bundled session, or with --conversation one of yours, three depths deep
with the extractive summariser, and count how many identifiers (paths, URLs,
versions, hashes, numbers, symbols) are still there word for word, beside
truncation to the same size.`,
		Example: "lcm bench retention\nlcm bench retention --conversation 3 --json",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			sources, err := p.benchSources(cmd.Context(), ch)
			if err != nil {
				return err
			}
			return p.measured("measuring", func(harness.Progress) (string, any, error) {
				r, err := retention.Measure(cmd.Context(), sources, retention.Options{})
				return r.Text(), r, err
			})
		},
	}
	ch.flag(c)
	c.Flags().Lookup("conversation").Usage = "conversation number (default: the bundled session)"
	p.jsonFlag(c)
	return c
}

// benchSources are the messages of a conversation, or of the bundled session.
func (p *program) benchSources(ctx context.Context, ch choice) ([]summary.Source, error) {
	var sources []summary.Source
	if ch.number == 0 {
		for i, m := range sample.Messages() {
			sources = append(sources, sourceOf(store.MessageID(i+1), int64(i+1), m, llms.Estimate))
		}
		return sources, nil
	}
	ar, err := p.open(ctx, toRead)
	if err != nil {
		return nil, err
	}
	defer ar.close(ctx)
	c, err := ar.pick(ctx, ch)
	if err != nil {
		return nil, err
	}
	for m, err := range ar.db.Messages(ctx, store.MessageQuery{Conversation: c.ID}) {
		if err != nil {
			return nil, err
		}
		if m.Flags&(store.FlagEcho|store.FlagHidden) == 0 {
			sources = append(sources, sourceOf(m.ID, m.Seq, m.Body, ar.counter))
		}
	}
	return sources, nil
}

func sourceOf(id store.MessageID, seq int64, m llms.Message, counter llms.Counter) summary.Source {
	return summary.Source{
		ID: id.String(), Role: m.Role, Time: m.Time, Seq: seq, Text: m.Render(), Tokens: llms.CountMessage(counter, m),
		Tool: m.Role == llms.RoleTool || len(m.ToolResults()) > 0,
	}
}

func newBenchScale(p *program) *cobra.Command {
	o := scale.Options{}
	c := &cobra.Command{
		Use:   "scale",
		Short: "Time storing, appending, folding and contexts as the record grows",
		Long: `Make databases of the given sizes in a temporary directory and time what is done
to them: storing in batches, beside hand-written SQL that inserts the same rows;
durable appends; compaction with a summariser that takes no time; contexts.
Each number is set beside its target. The default takes about two minutes.`,
		Example: "lcm bench scale\nlcm bench scale --sizes 1000000 --spread 1\nlcm bench scale --json > scale.json",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.measured("measuring", func(progress harness.Progress) (string, any, error) {
				o.Progress = progress
				r, err := scale.Measure(cmd.Context(), o)
				return r.Text(), map[string]any{"report": r, "checks": r.Checks()}, err
			})
		},
	}
	c.Flags().IntSliceVar(&o.Sizes, "sizes", []int{1_000, 10_000, 100_000}, "numbers of messages")
	c.Flags().IntSliceVar(&o.Spreads, "spread", []int{1, 1_000}, "numbers of conversations they are spread over")
	c.Flags().IntVar(&o.Budget, "budget", 128_000, "size of the context window in tokens")
	c.Flags().IntVar(&o.Samples, "samples", 200, "how often appends and contexts are timed")
	c.Flags().IntVar(&o.Expressions, "expressions", 100, "how many are compared with a loop over all texts, -1 for none")
	c.Flags().StringVar(&o.Dir, "dir", "", "directory for the databases (default: a temporary one)")
	p.jsonFlag(c)
	return c
}
