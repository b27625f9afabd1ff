package answer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/kit/lazyregexp"
	"github.com/lossless-context/lcm/internal/proof/sample"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// Prompts are questions that say nothing about the query they are asked with:
// the examples that the specification of lcm_expand_query gives.
var Prompts = []string{
	"What exact freshTailCount values were discussed and why was 16 chosen?",
	"What was the root cause and what commits fixed it?",
	"What were the exact file changes?",
	"What's the current deployment process?",
}

// Identifiers are chosen from the session: identifierCount of them that occur
// in one to mostMessages messages, spread evenly over it.
const (
	identifierCount = 20
	mostMessages    = 3
)

// IdentifierReport has the figures for answers when an identifier was the query and
// the prompt was about something else.
type IdentifierReport struct {
	Identifiers []string           `json:"identifiers"`
	Bounds      []IdentifierFigure `json:"bounds"`
}

// IdentifierFigure is the outcome of all calls under one maxTokens.
type IdentifierFigure struct {
	MaxTokens int `json:"maxTokens"`
	Calls     int `json:"calls"`
	// Answered counts answers with a message that has the identifier, First
	// those that begin with one.
	Answered int `json:"answered"`
	First    int `json:"first"`
	// Tokens is the mean size of the whole result as JSON, Largest the size of
	// the largest one.
	Tokens  float64  `json:"tokens"`
	Largest int      `json:"largest"`
	Missed  []string `json:"missed,omitempty"` // not first
}

// Identifiers asks for identifiers of the bundled session, each with every one
// of Prompts, under each of the bounds.
func Identifiers(ctx context.Context, o Options, bounds ...int) (r IdentifierReport, err error) {
	session, done, err := sampleSession(ctx, o)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, done()) }()
	r.Identifiers = pickIdentifiers(sample.Messages())
	asked := 0
	for _, bound := range bounds {
		f := IdentifierFigure{MaxTokens: bound}
		for _, id := range r.Identifiers {
			for _, prompt := range Prompts {
				a, err := session.Ask(ctx, recall.Question{Query: id, Prompt: prompt, MaxTokens: bound, Output: recall.OutputEvidence})
				if err != nil {
					return r, fmt.Errorf("query %q: %w", id, err)
				}
				if err := f.count(a, id); err != nil {
					return r, err
				}
				asked++
				o.Progress.Tell(int64(asked), int64(len(bounds)*len(r.Identifiers)*len(Prompts)), fmt.Sprintf("question %d", asked))
			}
		}
		f.Tokens /= float64(max(f.Calls, 1))
		r.Bounds = append(r.Bounds, f)
	}
	return r, nil
}

// passageLine is where a passage of an answer begins.
var passageLine = lazyregexp.New(`(?m)^msg_\d+ \w+: `)

func (f *IdentifierFigure) count(a recall.Answer, id string) error {
	f.Calls++
	starts := passageLine().FindAllStringIndex(a.Answer, 2)
	first := ""
	if len(starts) > 0 {
		first = a.Answer[starts[0][0]:]
	}
	if len(starts) > 1 {
		first = a.Answer[starts[0][0]:starts[1][0]]
	}
	if strings.Contains(a.Answer, id) {
		f.Answered++
	}
	if strings.Contains(first, id) {
		f.First++
	} else if !slices.Contains(f.Missed, id) {
		f.Missed = append(f.Missed, id)
	}
	size, err := resultSize(a)
	f.Tokens += float64(size)
	f.Largest = max(f.Largest, size)
	return err
}

// identifierWord finds words that may be identifiers. Numbers and times begin
// with a digit.
var identifierWord = lazyregexp.New(`\b[A-Za-z][A-Za-z0-9_]*(?:[-./][A-Za-z0-9_]+)*`)

// identifierMark finds characters that prose does not have inside a word.
var identifierMark = lazyregexp.New(`[0-9_/]|[a-z][A-Z]`)

// pickIdentifiers chooses identifiers: words that prose does not have and that
// stand, as part of anything, in one to mostMessages messages.
func pickIdentifiers(messages []llms.Message) []string {
	texts := make([]string, len(messages))
	for i, m := range messages {
		texts[i] = m.SearchText()
	}
	var all []string
	for _, text := range texts {
		for _, w := range identifierWord().FindAllString(text, -1) {
			if len(w) < 6 || len(w) > 40 || !identifierMark().MatchString(w) || slices.Contains(all, w) {
				continue
			}
			n := 0
			for _, t := range texts {
				if strings.Contains(t, w) {
					n++
				}
			}
			if n <= mostMessages {
				all = append(all, w)
			}
		}
	}
	out := make([]string, 0, identifierCount)
	for i := range min(identifierCount, len(all)) {
		out = append(out, all[i*len(all)/identifierCount])
	}
	return out
}

// Text returns the report as people read it.
func (r IdentifierReport) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d identifiers as queries, each with %d prompts about something else; no model\n\n", len(r.Identifiers), len(Prompts))
	fmt.Fprintf(&b, "%9s %7s %9s %7s %7s %8s\n", "maxTokens", "calls", "answered", "first", "tokens", "largest")
	for _, f := range r.Bounds {
		fmt.Fprintf(&b, "%9d %7d %9d %7d %7.0f %8d\n", f.MaxTokens, f.Calls, f.Answered, f.First, f.Tokens, f.Largest)
	}
	return b.String()
}

// sampleSession stores the bundled session and compacts it. done removes it.
func sampleSession(ctx context.Context, o Options) (session *lcm.Session, done func() error, err error) {
	b, err := newRecord(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	session, done = b.Engine.Session("bench/sample"), func() error { return b.Close(ctx) }
	if err = session.Append(ctx, sample.Messages()...); err == nil {
		_, err = session.Compact(ctx, lcm.CompactOptions{Budget: 32_000, Full: true})
	}
	if err != nil {
		return nil, nil, errors.Join(err, done())
	}
	return session, done, nil
}
