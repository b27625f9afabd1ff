package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/bench/cache"
)

func newBenchCache(p *program) *cobra.Command {
	var o cache.Options
	c := p.benchmark("replaying", &cobra.Command{
		Use:   "cache",
		Short: "Compare what input costs at a provider with a prompt cache",
	}, func(ctx context.Context, b *bar) (measured, error) {
		if o.Budget < lcm.MinBudget || o.Tokens < 1 || o.System < 0 {
			return measured{}, failed(exitUsage, "for example --budget 128000 --tokens 1000000", "--budget must be at least %d, --tokens positive and --system not negative", lcm.MinBudget)
		}
		o.Progress = b.set
		r, err := cache.Measure(ctx, o)
		m, err := reported(r, err)
		if err == nil && !r.Met() {
			m.missed = failed(exitFailure, "the report says which", "a target was missed")
		}
		return m, err
	})
	c.Flags().IntVar(&o.Budget, "budget", 128_000, "size of lcm's context window in tokens")
	c.Flags().IntVar(&o.Tokens, "tokens", 1_000_000, "size of the generated session in tokens")
	c.Flags().IntVar(&o.System, "system", 4_000, "size of the system prompt and the tools in tokens")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "seed of the generated session")
	return c
}
