package cli

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel"

	"github.com/lossless-context/lcm/internal/kit/otlp"
)

// traced sends the spans of a command to the collector that the environment names. A collector
// that cannot be reached does not keep the command from its work.
func traced(p *program, run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		traces, err := otlp.Start(c.Context(), version, slog.New(slog.DiscardHandler))
		if err != nil {
			p.warn("no traces are sent: %v", err)
		}
		if traces == nil {
			return run(c, args)
		}
		before := otel.GetTracerProvider()
		otel.SetTracerProvider(traces)
		defer func() {
			otel.SetTracerProvider(before)
			last, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), flushTime)
			defer cancel()
			traces.Stop(last)
		}()
		return run(c, args)
	}
}
