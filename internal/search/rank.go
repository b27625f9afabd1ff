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
	Span      float64 // share of the best score for a message of the time that the question names
	Near      float64 // factor for the words that stand for one that the record lacks; 0: none do
	// Who said it: factors for what the user said, for the last words of the agent before the
	// user speaks again, and for calls of tools and their output. Turn is the share of the
	// score of a prompt, for the last words of its turn.
	User, Closing, Work, Turn float64
	// Reply is the least that the last words of a turn are worth, as a share of its prompt.
	Reply float64
}

// DefaultWeights are the weights of a search that names none.
func DefaultWeights() Weights {
	return Weights{
		Pair: 0.5, Neighbour: 0.25, Answer: 0.7, Second: 0.2, Coverage: 0.3,
		Span: 0.5, Near: 0.5, User: 1.4, Closing: 1.6, Work: 0.7, Turn: 0.4,
		Reply: 1.01,
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
	Prev, Next   int64     // ids of the neighbours in the conversation, or zero
	Score        float64   // of its best passage
	Counts       []float64 // occurrences of each term of the query, may be nil
	Words        int       // length of its text
	Asks         bool      // its text ends with a question
	Closes       bool      // it is known to be the last of its turn
	Rank         float64   // the final score, comparable within one answer
	Matched      bool      // has words of the query itself, not only beside it
	NextTo       []int64   // the matches that a hit without words of the query is next to
}

// Question is the part of the query that Rank needs.
type Question struct {
	IDF   []float64    // of each term
	Spans []dates.Span // of time, that the question names
	User  bool         // it asks what the user said, not what was answered
}

// behind is the share of the rank of a prompt that puts a message right behind it.
const behind = 0.99

// maxTurnWords is the length up to which a message is a turn of a dialogue.
// Only in a run of such turns do an answer and the second neighbour count: in
// talk with long texts between the turns (about 1,000 bytes and more) they
// lowered recall.
const maxTurnWords = 180

// Rank orders candidates by their own score, the scores around them and the
// session they are part of. It is a pure function: the same candidates, in any
// order, give the same ranking.
func Rank(q Question, candidates []Hit, w Weights) []Hit {
	if q.User {
		w.Reply = 0
	}
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
	prompts := promptsOf(out, near)
	for i, prompt := range prompts {
		out[i].Rank += w.Turn * out[prompt].Score
	}
	addSessions(q, out, w)
	top := 0.0
	for _, r := range out {
		top = math.Max(top, r.Rank)
	}
	key := keyTerm(q, out)
	for i := range out {
		r := &out[i]
		r.Rank += w.Span * top * dates.Within(q.Spans, r.Time)
		said := w.said(r, near(i, r.Next))
		if key >= 0 && r.has(key) {
			said = max(w.User, w.Closing)
		}
		r.Rank *= said
	}
	for i, prompt := range prompts {
		r, share := &out[i], w.Reply
		if !r.Matched || key >= 0 && !r.has(key) {
			share = min(share, behind) // it may be beside the point
		}
		if r.Matched || r.Closes {
			r.Rank = max(r.Rank, share*out[prompt].Rank)
		}
	}
	slices.SortFunc(out, func(x, y Hit) int {
		return cmp.Or(cmp.Compare(y.Rank, x.Rank), cmp.Compare(y.ID, x.ID))
	})
	return out
}

// keyHits is how many messages may have a term that is a key: who said it does not matter.
const keyHits = 3

// keyTerm returns the rarest term of the query if so few messages have it that it names
// them, or -1.
func keyTerm(q Question, out []Hit) int {
	rarest := -1
	for t, idf := range q.IDF {
		if rarest < 0 || idf > q.IDF[rarest] {
			rarest = t
		}
	}
	if rarest < 0 || len(out) < 8*keyHits { // few messages: any term is rare
		return -1
	}
	n := 0
	for i := range out {
		if out[i].has(rarest) {
			n++
		}
	}
	if n == 0 || n > keyHits {
		return -1
	}
	return rarest
}

// has reports whether the hit has a term of the query.
func (c *Hit) has(term int) bool { return term < len(c.Counts) && c.Counts[term] > 0 }

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

// promptsOf maps the last words of turns to the last prompt before them that was found: they
// answer it, and rarely repeat its words.
func promptsOf(out []Hit, near func(int, int64) *Hit) map[int]int {
	order := make([]int, len(out))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int {
		return cmp.Or(cmp.Compare(out[x].Conversation, out[y].Conversation), cmp.Compare(out[x].ID, out[y].ID))
	})
	prompts, prompt := map[int]int{}, -1
	for _, i := range order {
		switch c := &out[i]; {
		case c.Role == userRole:
			prompt = i
		case prompt >= 0 && out[prompt].Session == c.Session && c.closes(near(i, c.Next)):
			prompts[i] = prompt
		}
	}
	return prompts
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

// addSessions adds each session's share to its members.
func addSessions(q Question, out []Hit, w Weights) {
	members := make(map[int64][]int)
	for i, r := range out {
		members[r.Session] = append(members[r.Session], i)
	}
	for _, list := range members {
		prior := w.Coverage * coverage(q, out, list)
		for _, i := range list {
			out[i].Rank += prior
		}
	}
}

// coverage scores a session as one document: each term once, however often it
// was said, with a little more for saying it again.
func coverage(q Question, out []Hit, list []int) float64 {
	sum := 0.0
	for t, idf := range q.IDF {
		tf := 0.0
		for _, i := range list {
			if t < len(out[i].Counts) {
				tf += out[i].Counts[t]
			}
		}
		sum += idf * tf * (k1 + 1) / (tf + k1)
	}
	return sum
}
