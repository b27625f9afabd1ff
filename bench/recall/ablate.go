package recall

import (
	"context"
	"fmt"
	"strings"

	"github.com/lossless-context/lcm/internal/search"
)

// part is a part of the ranking that a measurement leaves out.
type part struct {
	name   string
	remove func(*search.Weights)
}

// parts are all of them.
var parts = []part{
	{"side-by-side words", func(w *search.Weights) { w.Pair = 0 }},
	{"neighbours", func(w *search.Weights) { w.Neighbour, w.Answer, w.Second = 0, 0, 0 }},
	{"session coverage", func(w *search.Weights) { w.Coverage = 0 }},
	{"turn coverage", func(w *search.Weights) { w.Turn = 0 }},
	{"named times", func(w *search.Weights) { w.Span = 0 }},
	{"who said it", func(w *search.Weights) { w.User, w.Closing, w.Work = 1, 1, 1 }},
	{"other words", func(w *search.Weights) { w.Near = 0 }},
}

// Ablation has the figures of the ranking, and those without each of its parts.
type Ablation struct {
	Dataset string        `json:"dataset"`
	All     Figures       `json:"all"`
	Without []WithoutPart `json:"without"`
}

// WithoutPart has the figures without one part of the ranking, and in how many
// conversations its r@10 was then lower and higher.
type WithoutPart struct {
	Part   string `json:"part"`
	Lower  int    `json:"lower"`
	Higher int    `json:"higher"`
	Figures
}

// Ablate measures the ranking of the index with all its parts, and without each.
func Ablate(ctx context.Context, d Dataset) (Ablation, error) {
	c := newCorpus(d)
	weights := search.DefaultWeights()
	e, err := newEngine(ctx, c, weights)
	if err != nil {
		return Ablation{}, fmt.Errorf("index the dataset: %w", err)
	}
	measure := func() (Figures, []float64, error) {
		var all []outcome
		var each []float64
		for _, talk := range d.Conversations {
			o, _, err := ask(ctx, d, c, e, func(conversation string) bool { return conversation == talk.ID })
			if err != nil {
				return Figures{}, nil, err
			}
			all = append(all, o...)
			each = append(each, figures(o, Options{Resamples: 1}).R10.Mean)
		}
		return figures(all, Options{Resamples: 1}), each, nil
	}
	out := Ablation{Dataset: d.Name}
	all, whole, err := measure()
	if err != nil {
		return out, err
	}
	out.All = all
	for _, p := range parts {
		e.weights = weights
		p.remove(&e.weights)
		row := WithoutPart{Part: p.name}
		var each []float64
		if row.Figures, each, err = measure(); err != nil {
			return out, err
		}
		for i, r10 := range each {
			if r10 < whole[i] {
				row.Lower++
			}
			if r10 > whole[i] {
				row.Higher++
			}
		}
		out.Without = append(out.Without, row)
	}
	return out, nil
}

// Text returns the figures as a table.
func (a Ablation) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d questions with evidence\n\n", a.Dataset, a.All.Questions)
	fmt.Fprintf(&b, "%-24s %6s %6s %6s %14s %14s %6s  %s\n", "without", "r@5", "r@10", "r@20", "session hit@1", "session hit@5", "MRR", "conversations with lower, higher r@10")
	line := func(name string, f Figures, of string) {
		fmt.Fprintf(&b, "%-24s %6.3f %6.3f %6.3f %14.3f %14.3f %6.3f  %s\n",
			name, f.R5.Mean, f.R10.Mean, f.R20.Mean, f.SessionHit1.Mean, f.SessionHit5.Mean, f.MRR.Mean, of)
	}
	line("(nothing)", a.All, "")
	for _, w := range a.Without {
		line(w.Part, w.Figures, fmt.Sprintf("%d, %d", w.Lower, w.Higher))
	}
	return b.String()
}
