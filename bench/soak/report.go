package soak

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/lossless-context/lcm/bench/harness"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Report is the result of a soak.
type Report struct {
	Platform string        `json:"platform"`
	Asked    time.Duration `json:"askedNs"`
	Lasted   time.Duration `json:"lastedNs"` // the true duration
	Rate     float64       `json:"rate"`     // appends a second that were asked for
	Reached  float64       `json:"reached"`  // and those that were made
	Appended int64         `json:"appended"`
	// Stored is the number of messages in the record at the end, Faults are the
	// findings of Verify, Warnings the number of logged warnings.
	Stored        int64    `json:"stored"`
	Summaries     int64    `json:"summaries"`
	Faults        []string `json:"faults"`
	Warnings      int64    `json:"warnings"`
	DatabaseBytes int64    `json:"databaseBytes"`
	Thirds        []Third  `json:"thirds"`
	// RSSSlope is how the resident memory grows over the last three quarters,
	// in bytes per ten minutes.
	RSSSlope float64 `json:"rssBytesPer10Min"`
	Points   []Point `json:"points"`
}

// Third is a third of the run: the latencies in milliseconds, and the resources
// of the process at its end.
type Third struct {
	Appends    int64   `json:"appends"`
	AppendP50  float64 `json:"appendP50Ms"`
	AppendP99  float64 `json:"appendP99Ms"`
	SearchP50  float64 `json:"searchP50Ms"`
	SearchP99  float64 `json:"searchP99Ms"`
	ContextP50 float64 `json:"contextP50Ms"`
	ContextP99 float64 `json:"contextP99Ms"`
	RSS        int64   `json:"rssBytes"`
	Files      int     `json:"fileDescriptors"` // the most there were
	Goroutines int     `json:"goroutines"`      // the most there were
}

// report verifies the record and adds everything up.
func (r *run) report(ctx context.Context, points []Point) (Report, error) {
	rep := Report{
		Platform: fmt.Sprintf("%s/%s, %d cores, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version()),
		Asked:    r.Duration, Lasted: points[len(points)-1].At, Rate: r.Rate, Appended: r.appended.Load(),
		Warnings: r.warnings.Load(), RSSSlope: slope(points), Points: points, Faults: []string{},
	}
	rep.Reached = float64(rep.Appended) / rep.Lasted.Seconds()
	for i := range 3 {
		rep.Thirds = append(rep.Thirds, r.thirdOf(i, points))
	}
	if info, err := os.Stat(r.Path); err == nil {
		rep.DatabaseBytes = info.Size()
	}
	all, err := r.DB.Conversations(ctx, store.ConversationQuery{})
	if err != nil {
		return rep, err
	}
	for _, c := range all {
		v, err := r.DB.Verify(ctx, c.ID)
		if err != nil {
			return rep, fmt.Errorf("verifying: %w", err)
		}
		rep.Stored += v.Messages
		rep.Summaries += v.Summaries
		for _, f := range v.Faults {
			rep.Faults = append(rep.Faults, fmt.Sprintf("%s %s: %s", f.Code, f.Node, f.Detail))
		}
	}
	return rep, nil
}

func (r *run) thirdOf(i int, points []Point) Third {
	a, s, c := &r.appends[i], &r.searches[i], &r.contexts[i]
	t := Third{
		Appends: a.n, AppendP50: a.quantile(0.5), AppendP99: a.quantile(0.99), SearchP50: s.quantile(0.5), SearchP99: s.quantile(0.99),
		ContextP50: c.quantile(0.5), ContextP99: c.quantile(0.99),
	}
	for _, p := range points {
		if int(3*p.At/r.Duration) == i || i == 2 && 3*p.At >= 3*r.Duration {
			t.RSS = p.RSS
			t.Files, t.Goroutines = max(t.Files, p.Files), max(t.Goroutines, p.Goroutines)
		}
	}
	return t
}

// slope fits a line through the memory of the last three quarters.
func slope(points []Point) float64 {
	end := points[len(points)-1].At
	var n, sx, sy, sxx, sxy float64
	for _, p := range points {
		if p.At < end/4 {
			continue
		}
		x, y := p.At.Minutes()/10, float64(p.RSS)
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	if d := n*sxx - sx*sx; d > 0 {
		return (n*sxy - sx*sy) / d
	}
	return 0
}

// Checks holds the report against the targets of a soak.
func (r Report) Checks() []harness.Check {
	first, last := r.Thirds[0], r.Thirds[len(r.Thirds)-1]
	ratio := 0.0
	if first.AppendP99 > 0 {
		ratio = last.AppendP99 / first.AppendP99
	}
	return []harness.Check{
		harness.AtMost("RSS slope of the last three quarters, MB per 10 min", r.RSSSlope/1e6, 1),
		harness.AtMost("append p99, last third by the first", ratio, 1.5),
		harness.AtMost("more file descriptors in the last third", float64(last.Files-first.Files), 0),
		harness.AtMost("acknowledged messages that are missing", float64(r.Appended-r.Stored), 0),
		harness.AtMost("faults found by verify", float64(len(r.Faults)), 0),
		harness.AtMost("warnings of background work", float64(r.Warnings), 0),
		harness.AtMost("share of the rate that was not reached", max(0, 1-r.Reached/r.Rate), 0.02),
	}
}

// Text renders the report for people.
func (r Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s; %v at %.1f appends/s of %g asked for; %d messages, %d summaries, database %.1f MB\n\n", r.Platform,
		r.Lasted.Round(time.Second), r.Reached, r.Rate, r.Stored, r.Summaries, float64(r.DatabaseBytes)/1e6)
	row := func(name, format string, cell func(Third) any) {
		fmt.Fprintf(&b, "%-26s", name)
		for _, t := range r.Thirds {
			fmt.Fprintf(&b, "%14s", fmt.Sprintf(format, cell(t)))
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%-26s%14s%14s%14s\n", "", "first third", "second", "last")
	row("appends", "%d", func(t Third) any { return t.Appends })
	row("append p50, ms", "%.2f", func(t Third) any { return t.AppendP50 })
	row("append p99, ms", "%.2f", func(t Third) any { return t.AppendP99 })
	row("search p50, ms", "%.2f", func(t Third) any { return t.SearchP50 })
	row("search p99, ms", "%.2f", func(t Third) any { return t.SearchP99 })
	row("context p50, ms", "%.2f", func(t Third) any { return t.ContextP50 })
	row("context p99, ms", "%.2f", func(t Third) any { return t.ContextP99 })
	row("RSS at its end, MB", "%.1f", func(t Third) any { return float64(t.RSS) / 1e6 })
	row("file descriptors, most", "%d", func(t Third) any { return t.Files })
	row("goroutines, most", "%d", func(t Third) any { return t.Goroutines })
	b.WriteByte('\n')
	harness.WriteChecks(&b, r.Checks(), 52)
	for _, f := range r.Faults {
		fmt.Fprintf(&b, "fault: %s\n", f)
	}
	return b.String()
}
