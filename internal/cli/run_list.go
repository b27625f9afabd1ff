package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/internal/kit/process"
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
			prose.Number(r.Largest), percent(r.Saved, r.Compared()), percent(r.CacheHits, r.Usage.Total() > 0), prose.Number(r.OverBudget()), prose.Number(r.PassedAnyway), runState(r.Run, machineName(rec.cfg)))
	}
	cmd.printTable(t)
	observed := false
	for _, r := range reports {
		observed = observed || r.Observe
		at := r.Started.Local().Format(time.DateTime)
		reasons := func(what string, counts map[string]int) {
			for _, why := range slices.Sorted(maps.Keys(counts)) {
				cmd.note("%s: %s %s: %s", at, what, prose.Count(counts[why], "time", "times"), safetext.Line(why))
			}
		}
		if r.Unknown > 0 {
			cmd.note("%s: %s passed unchanged: %s", at, prose.Count(r.Unknown, "request", "requests"), proxy.NoKnownAgent)
		}
		reasons("sent above the budget", r.Over)
		reasons("passed unchanged", r.Failures)
		reasons("in the background,", r.Problems)
		if r.Unanswered > 0 {
			cmd.note("%s: %s without an answer of the model API", at, prose.Count(r.Unanswered, "request", "requests"))
		}
	}
	cmd.note("saved: input cost against the same requests without lcm, which are simulated; – where lcm changed none")
	if observed {
		cmd.note("observed: no request was changed; with summaries, folds and saved are what would have been")
	}
	return cmd.emit(reports)
}

func percent(share float64, known bool) string {
	if !known {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// runState says in a few words how a run differs from others. here is this machine.
func runState(r proxy.Run, here string) string {
	var words []string
	switch {
	case r.Observe:
		words = append(words, "observed")
	case r.Requests > 0 && r.Unknown == r.Requests:
		words = append(words, "unknown client, unchanged")
	case r.Subscription > 0 && r.Changed == 0:
		words = append(words, "subscription, unchanged")
	}
	switch {
	case !r.Ended.IsZero():
	case r.Process == "" || r.Machine != here:
		words = append(words, "running, or killed")
	case process.Ended(r.Process):
		words = append(words, "killed")
	default:
		words = append(words, "running")
	}
	return strings.Join(words, ", ")
}
