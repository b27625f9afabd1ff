package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/search/dates"
	"github.com/lossless-context/lcm/internal/search/segment"
)

// chain is five messages of one session, of which the one in the middle has the
// words of the question.
func chain(change func([]Hit)) map[int64]float64 {
	list := make([]Hit, 5)
	for i := range list {
		list[i] = Hit{ID: int64(i + 1), Session: 1, Prev: int64(i), Next: int64(i + 2), Words: 20}
	}
	list[4].Next = 0
	list[2].Score = 1
	change(list)
	out := make(map[int64]float64)
	for _, r := range Rank(Question{}, list, Weights{Neighbour: 0.3, Answer: 0.7, Second: 0.25}) {
		out[r.ID] = math.Round(r.Rank*1000) / 1000
	}
	return out
}

func TestRankNeighbours(t *testing.T) {
	for name, c := range map[string]struct {
		change func([]Hit)
		want   map[int64]float64
	}{
		"plain": {func([]Hit) {}, map[int64]float64{1: .25, 2: .3, 3: 1, 4: .3, 5: .25}},
		"the turn after a question answers it": {func(c []Hit) { c[2].Asks = true },
			map[int64]float64{1: .25, 2: .3, 3: 1, 4: .7, 5: .25}},
		"a question before it gets no more": {func(c []Hit) { c[1].Asks = true },
			map[int64]float64{1: .25, 2: .3, 3: 1, 4: .3, 5: .25}},
		"a long text is no turn": {func(c []Hit) { c[2].Asks, c[2].Words = true, maxTurnWords+1 },
			map[int64]float64{1: 0, 2: .3, 3: 1, 4: .3, 5: 0}},
		"a turn of the greatest length": {func(c []Hit) { c[2].Asks, c[2].Words = true, maxTurnWords },
			map[int64]float64{1: .25, 2: .3, 3: 1, 4: .7, 5: .25}},
		"a long answer": {func(c []Hit) { c[2].Asks, c[3].Words = true, maxTurnWords+1 },
			map[int64]float64{1: .25, 2: .3, 3: 1, 4: .3, 5: 0}},
		"another session": {func(c []Hit) { c[2].Asks, c[3].Session, c[4].Session = true, 2, 2 },
			map[int64]float64{1: .25, 2: .3, 3: 1, 4: 0, 5: 0}},
	} {
		if diff := cmp.Diff(c.want, chain(c.change)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A turn with all the words of the question, in whatever messages, is above one that has one of
// them more often.
func TestRankTurns(t *testing.T) {
	got := Rank(Question{IDF: []float64{1, 1}}, []Hit{
		{ID: 1, Turn: 1, Role: userRole, Score: 1, Counts: []float64{1, 0}}, {ID: 2, Turn: 1, Role: assistantRole, Score: 1, Counts: []float64{0, 1}},
		{ID: 3, Turn: 3, Role: userRole, Score: 1.1, Counts: []float64{4, 0}}, {ID: 4, Turn: 3, Role: assistantRole, Score: 1, Counts: []float64{1, 0}},
	}, Weights{Turn: 1, User: 1, Closing: 1})
	var order []int64
	for _, r := range got {
		order = append(order, r.ID)
	}
	if diff := cmp.Diff([]int64{2, 1, 3, 4}, order); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Of two sessions with the same words, the shorter one counts more.
func TestRankSessions(t *testing.T) {
	got := Rank(Question{IDF: []float64{1}}, []Hit{
		{ID: 1, Turn: 1, Session: 1, Score: 1, Counts: []float64{1}}, {ID: 2, Turn: 2, Session: 2, Score: 1, Counts: []float64{1}}, {ID: 3, Turn: 3, Session: 2, Counts: []float64{0}},
	}, Weights{Coverage: 1})
	if got[0].ID != 1 {
		t.Errorf("first is %d", got[0].ID)
	}
}

// A message of the time that the question names gets a share of the best score,
// and half of it in the week after.
func TestRankSpan(t *testing.T) {
	day := func(n int) int64 { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC).UnixMilli() }
	spans := dates.Find("on 2026-01-10", time.Time{})
	got := make(map[int64]float64)
	for _, r := range Rank(Question{Spans: spans}, []Hit{
		{ID: 1, Session: 1, Score: 2, Time: day(9)}, {ID: 2, Session: 2, Score: 1, Time: day(10)}, {ID: 3, Session: 3, Score: 1, Time: day(12)},
	}, Weights{Span: 0.5}) {
		got[r.ID] = r.Rank
	}
	if diff := cmp.Diff(map[int64]float64{1: 2, 2: 2, 3: 1.5}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Two messages on either side of a match are found with it, across segments.
func TestSecondNeighbours(t *testing.T) {
	var docs []segment.Doc
	for i := range 9 {
		docs = append(docs, segment.Doc{ID: int64(i + 1), Conversation: 1, Time: int64(i), Text: []byte("something else")})
	}
	docs[4].Text = []byte("where is the aardvark?")
	for at := 1; at < len(docs); at++ {
		ix, fetch := indexOf(t, docs[:at])
		rest, fetchRest := indexOf(t, docs[at:])
		ix.Segments = append(ix.Segments, rest.Segments...)
		res, err := ix.Search(t.Context(), Request{Query: parsed(t, "aardvark")}, both(fetch, fetchRest))
		if err != nil {
			t.Fatal(err)
		}
		var ids []int64
		for _, h := range res.Hits {
			ids = append(ids, h.ID)
		}
		if want := []int64{5, 6, 4, 7, 3}; !slices.Equal(ids, want) {
			t.Errorf("parted before %d: %v, want %v", at+1, ids, want)
		}
	}
}

// A match of the time that the query names is ranked although there are more
// than enough better matches of other times.
func TestDatedCandidates(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var docs []segment.Doc
	for i := range 3 * candidateCount {
		docs = append(docs, segment.Doc{ID: int64(i + 1), Time: start.AddDate(0, 0, i).UnixMilli(), Text: fmt.Appendf(nil, "the deploy of the deploy number %d", i)})
	}
	docs[200].Text = []byte("one deploy among many other words that make it a longer text and a worse match than all of the others")
	ix, fetch := indexOf(t, docs)
	for query, found := range map[string]bool{"deploy": false, "deploy on 2026-07-20": true, "deploy on July 20": true, "deploy yesterday": false} {
		res, err := ix.Search(t.Context(), Request{Query: parsed(t, query), Now: start.AddDate(0, 8, 0)}, fetch)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(res.Hits, func(h Hit) bool { return h.ID == 201 }); got != found {
			t.Errorf("%q: the message of the day was ranked: %v, want %v", query, got, found)
		}
	}
}

func parsed(t *testing.T, query string) *Query {
	t.Helper()
	q, err := ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// both gives the texts of two indexes.
func both(a, b Fetch) Fetch {
	return func(ctx context.Context, ids []int64, yield func(int64, []byte) bool) error {
		return errors.Join(a(ctx, ids, yield), b(ctx, ids, yield))
	}
}

// Of many matches only the best are scored against their texts; all of them are
// ranked.
func TestTextsReadForARanking(t *testing.T) {
	var docs []segment.Doc
	for i := range 3 * scoredCount {
		docs = append(docs, segment.Doc{ID: int64(i + 1), Text: fmt.Appendf(nil, "the deploy of part_%d was fine", i)})
	}
	ix, fetch := indexOf(t, docs)
	for _, query := range []string{"deploy", "deploy part_7"} {
		res, err := ix.Search(t.Context(), Request{Query: parsed(t, query)}, fetch)
		if err != nil {
			t.Fatal(err)
		}
		if res.Verified != scoredCount || len(res.Hits) != len(docs) || res.Ranked != len(docs) {
			t.Errorf("%q: %d texts were read, %d hits, %d ranked", query, res.Verified, len(res.Hits), res.Ranked)
		}
		if query != "deploy" && !bytes.Contains(docs[res.Hits[0].ID-1].Text, []byte("part_7 ")) {
			t.Errorf("%q: the first hit is %q", query, docs[res.Hits[0].ID-1].Text)
		}
	}
	// By recency the texts of the newest are read, and those of a beginning all.
	for query, read := range map[string]int{"deploy part_7": scoredCount, `"the deploy"`: scoredCount, "deplo*": len(docs)} {
		res, err := ix.Search(t.Context(), Request{Query: parsed(t, query), Sort: ByRecency, Limit: len(docs)}, fetch)
		if err != nil {
			t.Fatal(err)
		}
		for i, h := range res.Hits {
			if h.ID != int64(len(docs)-i) {
				t.Fatalf("%q: hit %d is document %d", query, i, h.ID)
			}
		}
		if res.Verified != read || len(res.Hits) != len(docs) || res.Matched != len(docs) {
			t.Errorf("%q: %d texts were read, %d hits of %d", query, res.Verified, len(res.Hits), res.Matched)
		}
	}
}
