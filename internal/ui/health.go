package ui

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

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
	doctor  func(context.Context) ([]doctor.Finding, error)
	space   func(context.Context) (Space, error)
	timings *timings

	running sync.Mutex
	mu      sync.Mutex
	last    *Check
}

// healthData is the data of the page of health and cost.
type healthData struct {
	Check *Check        `json:"check,omitempty"` // the last of this server
	Spent []spend.Entry `json:"spent"`           // by lcm's own use of models
	Runs  []Run         `json:"runs"`            // of agents behind lcm, the last first
	Days  []Day         `json:"days"`            // spend and savings, oldest first
	All   Day           `json:"all"`             // the sums of the days
	Left  int           `json:"-"`               // runs that are not listed
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

// Day is the use of models on one day.
type Day struct {
	Day    string `json:"day,omitempty"`
	Calls  int64  `json:"calls"` // by lcm
	Input  int64  `json:"inputTokens"`
	Output int64  `json:"outputTokens"`
	Runs   int    `json:"runs"`
	// Cost is the input of proxied requests in uncached input tokens, Plain the
	// same without lcm, simulated.
	Cost  float64 `json:"cost"`
	Plain float64 `json:"plain"`
}

// saved returns the share of the cost that a day saved, in percent.
func (d Day) saved() string { return percent(1-d.Cost/d.Plain, d.Plain > 0) }

func percent(share float64, known bool) string {
	if !known {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

const (
	listedRuns = 40
	listedDays = 90
)

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
	d.addDays(runs)
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

// addDays adds up spend and runs by day (UTC), with the days between them.
func (d *healthData) addDays(runs []proxy.Run) {
	by := map[string]*Day{}
	day := func(name string) *Day {
		if by[name] == nil {
			by[name] = &Day{Day: name}
		}
		return by[name]
	}
	for _, e := range d.Spent {
		on := day(e.Day)
		on.Calls, on.Input, on.Output = on.Calls+e.Calls, on.Input+e.InputTokens, on.Output+e.OutputTokens
		d.All.Calls, d.All.Input, d.All.Output = d.All.Calls+e.Calls, d.All.Input+e.InputTokens, d.All.Output+e.OutputTokens
	}
	for _, r := range runs {
		on := day(r.Started.UTC().Format(time.DateOnly))
		on.Runs, on.Cost, on.Plain = on.Runs+1, on.Cost+r.Cost, on.Plain+r.Plain
		d.All.Runs, d.All.Cost, d.All.Plain = d.All.Runs+1, d.All.Cost+r.Cost, d.All.Plain+r.Plain
	}
	d.Days = []Day{}
	names := slices.Sorted(maps.Keys(by))
	if len(names) == 0 {
		return
	}
	last, err := time.Parse(time.DateOnly, names[len(names)-1])
	if err != nil {
		return
	}
	for at := last.AddDate(0, 0, 1-listedDays); !at.After(last); at = at.AddDate(0, 0, 1) {
		name := at.Format(time.DateOnly)
		if name >= names[0] {
			d.Days = append(d.Days, *day(name))
		}
	}
}

// Column is a day in a chart: a wide bar, and a narrower one in front of it.
type Column struct {
	X, Width            float64
	BackY, BackHeight   float64
	FrontX, FrontWidth  float64
	FrontY, FrontHeight float64
	Label               string
}

// The measures of the charts of days.
const (
	chartWidth  = 1000
	chartHeight = 120
	// fewDays is how many days a chart has room for at least, so that a single day
	// is not a wall.
	fewDays = 14
)

// Chart is a chart of days.
type Chart struct {
	Columns     []Column
	First, Last string
	Most        int64
}

func chart(days []Day, back, front func(Day) float64, label func(Day) string) Chart {
	c := Chart{}
	most := 0.0
	for _, d := range days {
		most = max(most, back(d), front(d))
	}
	if most == 0 {
		return c
	}
	c.First, c.Last, c.Most = days[0].Day, days[len(days)-1].Day, int64(most)
	step := float64(chartWidth) / float64(max(len(days), fewDays))
	for i, d := range days {
		height := func(v float64) float64 { return v / most * chartHeight }
		col := Column{X: float64(i)*step + step*0.1, Width: step * 0.8, BackHeight: height(back(d)), FrontHeight: height(front(d)), Label: d.Day + ": " + label(d)}
		col.FrontX, col.FrontWidth = col.X+col.Width*0.2, col.Width*0.6
		col.BackY, col.FrontY = chartHeight-col.BackHeight, chartHeight-col.FrontHeight
		c.Columns = append(c.Columns, col)
	}
	return c
}

// savings draws the cost of runs against their cost without lcm.
func (d healthData) savings() Chart {
	return chart(d.Days, func(d Day) float64 { return d.Plain }, func(d Day) float64 { return d.Cost }, func(d Day) string {
		return fmt.Sprintf("%s, cost %s instead of %s", prose.Count(d.Runs, "run", "runs"), prose.Number(int64(d.Cost)), prose.Number(int64(d.Plain)))
	})
}

// spending draws the tokens of lcm's own calls: input and output behind, output in front.
func (d healthData) spending() Chart {
	return chart(d.Days, func(d Day) float64 { return float64(d.Input + d.Output) }, func(d Day) float64 { return float64(d.Output) }, func(d Day) string {
		return fmt.Sprintf("%s, %s tokens in, %s out", prose.Count(d.Calls, "call", "calls"), prose.Number(d.Input), prose.Number(d.Output))
	})
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

// Space is the use of a database's file.
type Space struct {
	File   int64  `json:"fileBytes"`
	Parts  []Size `json:"parts"`  // they add up to the file
	Tables []Size `json:"tables"` // texts and blobs of each table
}

// Size is the size of a part of a database.
type Size struct {
	Name  string  `json:"name"`
	Rows  int64   `json:"rows,omitempty"`
	Bytes int64   `json:"bytes"`
	Width float64 `json:"-"` // of its bar, of 100
}

func (Space) title() string { return "Sizes" }

// spacePage measures the database. It reads all rows, so that the page of health
// loads it later.
func (h *health) spacePage(r *http.Request) (d Space, err error) {
	if h.space == nil {
		return d, notFound("", "This store does not measure its tables.")
	}
	if d, err = h.space(r.Context()); err != nil {
		return d, err
	}
	for _, sizes := range [][]Size{d.Parts, d.Tables} {
		most := int64(1)
		for _, one := range sizes {
			most = max(most, one.Bytes)
		}
		for i := range sizes {
			sizes[i].Width = 100 * float64(sizes[i].Bytes) / float64(most)
		}
		slices.SortStableFunc(sizes, func(a, b Size) int { return cmp.Compare(b.Bytes, a.Bytes) })
	}
	return d, nil
}
