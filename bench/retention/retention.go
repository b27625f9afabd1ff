// Package retention measures how much of a conversation a summariser keeps as
// the conversation is folded deeper and deeper.
//
// [Measure] cuts a conversation into leaves, summarises each to a share of
// its size, condenses four nodes at a time into one of the same size, twice,
// and counts at every depth how many of the identifiers in the messages a
// node stands for are still there, word for word. Beside it stands head
// truncation: the first words of the same messages, cut to the same size.
//
// Identifiers can be counted without a model, and a reader needs them exactly:
// half a path opens nothing. Those in messages of the user and the assistant are
// reported apart from those in tool traffic and code, which are more numerous
// and matter less. Nothing here says how well a summary reads.
package retention

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/lossless-context/lcm/internal/view/summary"
	"github.com/lossless-context/lcm/llms"
)

// Options says how to fold. The zero value is the documented benchmark.
type Options struct {
	// ChunkTokens is the size of the messages of one leaf. Zero takes 20,000,
	// compaction's own default, or a fifth of the conversation where that is
	// less, so that three depths are reached.
	ChunkTokens int
	// Depths is how many depths are built, as far as the conversation
	// reaches. Zero takes 3.
	Depths int
	// Summariser writes the nodes. Nil takes summary.NewExtractive().
	Summariser summary.Summariser
}

// budget is the size of a leaf for each token of its messages, fanOut how many nodes
// are condensed into one.
const (
	budget = 0.15
	fanOut = 4
)

func (o Options) withDefaults(total int) Options {
	if o.ChunkTokens <= 0 {
		o.ChunkTokens = max(min(20_000, total/5), 400)
	}
	o.Depths = cmp.Or(o.Depths, 3)
	if o.Summariser == nil {
		o.Summariser = summary.NewExtractive()
	}
	return o
}

// node is a summary and the range of messages it stands for.
type node struct {
	source   summary.Source
	from, to int // into the messages
}

// Measure folds messages as opt says and counts the identifiers at each depth.
// Sources must be messages, in order. A conversation too short for a depth is
// reported up to the last depth it reaches.
func Measure(ctx context.Context, messages []summary.Source, opt Options) (Report, error) {
	if len(messages) == 0 {
		return Report{}, fmt.Errorf("retention: there are no messages to measure")
	}
	r := runner{messages: messages, count: llms.Estimate.Count}
	r.tokens = make([]int, len(messages))
	total := 0
	for i, m := range messages {
		r.tokens[i] = r.count(m.Text)
		total += r.tokens[i]
	}
	r.opt = opt.withDefaults(total)
	r.inventory()

	report := Report{Messages: len(messages), Tokens: total, ChunkTokens: r.opt.ChunkTokens, Budget: budget, FanOut: fanOut}
	nodes, err := r.leaves(ctx)
	if err != nil {
		return Report{}, err
	}
	for depth := 1; ; depth++ {
		report.Depths = append(report.Depths, r.assess(depth, nodes, total))
		if depth == r.opt.Depths || len(nodes) < 2 {
			return report, nil
		}
		if nodes, err = r.condense(ctx, depth, nodes); err != nil {
			return Report{}, err
		}
	}
}

// runner is the state of a measurement.
type runner struct {
	opt      Options
	messages []summary.Source
	tokens   []int
	count    func(string) int
	said     [][]summary.Identifier // by message
	seen     [][]summary.Identifier
}

func (r *runner) inventory() {
	for _, m := range r.messages {
		said, seen := summary.Mentioned(m)
		r.said = append(r.said, said)
		r.seen = append(r.seen, seen)
	}
}

// leaves summarises runs of messages of about ChunkTokens.
func (r *runner) leaves(ctx context.Context) ([]node, error) {
	var nodes []node
	for from := 0; from < len(r.messages); {
		to, size := from, 0
		for to < len(r.messages) && (to == from || size+r.tokens[to] <= r.opt.ChunkTokens) {
			size += r.tokens[to]
			to++
		}
		n, err := r.summarise(ctx, summary.Request{
			Kind: summary.Leaf, Target: int(budget * float64(size)), Sources: r.messages[from:to],
		}, from, to)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
		from = to
	}
	return nodes, nil
}

// condense makes one node of each fanOut nodes, as large as one of them.
func (r *runner) condense(ctx context.Context, depth int, nodes []node) ([]node, error) {
	var out []node
	for group := range slices.Chunk(nodes, fanOut) {
		if len(group) == 1 {
			out = append(out, group[0])
			continue
		}
		var sources []summary.Source
		for _, n := range group {
			sources = append(sources, n.source)
		}
		n, err := r.summarise(ctx, summary.Request{
			Kind: summary.Condensed, Depth: depth, Sources: sources,
			Target: int(budget * float64(r.opt.ChunkTokens)),
		}, group[0].from, group[len(group)-1].to)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

func (r *runner) summarise(ctx context.Context, req summary.Request, from, to int) (node, error) {
	req.Level, req.Counter = summary.Normal, llms.Estimate
	got, err := r.opt.Summariser.Summarise(ctx, req)
	if err != nil {
		return node{}, fmt.Errorf("retention: summarising messages #%d to #%d at depth %d: %w",
			r.messages[from].Seq, r.messages[to-1].Seq, req.Depth+1, err)
	}
	return node{from: from, to: to, source: summary.Source{
		ID: fmt.Sprintf("sum_%d_%d_%d", req.Depth, from, to), Kind: req.Kind, Seq: r.messages[from].Seq, Text: got.Text,
	}}, nil
}
