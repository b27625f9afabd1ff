package search_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/search"
	"github.com/lossless-context/lcm/internal/search/segment"
)

// The words of a date are no words of a text. Where no others are left, or no message
// has them, the answer is the messages of that time.
func TestQuestionsOfATimeAlone(t *testing.T) {
	day := func(d, hour int) int64 { return time.Date(2026, 11, d, hour, 0, 0, 0, time.UTC).UnixMilli() }
	docs := []segment.Doc{
		{ID: 1, Conversation: 1, Role: 1, Time: day(1, 9), Text: []byte("plot 3 of last November, on a Tuesday")},
		{ID: 2, Conversation: 1, Role: 1, Time: day(3, 9), Text: []byte("the toolbar loses its focus")},
		{ID: 3, Conversation: 1, Role: 4, Time: day(3, 9), Text: []byte("3 files changed")},
		{ID: 4, Conversation: 1, Role: 2, Time: day(3, 10), Text: []byte("It was the handler of the toolbar.")},
		{ID: 5, Conversation: 1, Role: 1, Time: day(3, 11), Text: []byte("thanks")},
		{ID: 6, Conversation: 2, Role: 1, Time: day(3, 12), Text: []byte("now write the release notes please")},
		{ID: 7, Conversation: 2, Role: 1, Time: day(5, 12), Text: []byte("the toolbar again")},
	}
	for question, want := range map[string][]int64{
		"what did we do on 3 November?":                 {2, 6, 4, 5},
		"what did I ask for on 3 november":              {2, 6, 4, 5},
		"what was the problem on Tuesday":               {2, 6, 4, 5},
		"the release notes of last November":            {6}, // nothing is of November 2025, and the words are known
		"what was wrong with the toolbar on 5 November": {7, 4, 2},
	} {
		for size := 1; size <= len(docs); size += 3 {
			res := newLibrary(t, docs, size).search(t, question, search.Request{Now: time.Date(2026, 11, 6, 9, 0, 0, 0, time.UTC)})
			if diff := cmp.Diff(want, matchedIDs(res)); diff != "" {
				t.Errorf("%s: %s", question, diff)
			}
		}
	}
}
