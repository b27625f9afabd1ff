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
		Long: `Play sessions of 1,000 and 10,000 messages in the request, and of 100,000 behind
a checkpoint, against a model on this machine that answers at once, through the
proxy of ` + "`lcm run`" + ` and directly. Everything is in a temporary directory.`,
		Example: "lcm bench proxy\nlcm bench proxy --requests 200 --json",
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
