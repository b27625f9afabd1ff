package search

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lossless-context/lcm/internal/search/segment"
)

// nearly compares scores, which are sums of float32 norms.
var nearly = cmpopts.EquateApprox(1e-6, 0)

// scorerOf scores with an idf of 1, 2, 3 … for the terms, with the number of
// words as the norm of a passage, and in a scope of ten passages.
func scorerOf(t *testing.T, query string) *scorer {
	t.Helper()
	q, err := ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	s := &stats{passages: 10}
	for i := range q.terms {
		s.idf = append(s.idf, float64(i+1))
	}
	var norms [256]float32
	for i := range norms {
		norms[i] = float32(i)
	}
	return newScorer(q, s, &norms)
}

// filler is n words that no query of these tests asks for.
func filler(n int) string { return strings.Repeat("filler ", n) }

// bm25 is the score of a term that a passage has tf times.
func bm25(idf, tf, norm float64) float64 { return idf * tf * 2.2 / (tf + norm) }

// A passage has at most 128 words. Each has its own count and its own length,
// and one without a term of the query is left out.
func TestScorePassages(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []float64
	}{
		"one word":                     {"alpha", []float64{bm25(1, 1, 1)}},
		"last word of a passage":       {filler(127) + "alpha", []float64{bm25(1, 1, 128)}},
		"first word of the second":     {filler(128) + "alpha", []float64{bm25(1, 1, 1)}},
		"second word of the second":    {filler(129) + "alpha", []float64{bm25(1, 1, 2)}},
		"full first passage, no more":  {"alpha " + filler(127), []float64{bm25(1, 1, 128)}},
		"one word in the next passage": {"alpha " + filler(128), []float64{bm25(1, 1, 128)}},
		"in both passages":             {"alpha alpha " + filler(126) + "alpha", []float64{bm25(1, 2, 128), bm25(1, 1, 1)}},
		"in the first and the third":   {"alpha " + filler(255) + "alpha alpha alpha", []float64{bm25(1, 1, 128), bm25(1, 3, 3)}},
		"nowhere":                      {filler(300), nil},
		"nothing":                      {"", nil},
	} {
		var got []float64
		for _, p := range scorerOf(t, "alpha").score([]byte(c.text)).passages {
			got = append(got, p.terms)
		}
		if diff := cmp.Diff(c.want, got, nearly); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Every term counts over the whole text; an excluded one adds nothing to the
// score.
func TestScoreTerms(t *testing.T) {
	sc := scorerOf(t, "alpha -beta gamma")
	got := sc.score([]byte("alpha beta beta gamma " + filler(130) + "alpha"))
	if diff := cmp.Diff([]float64{2, 2, 1}, got.counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if len(got.passages) != 2 {
		t.Fatalf("%d passages, want two", len(got.passages))
	}
	if want := bm25(1, 1, 128) + bm25(3, 1, 128); math.Abs(got.passages[0].terms-want) > 1e-6 {
		t.Errorf("the first passage scores %g, want %g", got.passages[0].terms, want)
	}
}

// An identifier counts as a whole and by its parts, and takes no word of the
// passage for itself.
func TestScoreIdentifiers(t *testing.T) {
	sc := scorerOf(t, "store/sqlite.go")
	got := sc.score([]byte("see store/sqlite.go"))
	if diff := cmp.Diff(slices.Repeat([]float64{1}, 4), got.counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	want := 0.0
	for idf := range 4 {
		want += bm25(float64(idf+1), 1, 4) // see, store, sqlite, go
	}
	if len(got.passages) != 1 || math.Abs(got.passages[0].terms-want) > 1e-6 {
		t.Errorf("%+v, want a score of %g", got.passages, want)
	}
}

// A pair is two words of the query in its order, with nothing but function
// words between them, in one passage.
func TestScorePairs(t *testing.T) {
	for name, c := range map[string]struct {
		query, text string
		want        [][]uint8 // of each passage
	}{
		"side by side":              {"alpha beta", "alpha beta", [][]uint8{{1}}},
		"the other way round":       {"alpha beta", "beta alpha", [][]uint8{nil}},
		"twice":                     {"alpha beta", "alpha beta alpha beta", [][]uint8{{2}}},
		"a function word between":   {"alpha beta", "alpha of the beta", [][]uint8{{1}}},
		"another word between":      {"alpha beta", "alpha gamma beta", [][]uint8{nil}},
		"the first one again":       {"alpha beta", "alpha alpha beta", [][]uint8{{1}}},
		"back to the first term":    {"alpha beta alpha", "beta alpha", [][]uint8{{0, 1}}},
		"a pair of later terms":     {"alpha beta gamma", "beta gamma", [][]uint8{{0, 1}}},
		"across two passages":       {"alpha beta", filler(127) + "alpha beta", [][]uint8{nil, nil}},
		"only in the first passage": {"alpha beta", "alpha beta " + filler(126) + "alpha", [][]uint8{{1}, nil}},
		"in both passages":          {"alpha beta", "alpha beta " + filler(126) + "alpha beta", [][]uint8{{1}, {1}}},
	} {
		sc := scorerOf(t, c.query)
		text := sc.score([]byte(c.text))
		var got [][]uint8
		for _, p := range text.passages {
			got = append(got, p.pairs)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		// A text counts once for each pair that it has, in however many passages.
		sc.count(text)
		want := make([]int, len(sc.df))
		for i := range want {
			if slices.ContainsFunc(c.want, func(p []uint8) bool { return p != nil && p[i] > 0 }) {
				want[i] = 1
			}
		}
		if diff := cmp.Diff(want, sc.df); diff != "" {
			t.Errorf("%s: texts with each pair (-want +got):\n%s", name, diff)
		}
	}
}

// A pair is as rare as the texts that have it are among the passages of the
// scope.
func TestPairIDF(t *testing.T) {
	for df, want := range map[int]float64{0: math.Log(22), 1: math.Log(1 + 9.5/1.5), 10: math.Log(1 + 0.5/10.5), 99: math.Log(1 + 0.5/10.5)} {
		sc := scorerOf(t, "alpha beta")
		sc.df[0] = df
		if got := sc.pairIDF(0); math.Abs(got-want) > 1e-9 {
			t.Errorf("%d of 10: %g, want %g", df, got, want)
		}
	}
}

// A text is worth its best passage, wherever that is, with its pairs, and the
// phrases on top.
func TestScoreTotal(t *testing.T) {
	sc := scorerOf(t, "alpha beta")
	sc.df[0] = 1
	pair := math.Log(1 + 9.5/1.5)
	for name, c := range map[string]struct {
		text textScore
		want float64
	}{
		"no passages":          {textScore{}, 0},
		"the first is best":    {textScore{passages: []passageScore{{terms: 5}, {terms: 2}}}, 5},
		"the last is best":     {textScore{passages: []passageScore{{terms: 2}, {terms: 5}}}, 5},
		"a pair":               {textScore{passages: []passageScore{{terms: 2, norm: 4, pairs: []uint8{1}}}}, 2 + 0.25*pair*2.2/5},
		"two of a pair":        {textScore{passages: []passageScore{{terms: 2, norm: 4, pairs: []uint8{2}}}}, 2 + 0.25*pair*2*2.2/6},
		"no pair":              {textScore{passages: []passageScore{{terms: 2, norm: 4, pairs: []uint8{0}}}}, 2},
		"a pair makes it best": {textScore{passages: []passageScore{{terms: 2}, {terms: 1.9, norm: 1, pairs: []uint8{1}}}}, 1.9 + 0.25*pair*2.2/2},
	} {
		if got := sc.total(c.text, 0.25); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %g, want %g", name, got, c.want)
		}
	}
}

// indexOf indexes documents as one segment and returns it with their texts.
func indexOf(t *testing.T, docs []segment.Doc) (Index, Fetch) {
	t.Helper()
	sealed, err := segment.Build(t.Context(), docs, segment.Options{})
	if err != nil {
		t.Fatal(err)
	}
	seg, err := sealed.Segment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return Index{Segments: []*segment.Segment{seg}}, func(_ context.Context, ids []int64, yield func(int64, []byte) bool) error {
		for _, d := range docs {
			if slices.Contains(ids, d.ID) && !yield(d.ID, d.Text) {
				break
			}
		}
		return nil
	}
}

// A text too long to score keeps the score of its postings, which is that of
// its best passage.
func TestLongTextKeepsItsScore(t *testing.T) {
	passage := filler(100) + "alpha alpha "
	long := passage + filler(26) + strings.Repeat(filler(128), scoreTextBytes/(128*len("filler "))+1)
	ix, fetch := indexOf(t, []segment.Doc{
		{ID: 1, Text: []byte(passage + filler(26))}, {ID: 2, Time: 2 * segment.SessionGap, Text: []byte(long)},
	})
	q, err := ParseQuery("alpha")
	if err != nil {
		t.Fatal(err)
	}
	res, err := ix.Search(WithWeights(t.Context(), Weights{}), Request{Query: q}, fetch)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Hits) != 2 || math.Abs(res.Hits[0].Score-res.Hits[1].Score) > 1e-5 || res.Hits[0].Score == 0 {
		t.Errorf("%+v, want equal scores", res.Hits)
	}
}

// Half an hour of silence ends a session.
func TestSessionGap(t *testing.T) {
	const half = 30 * 60 * 1000
	ix, fetch := indexOf(t, []segment.Doc{
		{ID: 1, Text: []byte("alpha")}, {ID: 2, Time: half - 1, Text: []byte("alpha")}, {ID: 3, Time: 2*half - 1, Text: []byte("alpha")},
	})
	q, err := ParseQuery("alpha")
	if err != nil {
		t.Fatal(err)
	}
	res, err := ix.Search(t.Context(), Request{Query: q}, fetch)
	if err != nil {
		t.Fatal(err)
	}
	got := map[int64]int64{}
	for _, h := range res.Hits {
		got[h.ID] = h.Session
	}
	if diff := cmp.Diff(map[int64]int64{1: 1, 2: 1, 3: 3}, got); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
}
