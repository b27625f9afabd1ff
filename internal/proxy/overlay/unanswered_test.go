package overlay_test

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/proxy/overlay"
	"github.com/lossless-context/lcm/internal/record/store"
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

// TestResultMadeUp: a call that never got a result is in the request with one that the
// host has made up. The summary of the call is used, and the result is said again.
func TestResultMadeUp(t *testing.T) {
	stored := &history{}
	stored.begin("user")
	stored.text(llms.RoleUser, "start")
	stored.begin("assistant")
	stored.text(llms.RoleAssistant, "I look.")
	stored.call("call_1")
	stored.begin("user")
	stored.text(llms.RoleUser, "go on")
	ix := stored.index()
	p := overlay.NewPlan(ix, []*overlay.Cover{{ID: "sum_1", Text: "a summary", Messages: []store.MessageID{1, 2, 3}}})
	for form, body := range map[apiform.Form]string{
		apiform.Messages: `{"messages":[{"role":"user","content":"start"},
			{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"call_1","name":"bash","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":"interrupted"}]},{"role":"user","content":"go on"}]}`,
		apiform.Responses: `{"input":[{"role":"user","content":"start"},{"role":"assistant","content":"I look."},
			{"type":"function_call","call_id":"call_1"},{"type":"function_call_output","call_id":"call_1","output":"interrupted"},{"role":"user","content":"go on"}]}`,
		apiform.Chat: `{"messages":[{"role":"user","content":"start"},{"role":"assistant","content":"I look.","tool_calls":[{"id":"call_1"}]},
			{"role":"tool","tool_call_id":"call_1","content":"interrupted"},{"role":"user","content":"go on"}]}`,
	} {
		r, err := apiform.Parse(form, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		laid, err := p.Lay(r, ix, overlay.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if want := []apiform.Edit{{From: 1, To: 3, Say: []string{"a summary", "interrupted"}}}; !reflect.DeepEqual(laid.Edits, want) {
			t.Errorf("form %d: the edits are %v, want %v", form, laid.Edits, want)
		}
	}
}

// TestEmptyText: opencode sends an empty text beside a call, which it has not stored. The
// summary of the call is used.
func TestEmptyText(t *testing.T) {
	stored := &history{}
	stored.begin("user")
	stored.text(llms.RoleUser, "start")
	stored.begin("assistant")
	stored.call("call_1")
	stored.result("call_1")
	ix := stored.index()
	p := overlay.NewPlan(ix, []*overlay.Cover{{ID: "sum_1", Text: "a summary", Messages: []store.MessageID{1, 2, 3}}})
	r, err := apiform.Parse(apiform.Chat, []byte(`{"messages":[{"role":"user","content":"start"},{"role":"assistant","content":"","tool_calls":[{"id":"call_1"}]},
		{"role":"tool","tool_call_id":"call_1","content":"output"},{"role":"user","content":"go on"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if laid, err := p.Lay(r, ix, overlay.Options{}); err != nil || laid.Dropped != 2 {
		t.Fatalf("%d messages are dropped (%v), want the call and its result", laid.Dropped, err)
	}
}

// TestPromptOfHost: a text that the host wrote in the user's name beside a result, when it
// resumed an interrupted turn, does not keep the result in the request.
func TestPromptOfHost(t *testing.T) {
	h := &history{}
	h.begin("user")
	h.text(llms.RoleUser, "start")
	h.begin("assistant")
	h.call("toolu_1")
	h.begin("user")
	h.result("toolu_1")
	h.text(llms.RoleUser, "Continue from where you left off.")
	h.stored[len(h.stored)-1].Flags = store.FlagSynthetic
	h.begin("assistant")
	h.text(llms.RoleAssistant, "No response requested.")
	h.begin("user")
	h.text(llms.RoleUser, "go on")
	ix := h.index()
	p := overlay.NewPlan(ix, []*overlay.Cover{{ID: "sum_1", Text: "a summary", Messages: []store.MessageID{1, 2, 3, 4}}})
	rapid.Check(t, func(t *rapid.T) {
		if _, laid := lay(t, h, ix, p, h.body(t, len(h.turns))); laid.Dropped != 2 {
			t.Fatalf("%d messages are dropped, want the call and its result", laid.Dropped)
		}
	})
}
