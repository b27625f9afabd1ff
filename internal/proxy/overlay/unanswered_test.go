package overlay_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/internal/proxy/overlay"
	"github.com/lossless-context/lcm/internal/store"
	"github.com/lossless-context/lcm/llms"
)

// TestCallWithoutResult: a call that never got a result is in the record and not in the
// request. The summary of it is used.
func TestCallWithoutResult(t *testing.T) {
	h := &history{}
	h.begin("user")
	h.text(llms.RoleUser, "start")
	h.begin("assistant")
	h.call("toolu_1")
	h.begin("user")
	h.result("toolu_1")
	sent := len(h.turns)
	h.begin("assistant")
	h.call("toolu_2") // the host was killed here
	h.turns = h.turns[:sent]
	h.begin("assistant")
	h.text(llms.RoleAssistant, "done")
	h.begin("user")
	h.text(llms.RoleUser, "go on")
	ix := h.index()
	var ids []store.MessageID
	for _, m := range h.stored[:4] { // up to the second call
		ids = append(ids, m.ID)
	}
	p := overlay.NewPlan(ix, []*overlay.Cover{{ID: "sum_1", Text: "a summary", Messages: ids}})
	rapid.Check(t, func(t *rapid.T) {
		if _, laid := lay(t, h, ix, p, h.body(t, len(h.turns))); laid.Dropped != 2 {
			t.Fatalf("%d messages are dropped, want the first call and its result", laid.Dropped)
		}
	})
}
