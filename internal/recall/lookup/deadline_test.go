package lookup_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/kit/hint"
	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/sqlite"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/recall"
)

// hurried is a store whose first searches run out of time: that of messages
// after two of them, that of summaries before it began.
type hurried struct {
	*sqlite.DB
	left int
}

func (h *hurried) Search(ctx context.Context, q store.Search) (store.Found, error) {
	if h.left == 0 {
		return h.DB.Search(ctx, q)
	}
	h.left--
	if q.Summaries {
		return store.Found{}, context.DeadlineExceeded
	}
	q.Limit = 2
	found, err := h.DB.Search(ctx, q)
	found.Next, found.Unfinished = nil, true
	return found, err
}

// A search that ran out of time shows the matches that it has, says so, and its cursor
// finds the rest: also that of the kind it never came to.
func TestUnfinishedSearchesGoOn(t *testing.T) {
	s := newStory(t)
	svc, err := lookup.New(&hurried{DB: s.db, left: 2})
	if err != nil {
		t.Fatal(err)
	}
	r := recall.GrepRequest{Pattern: "deployment", Where: s.here()}
	first, err := svc.Grep(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if !first.Unfinished || !first.TotalIsLowerBound {
		t.Errorf("the answer looks finished: %+v", first)
	}
	contains(t, "the notes", strings.Join(first.Notes, "\n"), "not finished", "since")
	r.Cursor = first.NextCursor
	second, err := svc.Grep(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	want := "msg_6 msg_5, then " + string(s.leaf.ID) + " msg_1"
	if diff := cmp.Diff(want, ids(first)+", then "+ids(second)); diff != "" || second.Unfinished {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A search that ran out of time does not say of a word that it is not in the record: the
// part that was not searched may have it.
func TestUnfinishedSearchesNameNoAbsentWords(t *testing.T) {
	s := newStory(t)
	for left, want := range []string{"Zeppelin", ""} {
		svc, err := lookup.New(&hurried{DB: s.db, left: left})
		if err != nil {
			t.Fatal(err)
		}
		a, err := svc.Grep(t.Context(), recall.GrepRequest{Pattern: "Why does Zeppelin need a deployment?", Mode: store.FullText, OrWords: true, Kinds: recall.InMessages, Where: s.here()})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(a.NotInRecord, " "); got != want || a.Unfinished != (left > 0) {
			t.Errorf("unfinished %v: absent %q, want %q", a.Unfinished, got, want)
		}
	}
}

// A deadline that has passed before anything was read gets the same advice as
// one that passes during the search.
func TestDeadlinePassedBefore(t *testing.T) {
	s := newStory(t)
	ctx, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	for _, where := range []recall.Where{s.here(), {AllConversations: true}} {
		for _, mode := range []store.Mode{store.Regex, store.FullText} {
			a, err := s.Grep(ctx, recall.GrepRequest{Pattern: "deployment", Mode: mode, Where: where})
			var refused *hint.Error
			if !errors.As(err, &refused) || !errors.Is(err, recall.ErrRefused) || !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("%s: %+v, %v", mode, a, err)
			}
			contains(t, "the hint", refused.Hint, "allow more time")
		}
	}
}
