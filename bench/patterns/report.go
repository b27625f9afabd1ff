package patterns

import (
	"fmt"
	"strings"

	"github.com/lossless-context/lcm/bench/harness"
)

// Row is the outcome for one pattern. Times are processor times in milliseconds.
type Row struct {
	Pattern
	Tier      string  // how the store found the matches: index or scan
	Matched   int     // messages
	RgMatched int     // messages, as rg counts them
	Page      float64 // of a page, counted up to 1,000 matches
	Count     float64 // of a complete count
	Rg        float64 // of rg
}

// Report is the outcome of a run.
type Report struct {
	Machine  harness.Machine
	Messages int64
	Bytes    int64 // of text
	Ripgrep  bool  // rg was there to compare with
	Rows     []Row
}

// The targets: a page takes at most so many times the processor time of rg.
const (
	indexedRatio = 1.5
	scannedRatio = 5
	// noise in milliseconds is less than a page or a start of rg ever takes.
	noise = 1
)

// within reports whether a page takes at most so many times as long as rg.
func (r Row) within() bool {
	ratio := indexedRatio
	if r.Scan {
		ratio = scannedRatio
	}
	return r.Page <= max(noise, ratio*r.Rg)
}

// Checks sets the report beside its targets.
func (r Report) Checks() []harness.Check {
	if !r.Ripgrep {
		return nil
	}
	var indexed, indexedOK, scanned, scannedOK float64
	for _, row := range r.Rows {
		n, ok := &indexed, &indexedOK
		if row.Scan {
			n, ok = &scanned, &scannedOK
		}
		*n++
		if row.within() {
			*ok++
		}
	}
	return []harness.Check{
		harness.AtLeast(fmt.Sprintf("patterns with a literal or a small class, a page ≤ %g × rg", indexedRatio), indexedOK, indexed),
		harness.AtLeast(fmt.Sprintf("other patterns, a page ≤ %d × rg", scannedRatio), scannedOK, scanned),
	}
}

// Text is the report for people.
func (r Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d messages, %.0f MB; %s, %d cores, load %s; processor time in ms\n", r.Messages, float64(r.Bytes)/1e6, r.Machine.CPU, r.Machine.Cores, r.Machine.Load)
	if !r.Ripgrep {
		b.WriteString("rg is not installed: the counts were compared with a loop over all texts, the times with nothing\n")
	}
	fmt.Fprintf(&b, "\n%-24s %-6s %9s %9s %9s %9s %7s  %s\n", "", "", "messages", "page", "count", "rg", "page/rg", "pattern")
	for _, row := range r.Rows {
		ratio, mark := "", ""
		if r.Ripgrep {
			ratio = fmt.Sprintf("%.2f", row.Page/row.Rg)
			if !row.within() {
				mark = " !"
			}
		}
		fmt.Fprintf(&b, "%-24s %-6s %9d %9.1f %9.1f %9.1f %7s  %s%s\n", row.Kind, row.Tier, row.Matched, row.Page, row.Count, row.Rg, ratio, row.Expr, mark)
	}
	b.WriteString("\n")
	harness.WriteChecks(&b, r.Checks(), 60)
	return b.String()
}
