package overlay_test

import (
	"testing"

	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/proxy/overlay"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// TestDensity: a record that holds a call and its result counts once.
func TestDensity(t *testing.T) {
	ix := overlay.NewIndex()
	ix.Add(store.Message{ID: 1, Seq: 1, Tokens: 1000, Body: llms.Message{Role: llms.RoleAssistant, Parts: []llms.Part{
		{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: "c1", Name: "bash"}},
		{Kind: llms.PartToolResult, Result: &llms.ToolResult{CallID: "c1"}},
	}}})
	body := `{"model":"m","messages":[{"role":"user","content":"go"},
		{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"c1","content":"output"}]}`
	r, err := apiform.Parse(apiform.Chat, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	units := r.Messages[1].Units + r.Messages[2].Units
	if got, want := ix.Density(r), 1000/float64(units); got != want {
		t.Errorf("density %v, want %v", got, want)
	}
}
