package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/prose"
	"github.com/lossless-context/lcm/internal/proxy"
	"github.com/lossless-context/lcm/internal/safetext"
)

// runReport is a run of `lcm run` or `lcm proxy` in JSON.
type runReport struct {
	proxy.Run
	Saved        float64 `json:"saved"`        // of the input cost without lcm, simulated
	CacheHits    float64 `json:"cacheHitRate"` // of the input tokens
	PassedAnyway int     `json:"passedUnchanged"`
}

// runs prints the runs, the last first.
func (cmd *statusCommand) printRuns(ctx context.Context, rec *openRecord) error {
	found, err := proxy.Runs(ctx, rec.db)
	if err != nil {
		return err
	}
	reports := make([]runReport, len(found))
	for i, r := range found {
		reports[i] = runReport{Run: r, PassedAnyway: r.PassedUnchanged(), CacheHits: r.CacheHitRate(), Saved: r.Saved()}
	}
	if cmd.json {
		return cmd.printJSON(reports)
	}
	if len(reports) == 0 {
		cmd.note("there were no runs: `lcm run -- claude` makes one")
		return nil
	}
	t := newTable("started", "agent", ">requests", ">with summaries", ">folds", ">largest", ">saved", ">cache hits", ">failures", "")
	for _, r := range reports {
		t.add(r.Started.Local().Format(time.DateTime), safetext.Line(r.Host), prose.Number(r.Requests), prose.Number(r.Changed), prose.Number(r.Folds),
			prose.Number(r.Largest), percent(r.Saved, r.Plain > 0), percent(r.CacheHits, r.Usage.Total() > 0), prose.Number(r.PassedAnyway), runState(r.Run))
	}
	cmd.printTable(t)
	for _, r := range reports {
		for _, why := range slices.Sorted(maps.Keys(r.Failures)) {
			cmd.note("%s: passed unchanged %s: %s", r.Started.Local().Format(time.DateTime), prose.Count(r.Failures[why], "time", "times"), safetext.Line(why))
		}
		for _, why := range slices.Sorted(maps.Keys(r.Problems)) {
			cmd.note("%s: in the background, %s: %s", r.Started.Local().Format(time.DateTime), prose.Count(r.Problems[why], "time", "times"), safetext.Line(why))
		}
	}
	cmd.note("saved: input cost against the same requests without lcm, which are simulated")
	return nil
}

func percent(share float64, known bool) string {
	if !known {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

func runState(r proxy.Run) string {
	switch {
	case r.Observe:
		return "observed"
	case r.Subscription > 0 && r.Changed == 0:
		return "subscription, unchanged"
	case r.Ended.IsZero():
		return "running, or killed"
	}
	return ""
}
