package lookup

import (
	"testing"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/search"
)

// A word is absent if no lane has it, be it the first or the last one, whole or in a longer
// word.
func TestAbsenceOverLanes(t *testing.T) {
	none := search.Term{Word: "cassandra"}
	for _, x := range []struct {
		name  string
		lanes []search.Term
		words int
	}{
		{"in none", []search.Term{none, none}, 1},
		{"in the first", []search.Term{{Word: "cassandra", Passages: 1}, none}, 0},
		{"in the last", []search.Term{none, {Word: "cassandra", Passages: 1}}, 0},
		{"in a longer word of the first", []search.Term{{Word: "cassandra", Part: true}, none}, 0},
		{"in a longer word of the last", []search.Term{none, {Word: "cassandra", Part: true}}, 0},
		{"another form in the last", []search.Term{none, {Word: "cassandra", Also: []string{"cassandras"}}}, 0},
	} {
		var lanes []*lane
		for _, term := range x.lanes {
			lanes = append(lanes, &lane{found: store.Found{Words: []search.Term{term}}})
		}
		if got := absence(&query{words: &search.Query{}, search: store.Search{Pattern: "Cassandra"}}, lanes); len(got.Words) != x.words {
			t.Errorf("%s: %q", x.name, got.Words)
		}
	}
}
