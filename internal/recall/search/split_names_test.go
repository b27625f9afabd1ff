package search_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/recall/search"
)

// A text with some of the words of an identifier does not match the identifier,
// in any order of results. Without a text that matches it, its words count alone.
func TestWordsOfAnIdentifierAreNoMatch(t *testing.T) {
	l := shelf(t,
		"the process ended",
		"a sub for lunch",
		"start the sub process of the importer",
		"call subProcess twice",
		"the subprocess hangs",
		"ready for lunch",
		"the sub_process column",
		"a long walk",
	)
	for query, want := range map[string][]int64{
		"subProcess":                {3, 4, 5, 7},
		"sub_process":               {3, 4, 7},
		"lunch subProcess":          {2, 3, 4, 5, 6, 7},
		"process subProcess":        {1, 3, 4, 5, 7},
		"subProcess process":        {1, 3, 4, 5, 7},
		"isReady":                   {6},
		"long-term":                 {8},
		"mainProcess":               {1, 3, 4, 7},
		"where is subProcess ended": {1, 3, 4, 5, 7},
	} {
		for _, sort := range []search.Sort{search.ByRelevance, search.ByRecency} {
			res := l.search(t, query, search.Request{Sort: sort})
			got := matchedIDs(res)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" || res.Matched != len(want) {
				t.Errorf("%s, order %d: %d matches (-want +got):\n%s", query, sort, res.Matched, diff)
			}
		}
	}
	if got := l.search(t, "lunch subProcess", search.Request{}).Hits[0].ID; got != 4 {
		t.Errorf("%d comes first, want the text with the identifier", got)
	}
}
