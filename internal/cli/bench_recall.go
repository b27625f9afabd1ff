package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/bench/answer"
	evidence "github.com/lossless-context/lcm/internal/bench/recall"
)

func newBenchRecall(p *program) *cobra.Command {
	var path string
	c := &cobra.Command{
		Use:   "recall",
		Short: "Count how much of the evidence a question's search finds",
		Long: `Ask every question of a data set and count how much of its evidence is among the
first 5, 10 and 20 messages found, and how often a session that holds evidence
comes first: by the index alone, by two plain full-text searches, and by lcm grep
on a database with the whole data set in it. The bundled set has 2,211 messages
and 342 questions; --data takes LoCoMo's JSON, or the evidence format that the
package internal/bench/recall documents.`,
		Example: "lcm bench recall\nlcm bench recall --data locomo10.json --json",
		Args:    usage(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			data, err := evidence.Bundled()
			if path != "" {
				data, err = evidence.Load(path)
			}
			if err != nil {
				return failed(exitFailure, "`go doc github.com/lossless-context/lcm/internal/bench/recall` describes the formats", "%w", err)
			}
			report, err := evidence.Measure(c.Context(), data)
			if err != nil {
				return err
			}
			if p.json {
				return report.WriteJSON(p.out)
			}
			return report.WriteText(p.out)
		},
	}
	c.Flags().StringVar(&path, "data", "", "data set (default: the bundled one)")
	return c
}

// identifierBounds are the values of maxTokens that are measured with
// identifiers.
var identifierBounds = []int{250, 500, 2000, 16_000}

func newBenchAnswer(p *program) *cobra.Command {
	var o answer.Options
	var path string
	var identifiers bool
	c := &cobra.Command{
		Use:   "answer",
		Short: "Measure how much evidence an answer without a model holds",
		Long: `Ask every question of a dataset through lcm_expand_query with output "evidence",
and count the messages known to hold the answer that stand word for word in what
comes back. Without --data it asks the bundled questions about the bundled
session. --data takes what ` + "`lcm bench recall`" + ` takes.

With --identifiers the query is not the question: twenty identifiers that occur
in one to three messages of the bundled session are asked for, each with four
prompts about something else, and the answers that hold the identifier, and
that begin with it, are counted under several bounds.`,
		Example: "lcm bench answer\nlcm bench answer --data locomo10.json --json\nlcm bench answer --identifiers",
		Args:    usage(cobra.NoArgs),
		RunE: benchmark(p, "asking", func(ctx context.Context, b *bar) (measured, error) {
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
		}),
	}
	c.Flags().StringVar(&path, "data", "", "dataset (default: the bundled questions)")
	c.Flags().BoolVar(&identifiers, "identifiers", false, "ask for identifiers with prompts about something else")
	c.Flags().IntVar(&o.MaxTokens, "max-tokens", 2000, "length of the answers")
	benchDir(c, &o.Dir, "the database")
	c.MarkFlagsMutuallyExclusive("identifiers", "data")
	c.MarkFlagsMutuallyExclusive("identifiers", "max-tokens")
	return c
}
