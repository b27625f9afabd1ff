package lookup_test

import (
	"slices"
	"testing"

	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// The next two prompts follow a message, and those further on that have words of the question,
// in order; neither what is beside them nor what came before it.
func TestLater(t *testing.T) {
	f := newFixture(t)
	ids := f.say(f.open("s"),
		llms.User("what is the retry limit?"), llms.User("the retry limit is 3"), llms.Assistant("noted, the retry limit is 3"),
		llms.User("go on"), llms.User("fine"), llms.User("and the colour?"),
		llms.User("make the retry limit 5"), llms.Assistant("the retry limit is 5"), llms.User("thanks"))
	of, err := store.First(f.db.Messages(t.Context(), store.MessageQuery{IDs: ids[1:2]}))
	if err != nil {
		t.Fatal(err)
	}
	for question, want := range map[string][]store.MessageID{
		"retry limit": {ids[3], ids[4], ids[6]},
		"?":           {ids[3], ids[4]}, // it has no words
	} {
		said, err := lookup.Later(t.Context(), f.db, of, question)
		if err != nil {
			t.Fatalf("%q: %v", question, err)
		}
		var got []store.MessageID
		for _, m := range said {
			got = append(got, m.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", question, got, want)
		}
	}
}
