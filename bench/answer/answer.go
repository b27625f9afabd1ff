// Package answer measures answers without a model: of the messages known to
// hold the answer to a question, the share that stands, word for word, in the
// passages that lcm_expand_query returns as evidence.
//
// Every question takes the whole way: the record in a database, the session,
// [lcm.Session.Ask] with output "evidence" under the cap on the answer. A
// message counts only if all of its text is there; for the bundled questions
// the words of the answer must be there.
//
// The figures say nothing about how well a reader would answer with the
// evidence.
package answer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/bench/harness"
	benchmark "github.com/lossless-context/lcm/bench/recall"
	"github.com/lossless-context/lcm/internal/proof/sample"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// Options adjust a run.
type Options struct {
	// MaxTokens caps each answer; 0 is the tool's default.
	MaxTokens int
	// Dir is where databases are made; empty is a temporary directory.
	Dir      string
	Progress harness.Progress
}

// Figures are the outcome over a set of questions.
type Figures struct {
	Questions int `json:"questions"`
	// Share is the mean share of a question's evidence inside its answer, Any
	// and All the shares of questions with some and with all of it.
	Share float64 `json:"share"`
	Any   float64 `json:"any"`
	All   float64 `json:"all"`
	// Tokens is the mean size of an answer's text, Whole that of the whole
	// result as JSON, citations included.
	Tokens float64 `json:"tokens"`
	Whole  float64 `json:"whole"`
}

// Report is the outcome of a run.
type Report struct {
	Dataset    string            `json:"dataset"`
	MaxTokens  int               `json:"maxTokens"`
	Messages   int               `json:"messages"`
	LeftOut    int               `json:"leftOut"` // questions without evidence
	All        Figures           `json:"all"`
	Categories []CategoryFigures `json:"categories"`
	// Largest is the size of the largest result, in tokens of its JSON.
	Largest int `json:"largest"`
	// Milliseconds is the median time of an answer.
	Milliseconds float64  `json:"milliseconds"`
	Missed       []string `json:"missed,omitempty"` // of the bundled questions
}

// CategoryFigures are the figures of one category of questions.
type CategoryFigures struct {
	Category string `json:"category"`
	Figures
}

// asked is one question with the texts that must be in its answer.
type asked struct {
	id, category, text string
	session            *lcm.Session
	spans              []string // each is looked for
}

// Dataset measures on a dataset of package bench/recall.
func Dataset(ctx context.Context, d benchmark.Dataset, o Options) (r Report, err error) {
	b, err := newRecord(ctx, o)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, b.Close(ctx)) }()
	texts := map[string]map[string]string{}
	sessions := map[string]*lcm.Session{}
	for _, c := range d.Conversations {
		texts[c.ID] = map[string]string{}
		sessions[c.ID] = b.Engine.Session("bench/" + c.ID)
		var ms []llms.Message
		for _, s := range c.Sessions {
			for _, m := range s.Messages {
				texts[c.ID][m.ID] = m.Text
				said := llms.Text(llms.Role(m.Role), m.Text)
				if !said.Role.Valid() {
					said.Role = llms.RoleUser
				}
				said.ID, said.Time = m.ID, m.Time
				ms = append(ms, said)
			}
		}
		if err := sessions[c.ID].Append(ctx, ms...); err != nil {
			return r, err
		}
		r.Messages += len(ms)
	}
	var questions []asked
	for _, q := range d.Questions {
		a := asked{id: q.Text, category: q.Category, text: q.Text, session: sessions[q.Conversation]}
		for _, e := range q.Evidence {
			if text, ok := texts[q.Conversation][e]; ok && !slices.Contains(a.spans, text) {
				a.spans = append(a.spans, text)
			}
		}
		if len(a.spans) == 0 {
			r.LeftOut++
			continue
		}
		questions = append(questions, a)
	}
	r.Dataset = d.Name
	return r, r.ask(ctx, questions, o)
}

// Bundled measures on the bundled session and its questions: whether the words
// of the answer stand in the passages.
func Bundled(ctx context.Context, o Options) (r Report, err error) {
	session, done, err := sampleSession(ctx, o)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, done()) }()
	r.Dataset, r.Messages = "bundled session", len(sample.Messages())
	var questions []asked
	for _, q := range sample.Questions() {
		a := asked{id: q.ID, category: "verbatim", text: q.Question, session: session, spans: []string{q.Answer}}
		if q.Paraphrased {
			a.category = "paraphrased"
		}
		questions = append(questions, a)
	}
	return r, r.ask(ctx, questions, o)
}

func newRecord(ctx context.Context, o Options) (*harness.Record, error) {
	return harness.Temp(ctx, o.Dir, sqlite.Options{Relaxed: true}, lcm.WithoutBackground())
}

// outcome has the values of one question.
type outcome struct {
	category string
	share    float64
	tokens   int
	whole    int
}

func (r *Report) ask(ctx context.Context, questions []asked, o Options) error {
	r.MaxTokens = o.MaxTokens
	if r.MaxTokens == 0 {
		r.MaxTokens = recall.DefaultMaxTokens
	}
	var outcomes []outcome
	var times []time.Duration
	for i, q := range questions {
		begun := time.Now()
		a, err := q.session.Ask(ctx, recall.Question{
			Prompt: q.text, Query: q.text, MaxTokens: o.MaxTokens, Output: recall.OutputEvidence,
		})
		if err != nil {
			return fmt.Errorf("question %q: %w", q.text, err)
		}
		times = append(times, time.Since(begun))
		got := outcome{category: q.category, tokens: llms.Estimate.Count(a.Answer)}
		if got.whole, err = resultSize(a); err != nil {
			return err
		}
		r.Largest = max(r.Largest, got.whole)
		for _, span := range q.spans {
			if strings.Contains(a.Answer, strings.TrimSpace(span)) {
				got.share += 1 / float64(len(q.spans))
			}
		}
		if got.share == 0 && r.Dataset == "bundled session" {
			r.Missed = append(r.Missed, q.id)
		}
		outcomes = append(outcomes, got)
		o.Progress.Tell(int64(i+1), int64(len(questions)), fmt.Sprintf("question %d", i+1))
	}
	r.Milliseconds = harness.Quantile(times, 0.5)
	r.summarise(outcomes)
	return nil
}

// resultSize counts the tokens of a result as tools return it.
func resultSize(a recall.Answer) (int, error) {
	raw, err := json.Marshal(a)
	return llms.Estimate.Count(string(raw)), err
}

func (r *Report) summarise(outcomes []outcome) {
	r.All = figures(outcomes)
	var categories []string
	for _, o := range outcomes {
		if o.category != "" && !slices.Contains(categories, o.category) {
			categories = append(categories, o.category)
		}
	}
	slices.Sort(categories)
	for _, c := range categories {
		part := slices.DeleteFunc(slices.Clone(outcomes), func(o outcome) bool { return o.category != c })
		r.Categories = append(r.Categories, CategoryFigures{c, figures(part)})
	}
}

func figures(outcomes []outcome) Figures {
	f := Figures{Questions: len(outcomes)}
	if len(outcomes) == 0 {
		return f
	}
	each := 1 / float64(len(outcomes))
	for _, o := range outcomes {
		f.Share += each * o.share
		f.Tokens += each * float64(o.tokens)
		f.Whole += each * float64(o.whole)
		if o.share > 0 {
			f.Any += each
		}
		if o.share > 0.999 {
			f.All += each
		}
	}
	return f
}

// Text returns the report as people read it.
func (r Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d messages, %d questions (%d without evidence left out)\n", r.Dataset, r.Messages, r.All.Questions, r.LeftOut)
	fmt.Fprintf(&b, "evidence inside the answer, no model, maxTokens %d; the largest result has %d; median %.1f ms\n\n", r.MaxTokens, r.Largest, r.Milliseconds)
	fmt.Fprintf(&b, "%-14s %9s %7s %7s %7s %7s %7s\n", "", "questions", "share", "any", "all", "tokens", "whole")
	row := func(name string, f Figures) {
		fmt.Fprintf(&b, "%-14s %9d %7.3f %7.3f %7.3f %7.0f %7.0f\n", name, f.Questions, f.Share, f.Any, f.All, f.Tokens, f.Whole)
	}
	row("all", r.All)
	for _, c := range r.Categories {
		row(c.Category, c.Figures)
	}
	return b.String()
}
