package lookup

import (
	"cmp"
	"math"
	"slices"
)

// The parameters of the re-ranking. They were measured with the Universal
// Sentence Encoder on conversations; see docs/BENCHMARKS.md.
const (
	// rerankFirst is how many of the first matches are ordered anew.
	rerankFirst = 50
	// meaningWorth is the worth of one standard deviation of similarity, as a
	// share of the best score.
	meaningWorth = 0.05
	// meaningAround is the share that the messages before and after count, where
	// they are among these matches. To embed all of them gained nothing.
	meaningAround = 0.5
	// leastSpread is the standard deviation of similarities below which they say
	// nothing: to a model that does not know the words of a question, all texts
	// are equally far.
	leastSpread = 0.005
)

// rankedText is a match to be ordered: the score of its words, and the vectors of
// its text and of the matches before and after it, nil where there are none.
type rankedText struct {
	score               float64
	self, before, after []int8
}

// blendScores returns the scores of the texts, which are in order of their words,
// after the similarity of their meaning to the question was added: worth is that
// of one standard deviation. ok is false where the similarities do not tell the
// texts apart.
func blendScores(question []int8, texts []rankedText, worth float64) (scores []float64, ok bool) {
	similar := make([]float64, len(texts))
	sum, squares, n, best := 0.0, 0.0, 0.0, 0.0
	for i, t := range texts {
		best = max(best, t.score)
		if t.self == nil {
			continue
		}
		similar[i] = cosine(question, t.self)
		sum, squares, n = sum+similar[i], squares+similar[i]*similar[i], n+1
	}
	if n < 2 || best <= 0 {
		return nil, false
	}
	mean := sum / n
	spread := math.Sqrt(max(0, squares/n-mean*mean))
	if spread < leastSpread {
		return nil, false
	}
	standard := func(v []int8) float64 {
		if v == nil {
			return 0
		}
		return (cosine(question, v) - mean) / spread
	}
	scores = make([]float64, len(texts))
	for i, t := range texts {
		meaning := standard(t.self) + meaningAround*(standard(t.before)+standard(t.after))
		scores[i] = t.score + best*worth*meaning
	}
	return scores, true
}

// byScore returns the places of scores, the highest first; equal ones keep their
// order.
func byScore(scores []float64) []int {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return order
}

// cosine is the similarity of two vectors, 0 where their lengths differ.
func cosine(a, b []int8) float64 {
	if len(a) != len(b) {
		return 0
	}
	var dot, aa, bb int64
	for i := range a {
		x, y := int64(a[i]), int64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return float64(dot) / math.Sqrt(float64(aa)*float64(bb))
}

// quantise scales a vector to signed bytes. Only its direction counts, so the
// scale is not kept. It returns nil for a vector without a direction.
func quantise(v []float32) []int8 {
	largest := 0.0
	for _, x := range v {
		largest = max(largest, math.Abs(float64(x)))
	}
	if largest == 0 || math.IsInf(largest, 0) || math.IsNaN(largest) {
		return nil
	}
	out := make([]int8, len(v))
	for i, x := range v {
		out[i] = int8(math.Round(float64(x) / largest * 127))
	}
	return out
}
