package lcm_test

import (
	"path/filepath"
	"testing"

	"github.com/lossless-context/lcm"
	"github.com/lossless-context/lcm/internal/proof/sample"
)

// TestContextShowsTheFinestSummaries: a view that was folded for a small budget shows the
// summaries beneath its own in a large one, within their share, and folds nothing for it.
func TestContextShowsTheFinestSummaries(t *testing.T) {
	e := foldEngine(t, filepath.Join(t.TempDir(), "lcm.db"))
	s := e.Session("s")
	for range 4 {
		if err := s.Append(t.Context(), sample.Messages()...); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Compact(t.Context(), lcm.CompactOptions{Budget: 4_000}); err != nil {
		t.Fatal(err)
	}
	shown := func(budget int) (n, tokens int) {
		view, err := s.Context(t.Context(), budget)
		if err != nil {
			t.Fatal(err)
		}
		if view.Compaction != nil && view.Compaction.Folds() > 0 {
			t.Fatalf("folded for a budget of %d", budget)
		}
		for _, it := range view.Items {
			if it.IsSummary() {
				n, tokens = n+1, tokens+it.Tokens
			}
		}
		return n, tokens
	}
	few, _ := shown(4_000)
	many, tokens := shown(100_000)
	if many <= few || tokens > e.SummaryShare(100_000) {
		t.Errorf("%d summaries in a budget of 4,000, %d of %d tokens in one of 100,000, whose share is %d", few, many, tokens, e.SummaryShare(100_000))
	}
}
