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

// The last words of a turn stand before its prompt, which has the words of the question, if they
// have one too, and else right behind it; where the question asks what the user said, the prompt stands first.
func TestReplyStandsBeforeItsPrompt(t *testing.T) {
	for _, tt := range []struct {
		user  bool
		score float64 // of the reply
		want  []int64
	}{{false, 0.1, []int64{9, 1}}, {false, 0, []int64{1, 9}}, {true, 0.1, []int64{1}}} {
		list := []Hit{{ID: 1, Role: userRole, Next: 2, Score: 1}, {ID: 2, Role: assistantRole}, {ID: 9, Role: assistantRole, Closes: true, Score: tt.score}}
		got := Rank(Question{User: tt.user}, list, DefaultWeights())
		for i, want := range tt.want {
			if got[i].ID != want {
				t.Errorf("asks for the user %v, reply with %v: place %d has %d, want %d", tt.user, tt.score, i, got[i].ID, want)
			}
		}
	}
	for question, want := range map[string]bool{"what did the user say about trailers": true, "what did I ask for on november 16": true, "which user is root": false} {
		if got := asksUser().MatchString(question); got != want {
			t.Errorf("%s: %v", question, got)
		}
	}
}
