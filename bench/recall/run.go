package recall

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/lossless-context/lcm/internal/search"
)

// Options adjust a run. The zero value measures with the engine's defaults.
type Options struct {
	Weights   *search.Weights // of the ranking; nil: search.DefaultWeights
	Resamples int             // of the bootstrap; zero: 2,000
	Seed      uint64          // of the bootstrap
	// Keep, when set, chooses the conversations whose questions are asked; all
	// conversations are indexed in any case.
	Keep func(conversation string) bool
	// Also are further ways of searching to measure, such as a whole store.
	Also []Contender
}

// Contender is a way of searching that the caller brings. Search returns the
// ids of messages of the conversation, best first, and an empty one for a place
// that something else takes.
type Contender struct {
	Name   string
	Search func(ctx context.Context, conversation, question string) ([]string, error)
}

// Metric is a mean over questions with its 95 % interval.
type Metric struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Figures are the metrics of one system over one set of questions.
type Figures struct {
	Questions   int    `json:"questions"`
	R5          Metric `json:"r@5"`
	R10         Metric `json:"r@10"`
	R20         Metric `json:"r@20"`
	SessionHit1 Metric `json:"sessionHit@1"`
	SessionHit5 Metric `json:"sessionHit@5"`
	MRR         Metric `json:"mrr"`
	Empty       int    `json:"empty"` // questions that found nothing
}

// System has the figures of one way of searching.
type System struct {
	Name       string            `json:"name"`
	All        Figures           `json:"all"`
	Categories []CategoryFigures `json:"categories"`
}

// CategoryFigures are the figures of one category of questions.
type CategoryFigures struct {
	Category string `json:"category"`
	Figures
}

// Report is the outcome of a run with all that is needed to repeat it.
type Report struct {
	Dataset       string         `json:"dataset"`
	Conversations int            `json:"conversations"`
	Messages      int            `json:"messages"`
	Questions     int            `json:"questions"`
	LeftOut       int            `json:"leftOut"` // questions without evidence in their conversation
	Weights       search.Weights `json:"weights"`
	Resamples     int            `json:"resamples"`
	Seed          uint64         `json:"seed"`
	Systems       []System       `json:"systems"` // the engine first
}

// outcome has the values of one question, in the order of Figures.
type outcome struct {
	category string
	values   [6]float64
	empty    bool
}

// Run measures the engine and the baselines on a dataset.
func Run(ctx context.Context, d Dataset, opts Options) (rep Report, err error) {
	weights := search.DefaultWeights()
	if opts.Weights != nil {
		weights = *opts.Weights
	}
	if opts.Resamples <= 0 {
		opts.Resamples = 2000
	}
	c := newCorpus(d)
	rep = Report{
		Dataset: d.Name, Conversations: len(d.Conversations), Messages: len(c.docs),
		Weights: weights, Resamples: opts.Resamples, Seed: opts.Seed,
	}
	engine, err := newEngine(ctx, c, weights)
	if err != nil {
		return rep, fmt.Errorf("index the dataset: %w", err)
	}
	and, err := newBaseline(ctx, c, "unicode61 remove_diacritics 2", andWords)
	if err != nil {
		return rep, err
	}
	defer func() { err = errors.Join(err, and.close()) }()
	or, err := newBaseline(ctx, c, "porter unicode61 remove_diacritics 2", orWords)
	if err != nil {
		return rep, err
	}
	defer func() { err = errors.Join(err, or.close()) }()
	type system struct {
		name string
		searcher
	}
	systems := []system{{"lcm", engine}, {"FTS5 AND", and}, {"FTS5 OR, porter, no function words", or}}
	for _, also := range opts.Also {
		systems = append(systems, system{also.Name, contender{also, c}})
	}
	for _, s := range systems {
		outcomes, leftOut, err := ask(ctx, d, c, s, opts.Keep)
		if err != nil {
			return rep, fmt.Errorf("%s: %w", s.name, err)
		}
		rep.Questions, rep.LeftOut = len(outcomes), leftOut
		rep.Systems = append(rep.Systems, summarise(s.name, outcomes, opts))
	}
	return rep, nil
}

// ask puts every question that has evidence to a searcher.
func ask(ctx context.Context, d Dataset, c *corpus, s searcher, keep func(string) bool) (out []outcome, leftOut int, err error) {
	for _, q := range d.Questions {
		if keep != nil && !keep(q.Conversation) {
			continue
		}
		conversation := c.conversations[q.Conversation]
		gold := make(map[int64]bool)
		for _, e := range q.Evidence {
			if id, ok := c.ids[conversation-1][e]; ok {
				gold[id] = true
			}
		}
		if len(gold) == 0 {
			leftOut++
			continue
		}
		hits, err := s.search(ctx, q, conversation)
		if err != nil {
			return nil, 0, err
		}
		out = append(out, c.judge(q.Category, hits, gold))
	}
	return out, leftOut, nil
}

// judge compares a ranking with the evidence.
func (c *corpus) judge(category string, hits []int64, gold map[int64]bool) outcome {
	o := outcome{category: category, empty: len(hits) == 0}
	share := 1 / float64(len(gold))
	for i, id := range hits {
		if !gold[id] {
			continue
		}
		for n, k := range []int{5, 10, 20} {
			if i < k {
				o.values[n] += share
			}
		}
	}
	sessions := make(map[int]bool)
	for id := range gold {
		sessions[c.session[id-1]] = true
	}
	var ranked []int
	for _, id := range hits {
		if id == noMessage {
			continue
		}
		if s := c.session[id-1]; !slices.Contains(ranked, s) {
			ranked = append(ranked, s)
		}
	}
	for rank, s := range ranked {
		if !sessions[s] {
			continue
		}
		if rank == 0 {
			o.values[3] = 1
		}
		if rank < 5 {
			o.values[4] = 1
		}
		o.values[5] = 1 / float64(rank+1)
		break
	}
	return o
}

func summarise(name string, outcomes []outcome, opts Options) System {
	s := System{Name: name, All: figures(outcomes, opts)}
	var categories []string
	for _, o := range outcomes {
		if o.category != "" && !slices.Contains(categories, o.category) {
			categories = append(categories, o.category)
		}
	}
	slices.Sort(categories)
	for _, category := range categories {
		part := slices.DeleteFunc(slices.Clone(outcomes), func(o outcome) bool { return o.category != category })
		s.Categories = append(s.Categories, CategoryFigures{category, figures(part, opts)})
	}
	return s
}

func figures(outcomes []outcome, opts Options) Figures {
	f := Figures{Questions: len(outcomes)}
	for _, o := range outcomes {
		if o.empty {
			f.Empty++
		}
	}
	for n, m := range []*Metric{&f.R5, &f.R10, &f.R20, &f.SessionHit1, &f.SessionHit5, &f.MRR} {
		values := make([]float64, len(outcomes))
		for i, o := range outcomes {
			values[i] = o.values[n]
		}
		*m = bootstrap(values, opts)
	}
	return f
}

// bootstrap is the mean and its percentile interval over resampled questions.
func bootstrap(values []float64, opts Options) Metric {
	if len(values) == 0 {
		return Metric{}
	}
	rng := rand.New(rand.NewPCG(opts.Seed, uint64(len(values))))
	means := make([]float64, opts.Resamples)
	for i := range means {
		for range values {
			means[i] += values[rng.IntN(len(values))]
		}
		means[i] /= float64(len(values))
	}
	slices.Sort(means)
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	at := func(q float64) float64 { return means[min(int(q*float64(len(means))), len(means)-1)] }
	return Metric{Mean: sum / float64(len(values)), Low: at(0.025), High: at(0.975)}
}
