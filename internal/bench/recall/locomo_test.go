package recall

import (
	"flag"
	"fmt"
	"testing"

	"github.com/lossless-context/lcm/internal/search"
)

// data is a dataset to measure, such as LoCoMo's JSON:
//
//	go test ./internal/bench/recall -run TestData -v -data locomo10.json
//	go test ./internal/bench/recall -run TestAblation -v -data locomo10.json
var data = flag.String("data", "", "dataset for TestData and TestAblation; none skips them")

func loadData(t *testing.T) Dataset {
	t.Helper()
	if *data == "" {
		t.Skip("measures only with -data FILE")
	}
	d, err := Load(*data)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestData prints the report for a dataset that is not part of the project.
func TestData(t *testing.T) {
	rep, err := Run(t.Context(), loadData(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Print(rep.Text())
}

// TestAblation prints what each term of the ranking is worth on either half of
// the conversations. A term stays only if it helps on both.
func TestAblation(t *testing.T) {
	d := loadData(t)
	c := newCorpus(d)
	half := make(map[string]int)
	for i, conv := range d.Conversations {
		half[conv.ID] = i % 2
	}
	full := search.DefaultWeights()
	full.UserRole = roleUser
	for _, a := range []struct {
		name   string
		remove func(*search.Weights)
	}{
		{"all terms", func(*search.Weights) {}},
		{"no pairs", func(w *search.Weights) { w.Pair = 0 }},
		{"no neighbours", func(w *search.Weights) { w.Neighbour = 0 }},
		{"no session prior", func(w *search.Weights) { w.Session = 0 }},
		{"no session coverage", func(w *search.Weights) { w.Coverage = 0 }},
		{"no first person", func(w *search.Weights) { w.FirstPerson = 1 }},
		{"no when", func(w *search.Weights) { w.When = 0 }},
	} {
		weights := full
		a.remove(&weights)
		e, err := newEngine(t.Context(), c, weights)
		if err != nil {
			t.Fatal(err)
		}
		for n, name := range []string{"A", "B"} {
			outcomes, _, err := ask(t.Context(), d, c, e, func(conv string) bool { return half[conv] == n })
			if err != nil {
				t.Fatal(err)
			}
			f := figures(outcomes, Options{Resamples: 1})
			t.Logf("%-20s %s (%d)  r@5 %.3f  r@10 %.3f  r@20 %.3f  hit@1 %.3f  hit@5 %.3f  MRR %.3f", a.name, name, f.Questions,
				f.R5.Mean, f.R10.Mean, f.R20.Mean, f.SessionHit1.Mean, f.SessionHit5.Mean, f.MRR.Mean)
		}
	}
}
