package cli

import (
	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/bench/harness"
	"github.com/lossless-context/lcm/internal/bench/imports"
)

func newBenchImport(p *program) *cobra.Command {
	var o imports.Options
	var megabytes int64
	c := &cobra.Command{
		Use:   "import",
		Short: "Time the import of transcripts, once and again",
		Long: `Write transcripts in the formats of the agents to a temporary directory, import
them into a fresh database, and import them again. Printed are the rate beside
that of storing the same records from memory, and the most memory that was held.
It exits with 1 if a target is missed. A gigabyte takes a few minutes.`,
		Example: "lcm bench import\nlcm bench import --size 1000 --json",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if megabytes < 1 {
				return failed(exitUsage, "for example --size 100", "there is nothing to import in %d MB", megabytes)
			}
			o.Bytes = megabytes * 1_000_000
			var r imports.Report
			err := p.measured("measuring", func(progress harness.Progress) (_ string, _ any, err error) {
				o.Progress = progress
				r, err = imports.Measure(cmd.Context(), o)
				return r.Text(), map[string]any{"report": r, "met": r.Met()}, err
			})
			if err == nil && !r.Met() {
				return failed(exitFailure, "see how busy the machine is", "a target was missed")
			}
			return err
		},
	}
	c.Flags().Int64Var(&megabytes, "size", 100, "size of the transcripts in MB")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "seed of what is made up")
	c.Flags().StringVar(&o.Dir, "dir", "", "directory for what is written (default: a temporary one)")
	p.jsonFlag(c)
	return c
}
