package overlay_test

import (
	"fmt"
	"testing"

	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/proxy/overlay"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/llms"
)

// FuzzLay: whatever a request is, Lay does not panic, and of a call and its result
// neither is sent without the other.
func FuzzLay(f *testing.F) {
	h := &history{}
	h.begin("user")
	h.text(llms.RoleUser, "begin")
	for i := range 6 {
		h.begin("assistant")
		h.call(fmt.Sprintf("t%d", i))
		h.begin("user")
		h.result(fmt.Sprintf("t%d", i))
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
	whole := &overlay.Cover{ID: "sum_all", Text: "all"}
	for _, m := range h.stored[1:9] {
		whole.Messages = append(whole.Messages, m.ID)
	}
	plans := []*overlay.Plan{overlay.NewPlan(ix, covers), overlay.NewPlan(ix, []*overlay.Cover{whole})}
	call := `{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"x","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d"}]}`
	body := `{"messages":[{"role":"user","content":"begin"}`
	for i := range 6 {
		body += "," + fmt.Sprintf(call, i, i)
	}
	f.Add([]byte(body+`]}`), 0, int64(0))
	f.Add([]byte(body+`,{"role":"user","content":"next"}]}`), 1, int64(5))
	f.Fuzz(func(t *testing.T, body []byte, which int, checkpoint int64) {
		r, err := apiform.Parse(apiform.Messages, body, nil)
		if err != nil {
			return
		}
		laid, err := plans[which&1].Lay(r, ix, overlay.Options{Checkpoint: store.MessageID(checkpoint)})
		if err != nil {
			return
		}
		gone := dropped(r, laid)
		calls := map[apiform.Key]int{}
		for i := range r.Messages {
			for _, k := range r.Messages[i].Calls {
				calls[k] = i
			}
		}
		for i := range r.Messages {
			for _, k := range r.Messages[i].Results {
				if from, ok := calls[k]; ok && gone[from] != gone[i] {
					t.Fatalf("message %d is dropped: %v, and %d with its call: %v\n%s", i, gone[i], from, gone[from], body)
				}
			}
		}
		if gone[len(gone)-1] {
			t.Fatal("the last message is gone")
		}
		r.Rewrite(laid.Edits)
	})
}
