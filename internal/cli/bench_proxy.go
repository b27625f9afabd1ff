package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/internal/bench/proxy"
)

func newBenchProxy(p *program) *cobra.Command {
	var o proxy.Options
	c := p.benchmark("measuring", &cobra.Command{
		Use:   "proxy",
		Short: "Measure the time that lcm run adds to a request",
	}, func(ctx context.Context, b *bar) (m measured, err error) {
		if o.Requests < 1 {
			return m, failed(exitUsage, "", "--requests must be positive")
		}
		o.Progress = b.set
		return reported(proxy.Measure(ctx, o))
	})
	c.Flags().IntVar(&o.Requests, "requests", 100, "number of requests of each size")
	return benchDir(c, &o.Dir, "the databases")
}
