package search

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/lossless-context/lcm/internal/search/segment"
)

// commonLibrary has a word in every text and a rare one in a few.
func commonLibrary(t *testing.T, l limits) (Index, Fetch) {
	t.Helper()
	texts := make(map[int64][]byte)
	ix := Index{limits: &l}
	for part := range int64(6) {
		b := segment.NewBuilder(segment.Options{})
		for n := range int64(100) {
			id := part*100 + n + 1
			text := fmt.Sprintf("common filler %d", id)
			if id%150 == 0 {
				text += " zeppelin"
			}
			texts[id] = []byte(text)
			if err := b.Add(segment.Doc{ID: id, Time: id * 3_600_000, Text: []byte(text)}); err != nil {
				t.Fatal(err)
			}
		}
		sealed, err := b.Seal()
		if err != nil {
			t.Fatal(err)
		}
		seg, err := sealed.Segment(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ix.Segments = append(ix.Segments, seg)
	}
	return ix, func(_ context.Context, ids []int64, yield func(int64, []byte) bool) error {
		for _, id := range ids {
			if !yield(id, texts[id]) {
				return nil
			}
		}
		return nil
	}
}

// A common word beside a rare one costs no list of its own, still counts, and is
// reported.
func TestCommonWordWaits(t *testing.T) {
	ix, fetch := commonLibrary(t, limits{postings: 50, common: 20, newest: 1000})
	q, err := ParseQuery("zeppelin common")
	if err != nil {
		t.Fatal(err)
	}
	res, err := ix.Search(t.Context(), Request{Query: q}, fetch)
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for _, h := range res.Hits {
		ids = append(ids, h.ID)
	}
	if !slices.Equal(ids, []int64{600, 450, 300, 150}) || !slices.Equal(res.Common, []string{"common"}) || !res.AtLeast || res.Newest {
		t.Errorf("%v, %+v; want the four texts with the rare word", ids, res)
	}
}

// Common words alone are ranked among the newest, and the answer says so.
func TestCommonWordsAlone(t *testing.T) {
	ix, fetch := commonLibrary(t, limits{postings: 50, common: 20, newest: 150})
	q, err := ParseQuery("common filler")
	if err != nil {
		t.Fatal(err)
	}
	res, err := ix.Search(t.Context(), Request{Query: q, Limit: 10}, fetch)
	if err != nil {
		t.Fatal(err)
	}
	if !res.Newest || !res.AtLeast || len(res.Hits) != 10 {
		t.Fatalf("%+v; want ten hits of the newest", res)
	}
	for _, h := range res.Hits {
		if h.ID <= 400 {
			t.Errorf("hit %d is not among the newest", h.ID)
		}
	}
}
