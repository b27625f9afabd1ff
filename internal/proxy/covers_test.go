package proxy

import (
	"context"
	"errors"
	"iter"
	"maps"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/proxy/overlay"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/summary"
)

// summaries is a store with summaries alone.
type summaries struct {
	store.Reader
	rows    map[store.SummaryID]store.Summary
	sources map[store.SummaryID][]store.ID
	fails   error
	reads   int // of sources
}

func (s *summaries) Summaries(_ context.Context, q store.SummaryQuery) iter.Seq2[store.Summary, error] {
	return func(yield func(store.Summary, error) bool) {
		for _, id := range q.IDs {
			sum, ok := s.rows[id]
			err := s.fails
			if err == nil && !ok {
				err = store.Missing(string(id))
			}
			if !yield(sum, err) || err != nil {
				return
			}
		}
	}
}

func (s *summaries) Sources(_ context.Context, id store.SummaryID) ([]store.ID, error) {
	s.reads++
	return s.sources[id], nil
}

// twoLeaves is a condensed summary of two leaves with two messages each.
func twoLeaves() *summaries {
	return &summaries{
		rows: map[store.SummaryID]store.Summary{
			"top": {ID: "top", Kind: summary.Condensed, Depth: 1, Messages: 4, Body: "all"},
			"a":   {ID: "a", Kind: summary.Leaf, Messages: 2, Body: "the first two"},
			"b":   {ID: "b", Kind: summary.Leaf, Messages: 2, Body: "the last two"},
		},
		sources: map[store.SummaryID][]store.ID{
			"top": {{Summary: "a"}, {Summary: "b"}},
			"a":   {{Message: 1}, {Message: 2}},
			"b":   {{Message: 3}, {Message: 4}},
		},
	}
}

// TestCoverOfDamagedRecord: a summary that is not as it was made has no text, and those
// beneath it are read.
func TestCoverOfDamagedRecord(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*summaries)
		shown  map[store.SummaryID]bool
	}{
		"intact":               {func(*summaries) {}, map[store.SummaryID]bool{"top": true, "a": true, "b": true}},
		"erased":               {func(s *summaries) { row := s.rows["top"]; row.Method = store.MethodErased; s.rows["top"] = row }, map[store.SummaryID]bool{"top": false, "a": true, "b": true}},
		"a source is gone":     {func(s *summaries) { delete(s.rows, "b") }, map[store.SummaryID]bool{"top": false, "a": true, "b": false}},
		"a message is gone":    {func(s *summaries) { s.sources["b"] = s.sources["b"][:1] }, map[store.SummaryID]bool{"top": false, "a": true, "b": false}},
		"it is beneath itself": {func(s *summaries) { s.sources["top"][1] = store.ID{Summary: "top"} }, map[store.SummaryID]bool{"top": false, "a": true}},
		"all of it is gone":    {func(s *summaries) { delete(s.rows, "top") }, map[store.SummaryID]bool{"top": false}},
	} {
		t.Run(name, func(t *testing.T) {
			s := twoLeaves()
			c.change(s)
			got, err := coverReader{store: s}.cover(t.Context(), "top", 2)
			if err != nil {
				t.Fatal(err)
			}
			shown := map[store.SummaryID]bool{}
			for one := range got.All {
				shown[one.ID] = one.Text != ""
			}
			if !maps.Equal(shown, c.shown) {
				t.Errorf("%v, want %v", shown, c.shown)
			}
		})
	}
	s := twoLeaves()
	s.fails = errors.New("busy")
	if _, err := (coverReader{store: s}).cover(t.Context(), "top", 2); err == nil {
		t.Error("a failure of reading is taken for damage")
	}
}

// TestCoverReadAgain: a summary is read again if its text has changed, and a plan with
// its old text is not shown any more.
func TestCoverReadAgain(t *testing.T) {
	s := twoLeaves()
	first, err := coverReader{store: s}.cover(t.Context(), "top", 2)
	if err != nil {
		t.Fatal(err)
	}
	read := coverReader{store: s, known: map[store.SummaryID]*overlay.Cover{}}
	plan := overlay.NewPlan(overlay.NewIndex(), []*overlay.Cover{first})
	read.remember(plan)
	before := s.reads
	again, err := read.cover(t.Context(), "top", 2)
	if err != nil || again != first || s.reads != before {
		t.Errorf("it was read again: %v", err)
	}
	if !within(plan.Covers, []*overlay.Cover{again}) {
		t.Error("the same text counts as another one")
	}
	row := s.rows["top"]
	row.Revision, row.Body = 1, "other words"
	s.rows["top"] = row
	again, err = read.cover(t.Context(), "top", 2)
	if err != nil || again == first || again.Text == first.Text || again.Summaries[0] != first.Summaries[0] {
		t.Errorf("%+v, %v", again, err)
	}
	if within(plan.Covers, []*overlay.Cover{again}) {
		t.Error("the old text is still shown")
	}
}

// Payload implements [store.Reader].
func (s *summaries) Payload(_ context.Context, id store.PayloadID) (store.Payload, error) {
	if p, ok := map[store.PayloadID]store.Payload{
		"file_1": {ID: "file_1", MIME: "image/png", Name: "gate\n.png"}, "file_2": {ID: "file_2", MIME: "text/plain"},
	}[id]; ok {
		return p, nil
	}
	return store.Payload{}, store.Missing(string(id))
}

// TestFoldedImages: a summary names the images beneath it, and how to see them again.
func TestFoldedImages(t *testing.T) {
	s := twoLeaves()
	for id, files := range map[store.SummaryID][]store.PayloadID{"a": {"file_1", "file_2", "file_gone"}, "b": {"file_2"}} {
		sum := s.rows[id]
		sum.Files = files
		s.rows[id] = sum
	}
	r := coverReader{store: s, known: map[store.SummaryID]*overlay.Cover{}}
	a, err := r.cover(t.Context(), "a", 9)
	if err != nil || !strings.Contains(a.Text, "no longer shown: file_1 (gate .png image/png). ") || !strings.Contains(a.Text, "lcm describe ID --raw > FILE") {
		t.Errorf("%s, %v", a.Text, err)
	}
	if b, err := r.cover(t.Context(), "b", 9); err != nil || strings.Contains(b.Text, "Images") {
		t.Errorf("%s, %v", b.Text, err)
	}
}
