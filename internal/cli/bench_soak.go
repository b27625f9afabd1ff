package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/bench/harness"
	"github.com/lossless-context/lcm/internal/bench/soak"
)

func newBenchSoak(p *program) *cobra.Command {
	var o soak.Options
	c := &cobra.Command{
		Use:   "soak",
		Short: "Append, search and fold for an hour and watch memory and latency",
		Long: `Append at a steady rate to a database in a temporary directory, with searches,
contexts and compaction beside, and watch the process: how its memory grows over
the last three quarters, whether appends slow down, whether file descriptors
stay. At the end every message is proved. Interrupting it (Ctrl-C) ends it with
the report of the time it had.`,
		Example: "lcm bench soak --duration 1h --rate 50\nlcm bench soak --duration 2m --json > soak.json",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.measured("soaking", func(progress harness.Progress) (string, any, error) {
				o.Progress = progress
				r, err := soak.Measure(cmd.Context(), o)
				if err != nil {
					return "", nil, err
				}
				return r.Text(), map[string]any{"report": r, "checks": r.Checks()}, nil
			})
		},
	}
	c.Flags().DurationVar(&o.Duration, "duration", time.Hour, "how long it lasts")
	c.Flags().Float64Var(&o.Rate, "rate", 50, "appends a second")
	c.Flags().Float64Var(&o.Searches, "searches", 2, "searches a second")
	c.Flags().Float64Var(&o.Contexts, "contexts", 1, "contexts a second")
	c.Flags().IntVar(&o.Sessions, "sessions", 4, "number of sessions the appends are spread over")
	c.Flags().IntVar(&o.Budget, "budget", 16_000, "size of each session's context window in tokens")
	c.Flags().StringVar(&o.Dir, "dir", "", "directory for the database (default: a temporary one)")
	p.jsonFlag(c)
	return c
}
