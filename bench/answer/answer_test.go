package answer_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/bench/answer"
	"github.com/lossless-context/lcm/bench/recall"
)

var update = flag.Bool("update", false, "rewrite golden files")

// TestBundledQuestions keeps the figures as a golden, so that a change in
// ranking or in the choice of passages is a line in a diff.
func TestBundledQuestions(t *testing.T) {
	r, err := answer.Bundled(t.Context(), answer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.All.Questions < 100 || r.All.Share < 0.80 || r.All.Tokens > 2000 {
		t.Errorf("%d questions, %f of them answered, %f tokens", r.All.Questions, r.All.Share, r.All.Tokens)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "gold span inside %d tokens, no model\n", r.MaxTokens)
	for _, c := range append(r.Categories, answer.CategoryFigures{Category: "all", Figures: r.All}) {
		fmt.Fprintf(&b, "%-12s %3d questions %.3f\n", c.Category, c.Questions, c.Share)
	}
	fmt.Fprintf(&b, "missed: %s\n", strings.Join(r.Missed, " "))
	path := filepath.Join("testdata", "bundled.golden")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}

func TestDatasetCountsWholeMessages(t *testing.T) {
	d, err := recall.Bundled()
	if err != nil {
		t.Fatal(err)
	}
	r, err := answer.Dataset(t.Context(), d, answer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.All.Share < 0.5 || r.All.Share > 1 || r.All.Questions+r.LeftOut != len(d.Questions) || !strings.Contains(r.Text(), "evidence inside the answer") {
		t.Errorf("%+v", r)
	}
}
