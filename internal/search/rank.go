package search

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/lossless-context/lcm/internal/search/dates"
)

// Weights are the parameters of Rank. The defaults were chosen by leaving out
// each conversation of two data sets in turn (docs/BENCHMARKS.md).
type Weights struct {
	Pair      float64 // of two words that stand side by side as in the query
	Neighbour float64 // share of the score of what people said before and after
	Answer    float64 // share of the score of a question, for the message after it
	Second    float64 // share of the score of the message before the one before, and after the one after
	Coverage  float64 // of the terms of the query that the whole session has
	Turn      float64 // of those that the turn has: a prompt and all that was done for it
	Span      float64 // share of the best score for a message of the time that the question names
	Near      float64 // factor for the words that stand for one that the record lacks; 0: none do
	// Who said it: factors for what the user said, for the last words of the agent before the
	// user speaks again, and for calls of tools and their output.
	User, Closing, Work float64
}

// DefaultWeights are the weights of a search that names none.
func DefaultWeights() Weights {
	return Weights{
		Pair: 0.5, Neighbour: 0.25, Answer: 0.7, Second: 0.2, Coverage: 0.4, Turn: 0.4,
		Span: 0.5, Near: 0.5, User: 1.4, Closing: 1.4, Work: 0.7,
	}
}

type weightsKey struct{}

// WithWeights returns a context whose searches rank with w: a benchmark measures the ranking
// without each of its parts, also through a store.
func WithWeights(ctx context.Context, w Weights) context.Context {
	return context.WithValue(ctx, weightsKey{}, w)
}

// Hit is a document that was found.
type Hit struct {
	ID           int64
	Conversation int64
	Time         int64
	Role         uint8
	Session      int64     // equal for hits of one session
	Turn         int64     // equal for hits of one turn
	Prev, Next   int64     // ids of the neighbours in the conversation, or zero
	Score        float64   // of its best passage
	Counts       []float64 // occurrences of each term of the query, may be nil
	Words        int       // length of its text
	Asks         bool      // its text ends with a question
	Rank         float64   // the final score, comparable within one answer
	Matched      bool      // has words of the query itself, not only beside it
	NextTo       []int64   // the matches that a hit without words of the query is next to
}

// Question is the part of the query that Rank needs.
type Question struct {
	IDF   []float64    // of each term
	Spans []dates.Span // of time, that the question names
}

// maxTurnWords is the length up to which a message is a turn of a dialogue.
// Only in a run of such turns do an answer and the second neighbour count: in
// talk with long texts between the turns (about 1,000 bytes and more) they
// lowered recall.
const maxTurnWords = 180

// Rank orders candidates by their own score, the scores around them and the
// session they are part of. It is a pure function: the same candidates, in any
// order, give the same ranking.
func Rank(q Question, candidates []Hit, w Weights) []Hit {
	out := slices.Clone(candidates)
	at := make(map[int64]int, len(out))
	for i := range out {
		out[i].Rank, out[i].Matched = out[i].Score, out[i].Score > 0
		at[out[i].ID] = i
	}
	near := func(i int, id int64) *Hit {
		if j, ok := at[id]; ok && id != 0 && out[j].Session == out[i].Session {
			return &out[j]
		}
		return nil
	}
	for i := range out {
		c := &out[i]
		prev, next := near(i, c.Prev), near(i, c.Next)
		if c.Role > userRole {
			continue // people stay on a subject; beside an agent's words is its work
		}
		if prev != nil && prev.Role == c.Role {
			share := w.Neighbour
			if prev.Asks && prev.turn() && c.turn() {
				share = w.Answer
			}
			out[i].Rank += share*prev.Score + w.second(c, prev, near(i, prev.Prev))
		}
		if next != nil && next.Role == c.Role {
			out[i].Rank += w.Neighbour*next.Score + w.second(c, next, near(i, next.Next))
		}
	}
	for i := range out {
		out[i].Rank *= w.said(&out[i], near(i, out[i].Next))
	}
	sessions := groups(out, func(h *Hit) int64 { return h.Session })
	average := float64(len(out)) / float64(len(sessions))
	for _, list := range sessions {
		addCoverage(q, out, list, w.Coverage, float64(len(list))/average)
	}
	for _, list := range groups(out, func(h *Hit) int64 { return h.Turn }) {
		addCoverage(q, out, list, w.Turn, 1)
	}
	top := 0.0
	for _, r := range out {
		top = math.Max(top, r.Rank)
	}
	for i := range out {
		r := &out[i]
		r.Rank += w.Span * top * dates.Within(q.Spans, r.Time)
	}
	slices.SortFunc(out, func(x, y Hit) int {
		return cmp.Or(cmp.Compare(y.Rank, x.Rank), cmp.Compare(y.ID, x.ID))
	})
	return out
}

// Roles as the store numbers them.
const (
	userRole      = 1
	assistantRole = 2
	toolRole      = 4
)

// said is the factor for who said a message, which the one after it tells: a call is
// followed by its output, and the last words of a turn by a prompt or by nothing. Being said
// lifts no message that has none of the words, except where people talk to each other.
func (w Weights) said(c, next *Hit) float64 {
	switch {
	case c.Role == toolRole || next != nil && next.Role == toolRole:
		return w.Work
	case c.Role == userRole && (c.Matched || next != nil && next.Role == userRole):
		return w.User
	case c.Matched && c.closes(next):
		return w.Closing
	}
	return 1
}

// mayBe is the factor for who said a message where the one after it is not known.
func (w Weights) mayBe(role uint8) float64 {
	switch role {
	case userRole:
		return w.User
	case assistantRole:
		return max(1, (1+w.Closing)/2)
	case toolRole:
		return w.Work
	}
	return 1
}

// closes reports the last words of a turn.
func (c *Hit) closes(next *Hit) bool {
	return c.Role == assistantRole && (next == nil || next.Role == userRole)
}

// turn reports that the message is short enough to be a turn of a dialogue.
func (c *Hit) turn() bool { return c.Words <= maxTurnWords }

// second is the share of the score of the message beyond a neighbour, which may
// be nil.
func (w Weights) second(c, between, beyond *Hit) float64 {
	if beyond == nil || !c.turn() || !between.turn() || !beyond.turn() {
		return 0
	}
	return w.Second * beyond.Score
}

// groups returns the places of the hits with the same value.
func groups(out []Hit, of func(*Hit) int64) map[int64][]int {
	groups := make(map[int64][]int)
	for i := range out {
		groups[of(&out[i])] = append(groups[of(&out[i])], i)
	}
	return groups
}

// addCoverage adds to the members of a group a share of its score as one document, which is
// long times as long as others: each term once, however often it was said, with a little more
// for saying it again.
func addCoverage(q Question, out []Hit, group []int, share, long float64) {
	sum := 0.0
	for t, idf := range q.IDF {
		tf := 0.0
		for _, i := range group {
			if t < len(out[i].Counts) {
				tf += out[i].Counts[t]
			}
		}
		sum += idf * tf * (k1 + 1) / (tf + k1*long)
	}
	for _, i := range group {
		out[i].Rank += share * sum
	}
}
