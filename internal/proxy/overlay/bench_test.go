package overlay_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/proxy/overlay"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// BenchmarkLay is the work on a request of 10,000 messages: reading it after the one
// before, laying it over the summaries and writing it anew.
func BenchmarkLay(b *testing.B) {
	h := &history{}
	h.begin("user")
	h.text(llms.RoleUser, "begin")
	for i := range 5000 {
		h.begin("assistant")
		h.text(llms.RoleAssistant, fmt.Sprintf("step %d", i))
		h.call(fmt.Sprintf("toolu_%d", i))
		h.begin("user")
		h.result(fmt.Sprintf("toolu_%d", i))
		h.turns[len(h.turns)-1].blocks[0]["content"] = strings.Repeat("output \"of\" it ", 40)
	}
	ix := h.index()
	var covers []*overlay.Cover
	for from := 1; from < len(h.stored)-300; from += 3000 {
		c := &overlay.Cover{ID: store.SummaryID(fmt.Sprint("sum_", from)), Text: "summary"}
		for _, m := range h.stored[from:min(from+3000, len(h.stored)-300)] {
			c.Messages = append(c.Messages, m.ID)
		}
		covers = append(covers, c)
	}
	p := overlay.NewPlan(ix, covers)
	messages := make([]map[string]any, len(h.turns))
	for i, t := range h.turns {
		messages[i] = map[string]any{"role": t.role, "content": t.blocks}
	}
	body, err := json.Marshal(map[string]any{"model": "m", "messages": messages})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	var before *apiform.Request
	for b.Loop() {
		r, err := apiform.ParseAfter(before, apiform.Messages, body)
		if err != nil {
			b.Fatal(err)
		}
		laid, err := p.Lay(r, ix, overlay.Options{})
		if err != nil || laid.Dropped < 9000 {
			b.Fatal(laid.Dropped, err)
		}
		r.Rewrite(laid.Edits)
		before = r
	}
}
