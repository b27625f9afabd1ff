package overlay_test

import (
	"bytes"
	"fmt"
	"maps"
	"testing"

	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/proxy/overlay"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// FuzzLay: whatever a request is, Lay does not panic, the new body can be read, and no
// call or result in it has lost its partner.
func FuzzLay(f *testing.F) {
	h := &history{}
	h.begin("user")
	h.text(llms.RoleUser, "begin")
	for i := range 6 {
		h.begin("assistant")
		h.call(fmt.Sprintf("t%d", i))
		h.begin("user")
		if i != 2 { // the host has made up this result
			h.result(fmt.Sprintf("t%d", i))
		}
	}
	ix := h.index()
	var covers []*overlay.Cover
	for from := 1; from+3 < len(h.stored); from += 3 { // some part calls from their results
		c := &overlay.Cover{ID: store.SummaryID(fmt.Sprint("sum_", from)), Text: "s"}
		for _, m := range h.stored[from : from+3] {
			c.Messages = append(c.Messages, m.ID)
		}
		covers = append(covers, c)
	}
	plans := []*overlay.Plan{
		overlay.NewPlan(ix, covers),
		overlay.NewPlan(ix, []*overlay.Cover{{ID: "sum_all", Text: "all", Summaries: covers}}),
		overlay.NewPlan(ix, []*overlay.Cover{{ID: "sum_erased", Summaries: covers[:2]}, covers[2]}),
	}
	for form, parts := range [][2]string{
		{`{"messages":[{"role":"user","content":"begin"}`, `{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"x","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"r"}]}`},
		{`{"input":[{"role":"user","content":"begin"}`, `{"type":"function_call","call_id":"t%d"},{"type":"function_call_output","call_id":"t%d","output":"r"}`},
		{`{"messages":[{"role":"user","content":"begin"}`, `{"role":"assistant","tool_calls":[{"id":"t%d"}]},{"role":"tool","tool_call_id":"t%d","content":"r"}`},
	} {
		body := parts[0]
		for i := range 6 {
			body += "," + fmt.Sprintf(parts[1], i, i)
		}
		f.Add([]byte(body+`]}`), form, 0, int64(0))
		f.Add([]byte(body+`,{"role":"user","content":"next"}]}`), form, 1, int64(5))
		f.Add([]byte(body+`,{"role":"user","content":"next"}]}`), form, 2, int64(0))
	}
	f.Fuzz(func(t *testing.T, body []byte, form, which int, checkpoint int64) {
		r, err := apiform.Parse(apiform.Form(1+(form&0xff)%3), body)
		if err != nil {
			return
		}
		laid, err := plans[(which&0xff)%3].Lay(r, ix, overlay.Options{Checkpoint: store.MessageID(checkpoint)})
		if err != nil {
			return
		}
		gone := dropped(r, laid)
		if gone[len(gone)-1] {
			t.Fatal("the last message is gone")
		}
		out := r.Rewrite(laid.Edits)
		if len(laid.Edits) == 0 && !bytes.Equal(out, body) {
			t.Fatal("a request without edits has changed")
		}
		sent, err := apiform.Parse(r.Form, out)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		before, after := unpaired(r), unpaired(sent)
		for k, n := range after {
			if before[k] != n {
				t.Fatalf("a call or result has lost its partner\n%s\n%s", body, out)
			}
		}
	})
}

// unpaired returns the calls without results, 1, and the results without calls, -1.
func unpaired(r *apiform.Request) map[apiform.Key]int {
	open := map[apiform.Key]int{}
	for i := range r.Messages {
		for _, k := range r.Messages[i].Calls {
			open[k]++
		}
		for _, k := range r.Messages[i].Results {
			open[k]--
		}
	}
	maps.DeleteFunc(open, func(_ apiform.Key, n int) bool { return n == 0 })
	return open
}
