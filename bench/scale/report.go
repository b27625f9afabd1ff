package scale

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/lossless-context/lcm/bench/harness"
)

// Report is the result of a measurement.
type Report struct {
	Machine harness.Machine `json:"machine"`
	// Corpus names the messages; only figures of the same corpus can be compared.
	Corpus  string `json:"corpus"`
	Budget  int    `json:"budget"`
	Samples int    `json:"samples"`
	Runs    []Run  `json:"runs"`
}

// Run has the figures of one database.
type Run struct {
	Messages      int `json:"messages"`
	Conversations int `json:"conversations"`
	// IngestPerSecond and SQLPerSecond are messages a second, stored by the
	// engine and inserted by hand; Ratio is the former by the latter.
	IngestPerSecond float64 `json:"ingestPerSecond"`
	SQLPerSecond    float64 `json:"sqlPerSecond"`
	Ratio           float64 `json:"ratio"`
	// IndexMillis is the time to build the search index. IndexedRatio compares
	// storing and indexing with hand-written SQL that fills a table with an FTS5 index.
	IndexMillis     float64 `json:"indexMs"`
	IndexedRatio    float64 `json:"indexedRatio"`
	GramBytesPerRaw float64 `json:"gramBytesPerRaw"`
	WordBytesPerRaw float64 `json:"wordBytesPerRaw"`
	GramShare       float64 `json:"gramShare"` // of storing and indexing, for trigrams
	// Searches are the kinds of search, each over several patterns.
	Searches []Search `json:"searches"`
	// How many times longer it takes to find a common word with the statement that
	// peers use, to loop over all texts than to find a selective expression, and to
	// find an expression without a literal than to match the texts in memory.
	PeerRatio   float64 `json:"peerRatio"`
	ScanRatio   float64 `json:"scanRatio"`
	MemoryRatio float64 `json:"memoryRatio"`
	// Compared is how many expressions found the same matches as a loop over all
	// texts. A difference ends the measurement with an error.
	Compared int `json:"compared"`
	// Append is a durable append of one message, Cold a context of a fresh
	// session, Warm one of a session that has been asked before.
	Append        Times   `json:"append"`
	Cold          Times   `json:"contextCold"`
	Warm          Times   `json:"contextWarm"`
	ContextTokens int     `json:"contextTokens"`
	Passes        int     `json:"passes"`
	PassMillis    float64 `json:"passMs"`    // the mean of a pass, with other work of the machine
	PassMedian    float64 `json:"passP50Ms"` // the median
	// The processor time of a context and of a pass depends less on other work.
	ContextCPUMillis float64 `json:"contextCpuMs"`
	PassCPUMillis    float64 `json:"passCpuMs"`
	RawBytes         int64   `json:"rawBytes"`
	DatabaseBytes    int64   `json:"databaseBytes"`
	BytesPerRaw      float64 `json:"bytesPerRaw"`
	RSSBytes         int64   `json:"rssBytes"`
}

// Search has the times of one kind of search.
type Search struct {
	Name   string  `json:"name"`
	P50    float64 `json:"p50Ms"`
	P95    float64 `json:"p95Ms"`
	Target float64 `json:"targetMs"` // of P95
	Hits   int     `json:"hits"`
}

// Times are quantiles in milliseconds.
type Times struct {
	P50 float64 `json:"p50Ms"`
	P99 float64 `json:"p99Ms"`
}

func quantiles(times []time.Duration) Times {
	return Times{harness.Quantile(times, 0.5), harness.Quantile(times, 0.99)}
}

// Checks sets the worst of the runs beside each target.
func (r Report) Checks() []harness.Check {
	if len(r.Runs) == 0 {
		return nil
	}
	column := func(pick func(Run) float64) (all []float64) {
		for _, run := range r.Runs {
			all = append(all, pick(run))
		}
		return all
	}
	highest := func(pick func(Run) float64) float64 { return slices.Max(column(pick)) }
	lowest := func(pick func(Run) float64) float64 { return slices.Min(column(pick)) }
	checks := []harness.Check{
		harness.AtLeast("batch ingest, by hand-written SQL", lowest(func(r Run) float64 { return r.Ratio }), 0.6),
		harness.AtLeast("stored and indexed, by FTS5 by hand", lowest(func(r Run) float64 { return r.IndexedRatio }), 0.6),
		harness.AtMost("trigram bytes a byte of text", r.large(func(r Run) float64 { return r.GramBytesPerRaw }), 0.35),
		harness.AtMost("trigrams' share of storing and indexing", r.large(func(r Run) float64 { return r.GramShare }), 0.3),
	}
	for i, s := range r.Runs[0].Searches {
		checks = append(checks, harness.AtMost(s.Name+" p95, ms", highest(func(r Run) float64 { return r.Searches[i].P95 }), s.Target))
	}
	checks = append(checks, harness.AtMost("expression without a literal, by memory", r.large(func(r Run) float64 { return r.MemoryRatio }), 1.5))
	if last := r.Runs[len(r.Runs)-1]; last.Messages >= 100_000 {
		checks = append(checks, harness.AtLeast("common word, times faster than peers", last.PeerRatio, 10), harness.AtLeast("selective regex, times a scan", last.ScanRatio, 20))
	}
	checks = append(checks,
		harness.AtMost("context p50 of a fresh session, ms", highest(func(r Run) float64 { return r.Cold.P50 }), 5),
		harness.AtMost("context p50 of a running session, ms", highest(func(r Run) float64 { return r.Warm.P50 }), 5),
		harness.AtMost("compaction overhead a pass, ms", highest(func(r Run) float64 { return r.PassMillis }), 5),
		harness.AtMost("database bytes a raw byte", r.large(func(r Run) float64 { return r.BytesPerRaw }), 3))
	if growth, ok := r.growth(func(r Run) float64 { return r.Cold.P50 }, sameContext); ok {
		checks = append(checks, harness.AtMost("growth of the context p50 from 10k on", growth, 2))
	}
	if growth, ok := r.growth(func(r Run) float64 { return r.Append.P50 }, anyRuns); ok {
		checks = append(checks, harness.AtMost("growth of the append p50 from 10k on", growth, 2))
	}
	return checks
}

// large is the worst of a number, without small databases, in which empty pages,
// dictionaries and the start of a search count.
func (r Report) large(pick func(Run) float64) float64 {
	var v float64
	for _, run := range r.Runs {
		if run.Messages >= 10_000 || len(r.Runs) == 1 {
			v = max(v, pick(run))
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
// with it, at any size of the record.
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
	fmt.Fprintf(&b, "WAL, synchronous=FULL, up to %d messages a transaction, budget %d tokens, %d samples, corpus %s\n\n", batch, r.Budget, r.Samples, r.Corpus)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	r.row(w, "messages", func(x Run) string { return fmt.Sprint(x.Messages) })
	r.row(w, "conversations", func(x Run) string { return fmt.Sprint(x.Conversations) })
	r.row(w, "batch ingest, messages/s", func(x Run) string { return fmt.Sprintf("%.0f", x.IngestPerSecond) })
	r.row(w, "the same rows by hand, /s", func(x Run) string { return fmt.Sprintf("%.0f", x.SQLPerSecond) })
	r.row(w, "ratio", func(x Run) string { return fmt.Sprintf("%.2f", x.Ratio) })
	r.row(w, "index, ms", func(x Run) string { return fmt.Sprintf("%.0f", x.IndexMillis) })
	r.row(w, "stored+indexed, by FTS5", func(x Run) string { return fmt.Sprintf("%.2f", x.IndexedRatio) })
	r.row(w, "trigrams a byte of text", func(x Run) string { return fmt.Sprintf("%.2f", x.GramBytesPerRaw) })
	r.row(w, "trigrams, share of the time", func(x Run) string { return fmt.Sprintf("%.2f", x.GramShare) })
	r.row(w, "words a byte of text", func(x Run) string { return fmt.Sprintf("%.2f", x.WordBytesPerRaw) })
	if len(r.Runs) > 0 {
		for i, s := range r.Runs[0].Searches {
			r.row(w, s.Name+" p95, ms", func(x Run) string { return fmt.Sprintf("%.1f", x.Searches[i].P95) })
		}
	}
	r.row(w, "common word, times peers'", func(x Run) string { return fmt.Sprintf("%.0f", x.PeerRatio) })
	r.row(w, "regex, times a scan", func(x Run) string { return fmt.Sprintf("%.0f", x.ScanRatio) })
	r.row(w, "no literal, by memory", func(x Run) string { return fmt.Sprintf("%.2f", x.MemoryRatio) })
	r.row(w, "expressions as by a loop", func(x Run) string { return fmt.Sprint(x.Compared) })
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
	r.row(w, "overhead a pass p50, ms", func(x Run) string { return fmt.Sprintf("%.2f", x.PassMedian) })
	r.row(w, "mean CPU a pass, ms", func(x Run) string { return fmt.Sprintf("%.2f", x.PassCPUMillis) })
	r.row(w, "raw text, MB", func(x Run) string { return fmt.Sprintf("%.1f", float64(x.RawBytes)/1e6) })
	r.row(w, "database, MB", func(x Run) string { return fmt.Sprintf("%.1f", float64(x.DatabaseBytes)/1e6) })
	r.row(w, "bytes a raw byte", func(x Run) string { return fmt.Sprintf("%.2f", x.BytesPerRaw) })
	r.row(w, "RSS, MB", func(x Run) string { return fmt.Sprintf("%.0f", float64(x.RSSBytes)/1e6) })
	_ = w.Flush() // a strings.Builder takes everything
	b.WriteByte('\n')
	harness.WriteChecks(&b, r.Checks(), 38)
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
