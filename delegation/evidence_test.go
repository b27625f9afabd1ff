package delegation_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/delegation"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// Whatever the cap, evidence stays below it and every line of it is text of the
// message that it names.
func TestEvidenceIsVerbatimAndCapped(t *testing.T) {
	f := newFixture(t, nil)
	var texts []string
	for i := range 60 {
		texts = append(texts, fmt.Sprintf("Entry %d about the anchor. %s The chain is %d fathoms, 鎖 🙂.", i, strings.Repeat("Salt and tar and rope. ", i), i*3))
	}
	c := f.talk("s", texts...)
	lines := regexp.MustCompile(`(?m)^msg_(\d+) user: (.*)$`)
	for _, most := range []int{50, 75, 120, 333, 1000, 2000, 16_000} {
		a, err := f.Ask(t.Context(), delegation.Request{
			Query: "anchor chain", Prompt: "How many fathoms is the chain?", Where: recall.Where{Current: c}, MaxTokens: most, Output: delegation.OutputEvidence,
		})
		if err != nil {
			t.Fatal(err)
		}
		if n := llms.Estimate.Count(a.Answer); n > most {
			t.Errorf("maxTokens %d: %d tokens", most, n)
		}
		found := lines.FindAllStringSubmatch(a.Answer, -1)
		if len(found) == 0 || len(found) != len(a.CitedIDs) || a.Method != delegation.MethodEvidence || a.Reason != "" {
			t.Errorf("maxTokens %d: %d lines, %d cited, %s %q", most, len(found), len(a.CitedIDs), a.Method, a.Reason)
		}
		for _, line := range found {
			var n int
			if _, err := fmt.Sscan(line[1], &n); err != nil {
				t.Fatal(err)
			}
			words := strings.TrimSuffix(strings.TrimPrefix(line[2], "[…] "), " […]")
			if !strings.Contains(texts[n-1], words) || !slices.Contains(a.CitedIDs, "msg_"+line[1]) {
				t.Errorf("msg_%d never said %q", n, words)
			}
		}
		if most == 16_000 != !a.Truncated {
			t.Errorf("maxTokens %d: truncated %v", most, a.Truncated)
		}
	}
}

// With summaries named, nothing outside them is quoted.
func TestEvidenceStaysBeneathTheNamedSummaries(t *testing.T) {
	f := newFixture(t, nil)
	c := f.talk("s", "the anchor is down", "the anchor is up", "the anchor is lost", "nobody knows")
	id := f.fold(c, 2, "Something happened.")
	for _, prompt := range []string{"where is the anchor?", "zither?"} {
		a, err := f.Ask(t.Context(), delegation.Request{SummaryIDs: []string{string(id)}, Prompt: prompt, Where: recall.Where{Current: c}})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(a.CitedIDs)
		if !slices.Equal(a.CitedIDs, []string{"msg_1", "msg_2"}) || strings.Contains(a.Answer, "lost") || a.ExpandedSummaryCount != 1 {
			t.Errorf("%q: %v\n%s", prompt, a.CitedIDs, a.Answer)
		}
	}
}
