package overlay_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/proxy/overlay"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// TestOrderOfKeptPrompt: a prompt that stays beside its summary stands before the summary
// of the work on it, else it would read like a new one.
func TestOrderOfKeptPrompt(t *testing.T) {
	// The record: begin, two calls with results, "OLD PROMPT", two calls with results.
	h := &history{}
	body := `{"messages":[{"role":"user","content":"begin"}`
	step := func(n int) {
		h.begin("assistant")
		h.call(fmt.Sprint("toolu_", n))
		h.begin("user")
		h.result(fmt.Sprint("toolu_", n))
		body += fmt.Sprintf(`,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_%d","name":"Bash","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d"}]}`, n, n)
	}
	h.begin("user")
	h.text(llms.RoleUser, "begin")
	step(0)
	step(1)
	h.begin("user")
	h.text(llms.RoleUser, "OLD PROMPT")
	body += `,{"role":"user","content":"OLD PROMPT"}`
	step(2)
	step(3)
	body += `,{"role":"user","content":"NEW PROMPT"}]}`
	ix := h.index()
	for name, c := range map[string]struct {
		covers [][2]int // ranges of the record
		want   []string
	}{
		"in the middle":     {[][2]int{{1, 10}}, []string{"begin", "INTRO", "next summary", "OLD PROMPT", "sum0", "NEW PROMPT"}},
		"after another":     {[][2]int{{1, 3}, {3, 8}}, []string{"begin", "INTRO", "sum0", "OLD PROMPT", "sum1", "toolu_3", "NEW PROMPT"}},
		"at the end":        {[][2]int{{1, 6}}, []string{"begin", "INTRO", "sum0", "OLD PROMPT", "toolu_2", "NEW PROMPT"}},
		"at the beginning":  {[][2]int{{1, 5}, {5, 10}}, []string{"begin", "INTRO", "sum0", "OLD PROMPT", "sum1", "NEW PROMPT"}},
		"two summaries on":  {[][2]int{{1, 8}, {8, 10}}, []string{"begin", "INTRO", "next summary", "OLD PROMPT", "sum0", "sum1", "NEW PROMPT"}},
		"the first of them": {[][2]int{{0, 3}}, []string{"begin", "INTRO", "sum0", "toolu_1", "OLD PROMPT", "NEW PROMPT"}},
	} {
		t.Run(name, func(t *testing.T) {
			var covers []*overlay.Cover
			for k, of := range c.covers {
				one := &overlay.Cover{ID: store.SummaryID(fmt.Sprint("sum", k)), Text: fmt.Sprint("sum", k)}
				for _, m := range h.stored[of[0]:of[1]] {
					one.Messages = append(one.Messages, m.ID)
				}
				covers = append(covers, one)
			}
			r, err := apiform.Parse(apiform.Messages, []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			laid, err := overlay.NewPlan(ix, covers).Lay(r, ix, overlay.Options{Intro: "INTRO"})
			if err != nil {
				t.Fatal(err)
			}
			out := string(r.Rewrite(laid.Edits))
			places := make([]int, len(c.want))
			for i, text := range c.want {
				places[i] = strings.Index(out, text)
			}
			if !slices.IsSorted(places) || places[0] < 0 {
				t.Errorf("%v are at %v in %s", c.want, places, out)
			}
		})
	}
}
