package lookup

import (
	"math"
	"testing"
)

func TestBlendScores(t *testing.T) {
	ask, same, other := []int8{100, 0}, []int8{90, 5}, []int8{5, 90}
	list := []rankedText{{score: 10, self: other}, {score: 9.5, self: same}, {score: 2, self: same}, {score: 9, self: other, after: same}, {score: 8.9, self: other}}
	scores, ok := blendScores(ask, list, meaningWorth)
	if !ok {
		t.Fatal("the similarities differ")
	}
	order := byScore(scores)
	if order[0] != 1 || order[4] != 2 {
		t.Errorf("order %v of %v: a close second comes first by its meaning, and a far one stays last", order, scores)
	}
	if scores[3]-scores[4] <= list[3].score-list[4].score {
		t.Error("the message after it does not count")
	}
	// Two of five are similar: the deviation is 0.49, so that one of them gains
	// 0.6/0.49 times the worth of one, of the best score.
	if gain := scores[1] - 9.5; math.Abs(gain-10*meaningWorth*1.2247) > 0.01 {
		t.Errorf("a similar text gains %g", gain)
	}
}

// A model that tells the texts not apart, or gives no vectors, changes nothing.
func TestBlendScoresWithoutDifferences(t *testing.T) {
	v := []int8{100, 20}
	for name, list := range map[string][]rankedText{
		"equal":     {{score: 2, self: v}, {score: 1, self: v}},
		"one":       {{score: 2, self: v}, {score: 1}},
		"none":      {{score: 2}, {score: 1}},
		"no scores": {{self: []int8{1, 2}}, {self: []int8{2, -1}}},
	} {
		if scores, ok := blendScores(v, list, meaningWorth); ok {
			t.Errorf("%s: %v", name, scores)
		}
	}
}

// Signed bytes keep the direction of a vector.
func TestQuantise(t *testing.T) {
	a, b := make([]float32, 256), make([]float32, 256)
	dot, aa, bb := 0.0, 0.0, 0.0
	for i := range a {
		a[i], b[i] = float32(math.Sin(float64(i))), float32(math.Cos(float64(i*i)))+a[i]/2
		dot, aa, bb = dot+float64(a[i]*b[i]), aa+float64(a[i]*a[i]), bb+float64(b[i]*b[i])
	}
	if got, want := cosine(quantise(a), quantise(b)), dot/math.Sqrt(aa*bb); math.Abs(got-want) > 0.005 {
		t.Errorf("cosine %g, want %g", got, want)
	}
	if quantise(make([]float32, 3)) != nil || quantise([]float32{float32(math.NaN()), 1}) != nil || quantise([]float32{float32(math.Inf(1))}) != nil {
		t.Error("a vector without a direction is kept")
	}
	if cosine(quantise(a), nil) != 0 {
		t.Error("vectors of different lengths are similar")
	}
}
