package ui

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/lossless-context/lcm/internal/kit/prose"
	"github.com/lossless-context/lcm/internal/proxy"
	"github.com/lossless-context/lcm/internal/record/doctor"
	"github.com/lossless-context/lcm/internal/record/spend"
	"github.com/lossless-context/lcm/internal/record/store"
)

// health makes the page of health and cost and its parts. It runs one check at a
// time and keeps the last.
type health struct {
	*reader
	doctor func(context.Context) ([]doctor.Finding, error)

	running sync.Mutex
	mu      sync.Mutex
	last    *Check
}

// healthData is the data of the page of health and cost.
type healthData struct {
	Check *Check        `json:"check,omitempty"` // the last of this server
	Spent []spend.Entry `json:"spent"`           // by lcm's own use of models
	Runs  []Run         `json:"runs"`            // of agents behind lcm, the last first
	All   Sums          `json:"all"`
	Left  int           `json:"-"` // runs that are not listed
}

func (healthData) title() string { return "Health and cost" }

// Run is a run of an agent behind lcm.
type Run struct {
	proxy.Run
	Saved     float64              `json:"saved"`        // of the input cost without lcm, simulated
	CacheHits float64              `json:"cacheHitRate"` // of the input tokens
	Passed    int                  `json:"passedUnchanged"`
	Session   store.ConversationID `json:"session,omitempty"` // the first that the record has
	Title     string               `json:"title,omitempty"`
}

// Sums add up the use of models.
type Sums struct {
	Calls  int64 `json:"calls"` // by lcm
	Input  int64 `json:"inputTokens"`
	Output int64 `json:"outputTokens"`
	Runs   int   `json:"runs"`
	// Cost is the input of proxied requests in uncached input tokens, Plain the
	// same without lcm, simulated.
	Cost  float64 `json:"cost"`
	Plain float64 `json:"plain"`
}

// saved returns the share of the cost that was saved, in percent.
func (s Sums) saved() string { return percent(1-s.Cost/s.Plain, s.Plain > 0) }

func percent(share float64, known bool) string {
	if !known {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

const listedRuns = 40

func (h *health) healthPage(r *http.Request) (d healthData, err error) {
	ctx := r.Context()
	d.Check, _ = h.lastCheck(r)
	if d.Spent, err = spend.Usage(ctx, h.record); err != nil {
		return d, err
	}
	runs, err := proxy.Runs(ctx, h.record)
	if err != nil {
		return d, err
	}
	for _, e := range d.Spent {
		d.All.Calls, d.All.Input, d.All.Output = d.All.Calls+e.Calls, d.All.Input+e.InputTokens, d.All.Output+e.OutputTokens
	}
	for _, r := range runs {
		d.All.Runs, d.All.Cost, d.All.Plain = d.All.Runs+1, d.All.Cost+r.Cost, d.All.Plain+r.Plain
	}
	d.Left = max(0, len(runs)-listedRuns)
	d.Runs = []Run{}
	for _, run := range runs[:len(runs)-d.Left] {
		v := Run{Run: run, CacheHits: run.CacheHitRate(), Passed: run.PassedUnchanged(), Saved: run.Saved()}
		if v.Session, v.Title, err = h.runSession(ctx, run.Sessions); err != nil {
			return d, err
		}
		d.Runs = append(d.Runs, v)
	}
	return d, nil
}

// runSession returns the first session of a run that the record has.
func (h *health) runSession(ctx context.Context, keys []string) (store.ConversationID, string, error) {
	for _, key := range keys {
		found, err := h.record.Conversations(ctx, store.ConversationQuery{Key: key, Limit: 1})
		if err != nil {
			return 0, "", err
		}
		if len(found) > 0 {
			title, err := h.titleOf(ctx, found[0])
			return found[0].ID, title, err
		}
	}
	return 0, "", nil
}

// state describes the outcome of a run in words.
func (r Run) state() string {
	switch {
	case r.Observe:
		return "only observed"
	case r.Subscription > 0 && r.Changed == 0:
		return "subscription, unchanged"
	case r.Passed > 0:
		return prose.Number(r.Passed) + " unchanged after a failure"
	case r.Ended.IsZero():
		return "running, or killed"
	}
	return ""
}
