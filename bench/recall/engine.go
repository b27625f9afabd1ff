package recall

import (
	"context"
	"fmt"
	"time"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/internal/search/segment"
	"github.com/lossless-context/lcm/llms"
)

// searcher answers a question with message numbers, best first.
type searcher interface {
	search(ctx context.Context, q Question, conversation int64) ([]int64, error)
}

// noMessage is a place of a ranking that is taken by something else than a
// message of the dataset.
const noMessage = 0

// contender is a caller's way of searching, in numbers.
type contender struct {
	Contender
	corpus *corpus
}

func (s contender) search(ctx context.Context, q Question, conversation int64) ([]int64, error) {
	ids, err := s.Search(ctx, q.Conversation, q.Text)
	if err != nil {
		return nil, err
	}
	var out []int64
	for _, id := range ids {
		if id == "" {
			out = append(out, noMessage)
			continue
		}
		n, ok := s.corpus.ids[conversation-1][id]
		if !ok {
			return nil, fmt.Errorf("question %q: message %q is not in conversation %q", q.Text, id, q.Conversation)
		}
		out = append(out, n)
	}
	return out, nil
}

// corpus is the dataset with numbers in place of names.
type corpus struct {
	docs          []segment.Doc // in order of ids, which begin at one
	session       []int         // by document
	conversations map[string]int64
	ids           []map[string]int64 // by conversation number - 1: message id → document id
	asked         []time.Time        // by conversation number - 1: when its questions are asked
}

func newCorpus(d Dataset) *corpus {
	c := &corpus{conversations: make(map[string]int64)}
	session := 0
	for n, conv := range d.Conversations {
		c.conversations[conv.ID] = int64(n + 1)
		ids := make(map[string]int64)
		var last time.Time
		for _, s := range conv.Sessions {
			for _, m := range s.Messages {
				id := int64(len(c.docs) + 1)
				ids[m.ID] = id
				if m.Time.After(last) {
					last = m.Time
				}
				c.docs = append(c.docs, segment.Doc{
					ID: id, Conversation: int64(n + 1), Time: m.Time.UnixMilli(), Role: store.RoleCode(llms.Role(m.Role)), Text: []byte(m.Text),
				})
				c.session = append(c.session, session)
			}
			session++
		}
		c.ids = append(c.ids, ids)
		c.asked = append(c.asked, last.UTC())
	}
	return c
}

// engine searches with the index package.
type engine struct {
	corpus  *corpus
	index   search.Index
	weights search.Weights
}

func newEngine(ctx context.Context, c *corpus, weights search.Weights) (*engine, error) {
	b := segment.NewBuilder(segment.Options{})
	for _, d := range c.docs {
		if err := b.Add(d); err != nil {
			return nil, err
		}
	}
	sealed, err := b.Seal()
	if err != nil {
		return nil, err
	}
	seg, err := sealed.Segment(ctx)
	if err != nil {
		return nil, err
	}
	return &engine{c, search.Index{Segments: []*segment.Segment{seg}}, weights}, nil
}

func (e *engine) search(ctx context.Context, q Question, conversation int64) ([]int64, error) {
	query, err := search.ParseQuery(q.Text)
	if err != nil {
		return nil, fmt.Errorf("question %q: %w", q.Text, err)
	}
	res, err := e.index.Search(search.WithWeights(ctx, e.weights), search.Request{
		Query: query, Filter: search.Filter{Conversations: []int64{conversation}}, Now: e.corpus.asked[conversation-1],
	}, e.fetch)
	if err != nil {
		return nil, err
	}
	out := make([]int64, len(res.Hits))
	for i, h := range res.Hits {
		out[i] = h.ID
	}
	return out, nil
}

func (e *engine) fetch(_ context.Context, ids []int64, yield func(int64, []byte) bool) error {
	for _, id := range ids {
		if !yield(id, e.corpus.docs[id-1].Text) {
			return nil
		}
	}
	return nil
}
