package search

import "testing"

// Of messages with the same words, the last words of a turn come first, then the user's, then
// other words of the agent, then the work of tools. Being said lifts no message without them.
func TestWhoSaidItCounts(t *testing.T) {
	list := []Hit{
		{ID: 1, Role: userRole, Next: 2, Score: 1}, {ID: 2, Role: assistantRole, Next: 3, Score: 1}, {ID: 3, Role: assistantRole, Next: 4, Score: 1},
		{ID: 4, Role: toolRole, Next: 5, Score: 1}, {ID: 5, Role: assistantRole, Next: 6, Score: 1}, {ID: 6, Role: userRole},
	}
	got := Rank(Question{}, list, DefaultWeights())
	for i, want := range []int64{5, 1, 2, 4, 3, 6} {
		if got[i].ID != want {
			t.Errorf("place %d: %d, want %d", i, got[i].ID, want)
		}
	}
}
