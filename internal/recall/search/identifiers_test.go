package search

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIdentifiersOfAQuery(t *testing.T) {
	for query, want := range map[string]string{
		"What is the access phrase of invoice-rows-0a1b2c?":  "invoice-rows-0a1b2c",
		"why does TLS_CERT_PATH matter in (cmd/lcm/main.go)": "tls_cert_path cmd/lcm/main.go",
		"sum_0123456789abcdef":                               "sum_0123456789abcdef",
		"When did Caroline go on the 3rd road trip in 2023?": "",
		"her well-being and self-care":                       "",
		`not -ERR_42_x, nor "a_phrase_1" or pre_fix*`:        "",
	} {
		var got []string
		for _, id := range exactForms(splitClauses(query)) {
			got = append(got, string(id))
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
}

// A text with the identifier comes before texts with a better score, whatever
// stands around them.
func TestIdentifiersDecide(t *testing.T) {
	q, err := ParseQuery("the access phrase of Invoice-Rows-0a1b2c")
	if err != nil {
		t.Fatal(err)
	}
	if n := q.exact([]byte("it says INVOICE-ROWS-0A1B2C here")); n != 1 {
		t.Errorf("the identifier was found %d times", n)
	}
	ranked := Rank(Question{}, []Candidate{
		{ID: 1, Score: 9, Next: 2}, {ID: 2, Score: 9, Prev: 1, Next: 3}, {ID: 3, Score: 2, Prev: 2, Exact: 1},
	}, DefaultWeights())
	if ranked[0].ID != 3 {
		t.Errorf("%d came first", ranked[0].ID)
	}
}
