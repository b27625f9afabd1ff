package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/bench/harness"
	"github.com/lossless-context/lcm/internal/bench/hooks"
)

func newBenchHook(p *program) *cobra.Command {
	o := hooks.Options{}
	c := &cobra.Command{
		Use:   "hook",
		Short: "Time what hosts wait for",
		Long: `Make a database of the given size in a temporary directory, and start this
program as a host does: at the end of a turn, at the start of a session, before
a prompt, and in between as ` + "`lcm version`" + `, which does nothing.`,
		Example: "lcm bench hook --messages 100000\nlcm bench hook --messages 1000000 --runs 200 --json",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Messages < 0 || o.Runs < 1 {
				return failed(exitUsage, "", "--messages and --runs must be positive")
			}
			if o.Binary, err = os.Executable(); err != nil {
				return err
			}
			if o.Dir == "" {
				if o.Dir, err = os.MkdirTemp("", "lcm-bench-*"); err != nil {
					return err
				}
				defer os.RemoveAll(o.Dir)
			}
			return p.measured("measuring", func(progress harness.Progress) (string, any, error) {
				o.Progress = progress
				r, err := hooks.Measure(cmd.Context(), o)
				return r.Text(), r, err
			})
		},
	}
	c.Flags().IntVar(&o.Messages, "messages", 100_000, "number of messages in the database")
	c.Flags().IntVar(&o.Runs, "runs", 200, "how often each command is timed")
	c.Flags().StringVar(&o.Dir, "dir", "", "directory for the database, which is kept (default: a temporary one)")
	p.jsonFlag(c)
	return c
}
