package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/bench/answer"
	"github.com/lossless-context/lcm/internal/bench/harness"
	"github.com/lossless-context/lcm/internal/bench/recall"
)

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
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.measured("asking", func(progress harness.Progress) (string, any, error) {
				o.Progress = progress
				if identifiers {
					r, err := answer.Identifiers(cmd.Context(), o, identifierBounds...)
					return r.Text(), r, err
				}
				r, err := measureAnswers(cmd.Context(), path, o)
				return r.Text(), r, err
			})
		},
	}
	c.Flags().StringVar(&path, "data", "", "dataset (default: the bundled questions)")
	c.Flags().BoolVar(&identifiers, "identifiers", false, "ask for identifiers with prompts about something else")
	c.Flags().IntVar(&o.MaxTokens, "max-tokens", 2000, "length of the answers")
	c.Flags().StringVar(&o.Dir, "dir", "", "directory for the database (default: a temporary one)")
	c.MarkFlagsMutuallyExclusive("identifiers", "data")
	c.MarkFlagsMutuallyExclusive("identifiers", "max-tokens")
	p.jsonFlag(c)
	return c
}

// identifierBounds are the values of maxTokens that are measured with
// identifiers.
var identifierBounds = []int{250, 500, 2000, 16_000}

func measureAnswers(ctx context.Context, path string, o answer.Options) (answer.Report, error) {
	if path == "" {
		return answer.Bundled(ctx, o)
	}
	d, err := recall.Load(path)
	if err != nil {
		return answer.Report{}, failed(exitNotFound, "--data takes LoCoMo's JSON or lcm's own evidence format", "%w", err)
	}
	return answer.Dataset(ctx, d, o)
}
