package lookup_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// A summary stands in for messages: it comes after those that match better.
func TestSummariesComeAfterBetterMessages(t *testing.T) {
	f := newFixture(t)
	f.say(f.open("messages"), messages(12, func(i int) string { return fmt.Sprintf("the kestrel %d", i) })...)
	c := f.open("summaries")
	f.say(c, messages(12, func(i int) string { return fmt.Sprintf("the bird %d", i) })...)
	for i := range 4 {
		f.fold(c, i, i+1, fmt.Sprintf("a kestrel, for the %dth time", i))
	}
	r := recall.GrepRequest{Pattern: "kestrel", Mode: store.FullText, Limit: 4, Where: recall.Where{AllConversations: true}}
	var types []string
	for {
		a := f.grep(r)
		for _, m := range a.Matches {
			types = append(types, m.Type[:1])
		}
		if r.Cursor = a.NextCursor; r.Cursor == "" {
			break
		}
	}
	if diff := cmp.Diff("mmmmmmmmmmmmssss", strings.Join(types, "")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A summary of which a message was found takes no place in a ranking, on any
// page: it is named with the best of its messages.
func TestSummaryStandsBesideItsMessage(t *testing.T) {
	f := newFixture(t)
	c := f.open("mixed")
	f.say(c, messages(12, func(i int) string { return fmt.Sprintf("the kestrel %d", i) })...)
	leaf := f.fold(c, 0, 3, "a kestrel, four times")
	top := f.fold(c, 0, 2, "kestrels, all in all")
	for _, limit := range []int{3, 50} {
		r := recall.GrepRequest{Pattern: "kestrel", Mode: store.FullText, Limit: limit, Where: recall.Where{Current: c}}
		var named []string
		n := 0
		for {
			a := f.grep(r)
			for _, m := range a.Matches {
				n++
				if m.Type != "message" {
					t.Errorf("limit %d: %s has a place of its own", limit, m.ID)
				}
				named = append(named, texts(m.AlsoIn)...)
			}
			if r.Cursor = a.NextCursor; r.Cursor == "" {
				break
			}
		}
		if n != 12 {
			t.Errorf("limit %d: %d messages, want 12", limit, n)
		}
		for _, id := range []string{string(leaf.ID), string(top.ID)} {
			if limit == 50 && !slices.Contains(named, id) {
				t.Errorf("summary %s is not named with a message: %v", id, named)
			}
		}
	}
	if a := f.grep(recall.GrepRequest{Pattern: "kestrel", Kinds: recall.InSummaries, Mode: store.FullText, Where: recall.Where{Current: c}}); len(a.Matches) != 2 {
		t.Errorf("%d summaries, want 2", len(a.Matches))
	}
}

// A summary that takes no place does not hold up the next one, which comes after two messages.
func TestPlaceOfASummaryAfterOneWithoutAPlace(t *testing.T) {
	f := newFixture(t)
	c := f.open("mixed")
	f.say(c, messages(8, func(i int) string { return fmt.Sprintf("the kestrel %d", i) })...)
	f.fold(c, 0, 1, "kestrel nests, kestrel nests")
	other := f.open("other")
	f.say(other, messages(4, func(i int) string { return fmt.Sprintf("the bird %d", i) })...)
	f.fold(other, 0, 1, "a kestrel nests")
	var types []string
	r := recall.GrepRequest{Pattern: "kestrel nests", Mode: store.FullText, Limit: 3, Where: recall.Where{AllConversations: true}}
	for first := true; first || r.Cursor != ""; first = false {
		a := f.grep(r)
		for _, m := range a.Matches {
			types = append(types, m.Type[:1])
		}
		r.Cursor = a.NextCursor
	}
	if got := strings.Join(types, ""); got != "mmsmmmmmm" {
		t.Error(got)
	}
}

// A summary that a common word of the question brought in comes after the messages.
func TestSummaryOfACommonWordComesLater(t *testing.T) {
	f := newFixture(t)
	c := f.open("notes")
	f.say(c, messages(300, func(i int) string { return fmt.Sprintf("a note about the harbour, number %d", i) })...)
	f.say(f.open("reports"), messages(60, func(i int) string { return fmt.Sprintf("the kestrel nests in the harbour, report %d", i) })...)
	f.fold(c, 0, 99, "notes about the harbour")
	f.fold(c, 1, 100, "the peregrine moved to the lighthouse")
	first := func(pattern string) []recall.Match {
		return f.grep(recall.GrepRequest{Pattern: pattern, Mode: store.FullText, Limit: 10, Where: recall.Where{AllConversations: true}}).Matches
	}
	for _, m := range first("where does the kestrel nest in the harbour") {
		if m.Type == "summary" {
			t.Errorf("%s is among the first ten: %s", m.ID, m.Snippet)
		}
	}
}

// A message that a fork has folded again is covered by the summary of its own conversation.
func TestCoveredInItsOwnConversation(t *testing.T) {
	f := newFixture(t)
	c := f.open("session")
	f.say(c, messages(4, func(i int) string { return fmt.Sprintf("the heron %d", i) })...)
	fork, err := f.db.Fork(t.Context(), c, 4, store.NewConversation{Key: "fork"})
	if err != nil {
		t.Fatal(err)
	}
	own := f.fold(c, 0, 1, "birds")
	f.fold(fork.ID, 0, 2, "more birds")
	for _, where := range []store.ConversationID{c, fork.ID} {
		if a := f.grep(recall.GrepRequest{Pattern: "heron 1", Where: recall.Where{Current: where}}); len(a.Matches) != 1 || a.Matches[0].CoveredBy != own.ID {
			t.Errorf("in conversation %d: %+v, want %s", where, a.Matches, own.ID)
		}
	}
}
