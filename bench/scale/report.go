package scale

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is the result of a measurement.
type Report struct {
	Machine Machine `json:"machine"`
	Budget  int     `json:"budget"`
	Samples int     `json:"samples"`
	Runs    []Run   `json:"runs"`
}

// Run is what was measured of one database.
type Run struct {
	Messages      int `json:"messages"`
	Conversations int `json:"conversations"`
	// IngestPerSecond and SQLPerSecond are messages a second, stored by the
	// engine and inserted by hand; Ratio is the former by the latter.
	IngestPerSecond float64 `json:"ingest_per_second"`
	SQLPerSecond    float64 `json:"sql_per_second"`
	Ratio           float64 `json:"ratio"`
	// IndexMillis is how long after the last batch the search index was
	// complete. Searches do not wait for it.
	IndexMillis float64 `json:"index_ms"`
	// Append is a durable append of one message, Cold a context of a fresh
	// session, Warm one of a session that has been asked before.
	Append        Times   `json:"append"`
	Cold          Times   `json:"context_cold"`
	Warm          Times   `json:"context_warm"`
	ContextTokens int     `json:"context_tokens"`
	Passes        int     `json:"passes"`
	PassMillis    float64 `json:"pass_ms"`
	// The CPU time of a context and of a pass, which a busy machine changes
	// less than their duration.
	ContextCPUMillis float64 `json:"context_cpu_ms"`
	PassCPUMillis    float64 `json:"pass_cpu_ms"`
	RawBytes         int64   `json:"raw_bytes"`
	DatabaseBytes    int64   `json:"database_bytes"`
	BytesPerRaw      float64 `json:"bytes_per_raw"`
	RSSBytes         int64   `json:"rss_bytes"`
}

// Times are quantiles in milliseconds.
type Times struct {
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
}

func quantiles(times []time.Duration) Times {
	if len(times) == 0 {
		return Times{}
	}
	slices.Sort(times)
	return Times{millis(times[len(times)/2]), millis(times[len(times)*99/100])}
}

func millis(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// Check sets a number beside its target.
type Check struct {
	What   string  `json:"what"`
	Got    float64 `json:"got"`
	Target float64 `json:"target"`
	// AtLeast says that more is better.
	AtLeast bool `json:"at_least"`
	OK      bool `json:"ok"`
}

// Checks sets the worst of the runs beside each target.
func (r Report) Checks() []Check {
	worst := func(pick func(Run) float64, better func(a, b float64) float64) float64 {
		v := pick(r.Runs[0])
		for _, run := range r.Runs[1:] {
			v = better(v, pick(run))
		}
		return v
	}
	highest := func(a, b float64) float64 { return max(a, b) }
	lowest := func(a, b float64) float64 { return min(a, b) }
	if len(r.Runs) == 0 {
		return nil
	}
	var checks []Check
	atMost := func(what string, got, target float64) {
		checks = append(checks, Check{What: what, Got: got, Target: target, OK: got <= target})
	}
	ratio := worst(func(r Run) float64 { return r.Ratio }, lowest)
	checks = append(checks, Check{What: "batch ingest, by hand-written SQL", Got: ratio, Target: 0.6, AtLeast: true, OK: ratio >= 0.6})
	atMost("context p50 of a fresh session, ms", worst(func(r Run) float64 { return r.Cold.P50 }, highest), 5)
	atMost("context p50 of a running session, ms", worst(func(r Run) float64 { return r.Warm.P50 }, highest), 5)
	atMost("compaction overhead a pass, ms", worst(func(r Run) float64 { return r.PassMillis }, highest), 2)
	atMost("database bytes a raw byte", r.density(), 3)
	if growth, ok := r.growth(func(r Run) float64 { return r.Cold.P50 }, sameContext); ok {
		atMost("growth of the context p50 from 10k on", growth, 2)
	}
	if growth, ok := r.growth(func(r Run) float64 { return r.Append.P50 }, anyRuns); ok {
		atMost("growth of the append p50 from 10k on", growth, 2)
	}
	return checks
}

// density is the worst of the bytes a raw byte, leaving out databases too small
// for their empty pages not to count.
func (r Report) density() float64 {
	var v float64
	for _, run := range r.Runs {
		if run.Messages >= 10_000 || len(r.Runs) == 1 {
			v = max(v, run.BytesPerRaw)
		}
	}
	return v
}

// growth is how much a number grows from 10,000 messages on, at the same
// number of conversations.
func (r Report) growth(pick func(Run) float64, alike func(a, b Run) bool) (float64, bool) {
	worst, found := 0.0, false
	for _, a := range r.Runs {
		for _, b := range r.Runs {
			if a.Conversations == b.Conversations && a.Messages == 10_000 && b.Messages > a.Messages && alike(a, b) {
				worst, found = max(worst, pick(b)/pick(a)), true
			}
		}
	}
	return worst, found
}

// sameContext reports whether two runs show models about as much. Where many
// conversations share few messages, a context is their whole history and grows
// with it, whatever the size of the record.
func sameContext(a, b Run) bool { return b.ContextTokens <= 2*a.ContextTokens }

func anyRuns(Run, Run) bool { return true }

// Text renders the report for people.
func (r Report) Text() string {
	var b strings.Builder
	m := r.Machine
	fmt.Fprintf(&b, "%s, %d cores", m.Platform, m.Cores)
	if m.CPU != "" {
		fmt.Fprintf(&b, " (%s)", m.CPU)
	}
	fmt.Fprintf(&b, ", %s, SQLite %s", m.Go, m.SQLite)
	if m.Load != "" {
		fmt.Fprintf(&b, ", load %s", m.Load)
	}
	b.WriteByte('\n')
	fmt.Fprintf(&b, "WAL, synchronous=FULL, up to %d messages a transaction, budget %d tokens, %d samples\n\n", batch, r.Budget, r.Samples)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	r.row(w, "messages", func(x Run) string { return fmt.Sprint(x.Messages) })
	r.row(w, "conversations", func(x Run) string { return fmt.Sprint(x.Conversations) })
	r.row(w, "batch ingest, messages/s", func(x Run) string { return fmt.Sprintf("%.0f", x.IngestPerSecond) })
	r.row(w, "the same rows by hand, /s", func(x Run) string { return fmt.Sprintf("%.0f", x.SQLPerSecond) })
	r.row(w, "ratio", func(x Run) string { return fmt.Sprintf("%.2f", x.Ratio) })
	r.row(w, "index complete after, ms", func(x Run) string { return fmt.Sprintf("%.0f", x.IndexMillis) })
	r.row(w, "durable append p50, ms", func(x Run) string { return fmt.Sprintf("%.2f", x.Append.P50) })
	r.row(w, "durable append p99, ms", func(x Run) string { return fmt.Sprintf("%.2f", x.Append.P99) })
	r.row(w, "context, fresh p50, ms", func(x Run) string { return fmt.Sprintf("%.2f", x.Cold.P50) })
	r.row(w, "context, fresh p99, ms", func(x Run) string { return fmt.Sprintf("%.2f", x.Cold.P99) })
	r.row(w, "context, running p50, ms", func(x Run) string { return fmt.Sprintf("%.2f", x.Warm.P50) })
	r.row(w, "context, running p99, ms", func(x Run) string { return fmt.Sprintf("%.2f", x.Warm.P99) })
	r.row(w, "context, mean CPU, ms", func(x Run) string { return fmt.Sprintf("%.2f", x.ContextCPUMillis) })
	r.row(w, "context, tokens", func(x Run) string { return fmt.Sprint(x.ContextTokens) })
	r.row(w, "compaction passes", func(x Run) string { return fmt.Sprint(x.Passes) })
	r.row(w, "overhead a pass, ms", func(x Run) string { return fmt.Sprintf("%.2f", x.PassMillis) })
	r.row(w, "mean CPU a pass, ms", func(x Run) string { return fmt.Sprintf("%.2f", x.PassCPUMillis) })
	r.row(w, "raw text, MB", func(x Run) string { return fmt.Sprintf("%.1f", float64(x.RawBytes)/1e6) })
	r.row(w, "database, MB", func(x Run) string { return fmt.Sprintf("%.1f", float64(x.DatabaseBytes)/1e6) })
	r.row(w, "bytes a raw byte", func(x Run) string { return fmt.Sprintf("%.2f", x.BytesPerRaw) })
	r.row(w, "RSS, MB", func(x Run) string { return fmt.Sprintf("%.0f", float64(x.RSSBytes)/1e6) })
	_ = w.Flush() // a strings.Builder takes everything
	b.WriteByte('\n')
	for _, c := range r.Checks() {
		verdict, bound := "ok   ", "at most"
		if !c.OK {
			verdict = "SHORT"
		}
		if c.AtLeast {
			bound = "at least"
		}
		fmt.Fprintf(&b, "%s  %-38s %8.2f  (%s %g)\n", verdict, c.What, c.Got, bound, c.Target)
	}
	return b.String()
}

// row writes one line of the table, a column for each run.
func (r Report) row(w *tabwriter.Writer, name string, cell func(Run) string) {
	fmt.Fprintf(w, "%-26s\t", name)
	for _, run := range r.Runs {
		fmt.Fprintf(w, "%s\t", cell(run))
	}
	fmt.Fprintln(w)
}
