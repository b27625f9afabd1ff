package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/kit/safetext"
	"github.com/lossless-context/lcm/internal/proxy"
)

// runReport is a run in JSON.
type runReport struct {
	proxy.Run
	Saved        float64 `json:"saved"`        // of the input cost without lcm, simulated
	CacheHits    float64 `json:"cacheHitRate"` // of the input tokens
	PassedAnyway int     `json:"passedUnchanged"`
}

// printRuns prints the runs, the last first.
func (cmd *runCommand) printRuns(ctx context.Context, rec *openRecord) error {
	found, err := proxy.Runs(ctx, rec.db)
	if err != nil {
		return err
	}
	reports := make([]runReport, len(found))
	for i, r := range found {
		reports[i] = runReport{Run: r, PassedAnyway: r.PassedUnchanged(), CacheHits: r.CacheHitRate(), Saved: r.Saved()}
	}
	if len(reports) == 0 {
		cmd.note("there were no runs: `lcm run -- claude` makes one")
		return cmd.emit(reports)
	}
	t := newTable("started", "agent", ">requests", ">with summaries", ">folds", ">largest", ">saved", ">cache hits", ">above budget", ">failures", "")
	for _, r := range reports {
		t.add(r.Started.Local().Format(time.DateTime), safetext.Line(r.Host), prose.Number(r.Requests), prose.Number(r.Changed), prose.Number(r.Folds),
			prose.Number(r.Largest), percent(r.Saved, r.Compared()), percent(r.CacheHits, r.Usage.Total() > 0), prose.Number(r.OverBudget()), prose.Number(r.PassedAnyway), runState(r.Run))
	}
	cmd.printTable(t)
	for _, r := range reports {
		at := r.Started.Local().Format(time.DateTime)
		reasons := func(what string, counts map[string]int) {
			for _, why := range slices.Sorted(maps.Keys(counts)) {
				if counts[why] > 0 {
					cmd.note("%s: %s %s: %s", at, what, prose.Count(counts[why], "time", "times"), safetext.Line(why))
				}
			}
		}
		reasons("passed unchanged", map[string]int{proxy.NoKnownAgent: r.Unknown})
		reasons("sent above the budget", r.Over)
		reasons("passed unchanged", r.Failures)
		reasons("in the background,", r.Problems)
		reasons("sent", map[string]int{"without an answer of the model API": r.Unanswered})
	}
	cmd.note("saved: input cost against the same requests without lcm, which are simulated; – where lcm changed none. Of an observed run it is what would have been")
	return cmd.emit(reports)
}

func percent(share float64, known bool) string {
	if !known {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// runState says in a few words how a run differs from others.
func runState(r proxy.Run) string {
	switch {
	case r.Ended.IsZero():
		return "running, or killed"
	case r.Observe:
		return "observed"
	case r.Requests > 0 && r.Unknown == r.Requests:
		return "unknown client, unchanged"
	case r.Subscription > 0 && r.Changed == 0:
		return "subscription, unchanged"
	}
	return ""
}
