package main

import (
	"github.com/spf13/cobra"

	"github.com/lossless-context/lcm/bench/recall"
)

func newBenchRecall(a *app) *cobra.Command {
	var path string
	c := &cobra.Command{
		Use:   "recall",
		Short: "Count how much of the evidence a question's search finds",
		Long: `Ask every question of a data set and count how much of its evidence is among the
first 5, 10 and 20 messages found, and how often a session that holds evidence
comes first, beside two plain full-text searches. The bundled set is small;
--data takes LoCoMo's JSON, or a JSON object a line as the package's
documentation describes.`,
		Example: "lcm bench recall\nlcm bench recall --data locomo10.json --json",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			load := recall.Bundled
			if path != "" {
				load = func() (recall.Dataset, error) { return recall.Load(path) }
			}
			data, err := load()
			if err != nil {
				return failed(exitFailure, "`go doc github.com/lossless-context/lcm/bench/recall` describes the formats", "%w", err)
			}
			report, err := recall.Run(cmd.Context(), data, recall.Options{})
			if err != nil {
				return err
			}
			if a.json {
				return report.WriteJSON(a.out)
			}
			return report.WriteText(a.out)
		},
	}
	c.Flags().StringVar(&path, "data", "", "data set (default: the bundled one)")
	a.jsonFlag(c)
	return c
}
