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
	if r.All.Questions < 100 || r.All.Share < 0.55 || r.All.Tokens > 1000 || r.Largest > 2000 {
		t.Errorf("%d questions, %f of them answered, %f tokens, at most %d with everything", r.All.Questions, r.All.Share, r.All.Tokens, r.Largest)
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
	d, err := recall.Load("../recall/evidence/harbor.jsonl")
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

// TestIdentifiers asks for identifiers with prompts about something else: a
// match of the query is in every answer and first in almost all, and no result
// is larger than it may be.
func TestIdentifiers(t *testing.T) {
	r, err := answer.Identifiers(t.Context(), answer.Options{}, 250, 2000, 16_000)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Identifiers) != 20 || len(r.Bounds) != 3 || !strings.Contains(r.Text(), "20 identifiers") {
		t.Fatalf("%d identifiers, %d bounds:\n%s", len(r.Identifiers), len(r.Bounds), r.Text())
	}
	for _, f := range r.Bounds {
		if f.Calls != 80 || f.Answered != 80 || f.First < 78 || f.Largest > f.MaxTokens {
			t.Errorf("%+v", f)
		}
	}
	if one := r.Bounds[1]; one.Tokens > 1450 {
		t.Errorf("answers about one to three messages have %.0f tokens", one.Tokens)
	}
}
