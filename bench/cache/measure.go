package cache

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/bench/harness"
	"github.com/lossless-context/lcm/internal/kit/prose"
)

// Options choose the replayed session.
type Options struct {
	Budget   int     // of lcm's context; 128,000 if it is not set
	Tokens   int     // of the generated session; 1,000,000 if it is not set
	System   int     // tokens of the system prompt and the tools
	Low      float64 // the level that folding aims at, by the budget; 0 is the default
	Seed     uint64  // of the generated session
	Progress harness.Progress
}

// Row compares the ways to fill the context for one session, window and lifetime.
type Row struct {
	Session  string        `json:"session"`
	Window   int           `json:"window"`
	Lifetime time.Duration `json:"lifetimeNanoseconds"` // of a cached prefix
	// Plain is the plain history while it fits the window; Meanwhile is lcm in
	// as many requests.
	Plain     Usage `json:"plain"`
	Meanwhile Usage `json:"lcmMeanwhile"`
	Host      Usage `json:"host"`
	Before    Usage `json:"lcmBefore"`
	After     Usage `json:"lcm"`
	// Changes counts the requests of After that do not begin with the whole
	// request before them.
	Changes       int `json:"changes"`
	ChangesBefore int `json:"changesBefore"`
}

// Report is the result of a measurement.
type Report struct {
	Budget int             `json:"budget"`
	System int             `json:"system"`
	Rows   []Row           `json:"rows"`
	Checks []harness.Check `json:"checks"`
}

// The windows that are compared.
const (
	smallWindow = 200_000
	largeWindow = 1_000_000
)

// Measure replays the bundled session and a generated one.
func Measure(ctx context.Context, o Options) (Report, error) {
	if o.Budget == 0 {
		o.Budget = 128_000
	}
	if o.Tokens == 0 {
		o.Tokens = 1_000_000
	}
	r := Report{Budget: o.Budget, System: o.System}
	generated := Generate(o.Tokens, o.Seed)
	for _, part := range []struct {
		session Session
		windows []int
	}{{Bundled(), []int{smallWindow}}, {generated, []int{smallWindow, largeWindow}}} {
		before, err := folded(ctx, part.session, o.Budget, o.System, o.Progress, lcm.WithLowThreshold(0.75))
		if err != nil {
			return r, err
		}
		after, err := folded(ctx, part.session, o.Budget, o.System, o.Progress, lcm.WithLowThreshold(o.Low))
		if err != nil {
			return r, err
		}
		for _, window := range part.windows {
			all, err := plain(part.session, window, o.System)
			if err != nil {
				return r, err
			}
			host, err := compacted(part.session, window, o.System)
			if err != nil {
				return r, err
			}
			for _, lifetime := range []time.Duration{shortLifetime, longLifetime} {
				r.Rows = append(r.Rows, Row{
					Session: part.session.Name, Window: window, Lifetime: lifetime,
					Plain: cost(all, lifetime), Meanwhile: cost(after[:len(all)], lifetime), Host: cost(host, lifetime),
					Before: cost(before, lifetime), After: cost(after, lifetime),
					Changes: changes(after), ChangesBefore: changes(before),
				})
			}
		}
	}
	r.check()
	return r, nil
}

// cost sends requests to a provider.
func cost(requests []request, lifetime time.Duration) Usage {
	p := Provider{Lifetime: lifetime}
	for _, r := range requests {
		p.Ask(r.at, r.blocks)
	}
	return p.Usage
}

// changes counts the requests that do not begin with the whole request before
// them.
func changes(requests []request) (n int) {
	for i := 1; i < len(requests); i++ {
		before, now := requests[i-1].blocks, requests[i].blocks
		for k := range before {
			if k >= len(now) || now[k].Hash != before[k].Hash {
				n++
				break
			}
		}
	}
	return n
}

// check sets the targets beside the costs. The one for a large window is for
// sessions that fill it.
func (r *Report) check() {
	for _, row := range r.Rows {
		of := fmt.Sprintf("%s, window %s, %s", row.Session, prose.Number(row.Window), short(row.Lifetime))
		if row.Window == smallWindow {
			r.Checks = append(r.Checks,
				harness.AtMost(of+": by no memory, while that fits", row.Meanwhile.Cost/row.Plain.Cost, 1.1),
				harness.AtMost(of+": by the host's compaction", row.After.Cost/row.Host.Cost, 1.1))
		} else if row.Plain.Requests < row.After.Requests {
			r.Checks = append(r.Checks, harness.AtMost(of+": by the host's compaction", row.After.Cost/row.Host.Cost, 0.5))
		}
	}
}

// short writes a lifetime without its zeros.
func short(d time.Duration) string {
	if d >= time.Hour {
		return fmt.Sprintf("%.0fh", d.Hours())
	}
	return fmt.Sprintf("%.0fm", d.Minutes())
}

// Met reports whether all targets are met.
func (r Report) Met() bool {
	for _, c := range r.Checks {
		if !c.OK {
			return false
		}
	}
	return true
}

// Text returns the report for people.
func (r Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "input cost in thousands of uncached tokens; budget of lcm %s, system prompt and tools %s\n\n", prose.Number(r.Budget), prose.Number(r.System))
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "session\twindow\tlifetime\tno memory\tlcm in as many\thost compacts\tlcm before\tlcm\tprefix changes\t")
	for _, row := range r.Rows {
		k := func(u Usage) string { return fmt.Sprintf("%.0f", u.Cost/1000) }
		fmt.Fprintf(w, "%s\t%s\t%s\t%s (%d requests)\t%s\t%s\t%s\t%s\t%d, before %d of %d\t\n", row.Session, prose.Number(row.Window), short(row.Lifetime),
			k(row.Plain), row.Plain.Requests, k(row.Meanwhile), k(row.Host), k(row.Before), k(row.After), row.Changes, row.ChangesBefore, row.After.Requests)
	}
	w.Flush()
	b.WriteByte('\n')
	harness.WriteChecks(&b, r.Checks, 82)
	return b.String()
}
