package overlay_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/proxy/overlay"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// TestSummariesBeneath: where a request does not allow a condensed summary, those
// beneath it are used, as far as the request allows them.
func TestSummariesBeneath(t *testing.T) {
	// A prompt, and sixteen calls with their results. Each of the leaves covers two
	// calls, each of the summaries above them two leaves, and one summary covers all.
	h := &history{}
	h.begin("user")
	h.text(llms.RoleUser, "begin")
	for i := range 16 {
		h.begin("assistant")
		h.call(fmt.Sprint("toolu_", i))
		h.begin("user")
		h.result(fmt.Sprint("toolu_", i))
	}
	ix := h.index()
	tree := func() map[string]*overlay.Cover {
		all := map[string]*overlay.Cover{}
		cover := func(name string, below ...string) {
			c := &overlay.Cover{ID: store.SummaryID(name), Text: name}
			for _, b := range below {
				c.Summaries = append(c.Summaries, all[b])
			}
			all[name] = c
		}
		for i := range 8 {
			name := fmt.Sprint("leaf", i)
			cover(name)
			for n := range 4 {
				all[name].Messages = append(all[name].Messages, h.stored[1+4*i+n].ID)
			}
		}
		for i := range 4 {
			cover(fmt.Sprint("middle", i), fmt.Sprint("leaf", 2*i), fmt.Sprint("leaf", 2*i+1))
		}
		cover("top", "middle0", "middle1", "middle2", "middle3")
		return all
	}
	for name, c := range map[string]struct {
		change  func(map[string]*overlay.Cover)
		calls   int    // in the request
		insert  string // a block that is added to the answer with call 6
		want    []string
		dropped int
	}{
		"everything":          {calls: 16, want: []string{"top"}, dropped: 32},
		"rewound":             {calls: 11, want: []string{"middle0", "middle1", "leaf4"}, dropped: 20},
		"rewound far":         {calls: 1, want: nil, dropped: 0},
		"erased":              {calls: 16, change: func(m map[string]*overlay.Cover) { m["top"].Text, m["middle1"].Text, m["leaf3"].Text = "", "", "" }, want: []string{"middle0", "leaf2", "middle2", "middle3"}, dropped: 28},
		"a message not known": {calls: 16, change: func(m map[string]*overlay.Cover) { m["leaf7"].Messages = append(m["leaf7"].Messages, 1000) }, want: []string{"middle0", "middle1", "middle2", "leaf6"}, dropped: 28},
		"a source is missing": {calls: 16, change: func(m map[string]*overlay.Cover) {
			m["top"].Text = ""
			m["middle0"].Text, m["middle0"].Summaries[0] = "", &overlay.Cover{ID: "gone"}
		}, want: []string{"leaf1", "middle1", "middle2", "middle3"}, dropped: 28},
		"a message that has to stay": {calls: 16, insert: "server_tool_use", want: []string{"middle0", "leaf2", "middle2", "middle3"}, dropped: 28},
	} {
		t.Run(name, func(t *testing.T) {
			all := tree()
			if c.change != nil {
				c.change(all)
			}
			body := `{"messages":[{"role":"user","content":"begin"}`
			for i := range c.calls {
				more := ""
				if i == 6 && c.insert != "" {
					more = `,{"type":"` + c.insert + `","id":"x"}`
				}
				body += fmt.Sprintf(`,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_%d","name":"Bash","input":{}}%s]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d"}]}`, i, more, i)
			}
			r, err := apiform.Parse(apiform.Messages, []byte(body+`,{"role":"user","content":"another way"}]}`))
			if err != nil {
				t.Fatal(err)
			}
			laid, err := overlay.NewPlan(ix, []*overlay.Cover{all["top"]}).Lay(r, ix, overlay.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var used []string
			for _, c := range laid.Used {
				used = append(used, string(c.ID))
			}
			if !slices.Equal(used, c.want) || laid.Dropped != c.dropped {
				t.Errorf("%v for %d messages, want %v for %d", used, laid.Dropped, c.want, c.dropped)
			}
		})
	}
}
