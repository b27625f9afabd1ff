package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/bench/harness"
	"github.com/lossless-context/lcm/internal/bench/needle"
	"github.com/lossless-context/lcm/internal/prose"
)

func newBenchNeedle(p *program) *cobra.Command {
	var o needle.Options
	c := &cobra.Command{
		Use:   "needle",
		Short: "Hide facts in long conversations and find them by their key",
		Long: `Plant facts at eleven positions of made-up conversations, in text, tool
arguments, tool output and payloads, under 0 to 3 levels of summaries, and look
for each by its exact key, as a regular expression and in words. Printed are the
share that comes first, the calls and the tokens until the value is in hand, and
every miss. The default takes about a minute; it exits with 1 if one is missed.`,
		Example: "lcm bench needle\nlcm bench needle --sizes 32000,10000000 --json",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(o.Sizes) == 0 || slices.Min(o.Sizes) < 1 {
				return failed(exitUsage, "for example --sizes 32000,1000000", "a haystack has at least one token")
			}
			var r needle.Report
			err := p.measured("hiding and seeking", func(progress harness.Progress) (_ string, _ any, err error) {
				o.Progress = progress
				r, err = needle.Measure(cmd.Context(), o)
				all := r.Figures(func(needle.Find) bool { return true })
				return r.Text(), map[string]any{"report": r, "figures": all, "missed": len(r.Missed())}, err
			})
			if missed := len(r.Missed()); err == nil && missed > 0 {
				return failed(exitFailure, "the report names them", "%s did not come first", prose.Count(missed, "needle", "needles"))
			}
			return err
		},
	}
	c.Flags().IntSliceVar(&o.Sizes, "sizes", needle.DefaultSizes, "sizes of the conversations in tokens")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "seed of what is made up")
	c.Flags().StringVar(&o.Dir, "dir", "", "directory for the databases (default: a temporary one)")
	p.jsonFlag(c)
	return c
}
