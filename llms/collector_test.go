package llms_test

import (
	"runtime"
	"testing"

	"github.com/lossless-context/lcm/llms"
)

// Collecting an answer costs its length, not its length for each piece.
func TestTinyPiecesAreCollectedOnce(t *testing.T) {
	const pieces = 50_000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var c llms.Collector
	for range pieces {
		c.Add(llms.Event{Kind: llms.EventText, Text: "four"})
	}
	c.Add(llms.Event{Kind: llms.EventReasoning, Text: "why", Signature: "s"})
	c.Add(llms.Event{Kind: llms.EventReasoning, Text: "more"})
	c.Add(llms.Event{Kind: llms.EventToolCall, Call: &llms.ToolCall{ID: "1"}})
	c.Add(llms.Event{Kind: llms.EventText, Text: "end"})
	runtime.ReadMemStats(&after)
	parts := c.Response().Message.Parts
	if len(parts) != 5 || len(parts[0].Text) != 4*pieces || parts[1].Text != "why" || parts[2].Text != "more" || parts[4].Text != "end" {
		t.Errorf("%d parts", len(parts))
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
		t.Errorf("%d MB were allocated for a text of 200 kB", used>>20)
	}
}
