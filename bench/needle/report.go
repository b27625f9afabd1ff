package needle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm/bench/harness"
	"github.com/lossless-context/lcm/internal/record/store"
)

// Find is the result of the search for one needle.
type Find struct {
	Size     int           `json:"size"`  // of the haystack in tokens
	Depth    int           `json:"depth"` // levels of summaries over it
	Lane     string        `json:"lane"`
	Position int           `json:"position"` // 0 the oldest, 10 the newest
	Mode     store.Mode    `json:"mode"`
	Rank     int           `json:"rank"`   // of its message, 0 if it is not on the first page
	InHand   bool          `json:"inHand"` // its value was read
	Calls    int           `json:"calls"`
	Tokens   int           `json:"tokens"`
	Elapsed  time.Duration `json:"elapsedNs"` // of the search
}

// Report is the result of Measure.
type Report struct {
	Seed  uint64 `json:"seed"`
	Finds []Find `json:"finds"`
}

// Figures sum up a part of a report.
type Figures struct {
	Needles int     `json:"needles"`
	Hit1    float64 `json:"hit1"`   // share that came first
	InHand  float64 `json:"inHand"` // share whose value was read
	Calls   float64 `json:"calls"`  // mean, until the value was in hand
	Tokens  float64 `json:"tokens"` // mean, read until then
	P50     float64 `json:"p50Ms"`  // of the search
	P95     float64 `json:"p95Ms"`
}

// Figures sums up the finds that keep chooses.
func (r Report) Figures(keep func(Find) bool) Figures {
	var f Figures
	var times []time.Duration
	for _, x := range r.Finds {
		if !keep(x) {
			continue
		}
		f.Needles++
		if x.Rank == 1 {
			f.Hit1++
		}
		if x.InHand {
			f.InHand++
		}
		f.Calls += float64(x.Calls)
		f.Tokens += float64(x.Tokens)
		times = append(times, x.Elapsed)
	}
	if f.Needles == 0 {
		return f
	}
	for _, v := range []*float64{&f.Hit1, &f.InHand, &f.Calls, &f.Tokens} {
		*v /= float64(f.Needles)
	}
	f.P50, f.P95 = harness.Quantile(times, 0.5), harness.Quantile(times, 0.95)
	return f
}

// Missed lists the needles that did not come first.
func (r Report) Missed() []Find {
	return slices.DeleteFunc(slices.Clone(r.Finds), func(f Find) bool { return f.Rank == 1 && f.InHand })
}

// Met reports whether every needle came first.
func (r Report) Met() bool { return len(r.Missed()) == 0 }

// Text returns the report as people read it.
func (r Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "needles found by exact key: %d positions × %d lanes × depths 0 to %d, seed %d\n\n", Positions, len(lanes), MaxDepth, r.Seed)
	fmt.Fprintf(&b, "%-10s %-10s %8s %7s %8s %6s %7s %9s %9s\n", "tokens", "mode", "needles", "hit@1", "in hand", "calls", "tokens", "p50 ms", "p95 ms")
	line := func(label string, mode string, f Figures) {
		fmt.Fprintf(&b, "%-10s %-10s %8d %7.3f %8.3f %6.2f %7.0f %9.2f %9.2f\n", label, mode, f.Needles, f.Hit1, f.InHand, f.Calls, f.Tokens, f.P50, f.P95)
	}
	for _, size := range distinct(r.Finds, func(f Find) int { return f.Size }) {
		for _, mode := range []store.Mode{store.Regex, store.FullText} {
			line(fmt.Sprint(size), string(mode), r.Figures(func(f Find) bool { return f.Size == size && f.Mode == mode }))
		}
	}
	b.WriteString("\n")
	for _, lane := range distinct(r.Finds, func(f Find) string { return f.Lane }) {
		line(lane, "both", r.Figures(func(f Find) bool { return f.Lane == lane }))
	}
	for _, depth := range distinct(r.Finds, func(f Find) int { return f.Depth }) {
		line(fmt.Sprint("depth ", depth), "both", r.Figures(func(f Find) bool { return f.Depth == depth }))
	}
	missed := r.Missed()
	fmt.Fprintf(&b, "\nmissed: %d\n", len(missed))
	for _, f := range missed {
		fmt.Fprintf(&b, "  %d tokens, depth %d, %s, position %d, %s: rank %d\n", f.Size, f.Depth, f.Lane, f.Position, f.Mode, f.Rank)
	}
	return b.String()
}

// distinct lists a property of the finds, each value once, in the order of the
// finds.
func distinct[T comparable](finds []Find, of func(Find) T) []T {
	var all []T
	for _, f := range finds {
		if v := of(f); !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}
