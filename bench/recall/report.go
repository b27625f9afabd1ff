package recall

import (
	"fmt"
	"strings"
)

// Text returns the report as a table.
func (r Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d conversations, %d messages, %d questions with evidence (%d left out)\n",
		r.Dataset, r.Conversations, r.Messages, r.Questions, r.LeftOut)
	w := r.Weights
	fmt.Fprintf(&b, "weights: pair %g, neighbour %g, answer %g, second %g, coverage %g, turn %g, span %g, near ×%g; bootstrap %d, seed %d\n",
		w.Pair, w.Neighbour, w.Answer, w.Second, w.Coverage, w.Turn, w.Span, w.Near, r.Resamples, r.Seed)
	for _, s := range r.Systems {
		fmt.Fprintf(&b, "\n%s\n", s.Name)
		fmt.Fprintf(&b, "  %-14s %5s %21s %21s %21s %21s %21s %21s %6s\n",
			"", "n", "r@5", "r@10", "r@20", "session hit@1", "session hit@5", "MRR", "empty")
		row(&b, "all", s.All)
		for _, c := range s.Categories {
			row(&b, c.Category, c.Figures)
		}
	}
	return b.String()
}

func row(b *strings.Builder, name string, f Figures) {
	fmt.Fprintf(b, "  %-14s %5d", name, f.Questions)
	for _, m := range []Metric{f.R5, f.R10, f.R20, f.SessionHit1, f.SessionHit5, f.MRR} {
		fmt.Fprintf(b, "  %.3f [%.3f, %.3f]", m.Mean, m.Low, m.High)
	}
	fmt.Fprintf(b, " %6d\n", f.Empty)
}
