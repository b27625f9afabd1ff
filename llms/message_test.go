package llms_test

import (
	"encoding/json"
	"testing"

	"github.com/lossless-context/lcm/llms"
)

func TestValidate(t *testing.T) {
	for name, p := range map[string]llms.Part{
		"unknown kind":       {Kind: "song"},
		"call without Call":  {Kind: llms.PartToolCall},
		"result, no Result":  {Kind: llms.PartToolResult},
		"blob without Blob":  {Kind: llms.PartBlob},
		"text with a call":   {Kind: llms.PartText, Call: &llms.ToolCall{}},
		"other, no block":    {Kind: llms.PartOther},
		"ref beside text":    {Kind: llms.PartText, Text: "x", Ref: &llms.Ref{}},
		"extra not JSON":     {Kind: llms.PartText, Extra: json.RawMessage("{")},
		"bad part in output": {Kind: llms.PartToolResult, Result: &llms.ToolResult{Output: []llms.Part{{}}}},
	} {
		if err := (llms.Message{Role: llms.RoleUser, Parts: []llms.Part{p}}).Validate(); err == nil {
			t.Errorf("%s passes", name)
		}
	}
	if (llms.Message{Role: "robot"}).Validate() == nil {
		t.Error("an unknown role passes")
	}
	for _, m := range []llms.Message{llms.User("x"), llms.Calls("x", llms.ToolCall{ID: "a"}), llms.Result("a", "b", "c", true), {Role: llms.RoleUser, Parts: []llms.Part{{Kind: llms.PartBlob, Ref: &llms.Ref{}}}}} {
		if err := m.Validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestSplitSystem(t *testing.T) {
	system, rest := llms.SplitSystem([]llms.Message{llms.System("a"), llms.User("hi"), llms.System("b")})
	if system != "a\n\nb" || len(rest) != 1 || rest[0].Role != llms.RoleUser {
		t.Errorf("SplitSystem = %q, %v", system, rest)
	}
}

func TestMessageAccessors(t *testing.T) {
	m := llms.Message{Role: llms.RoleAssistant, Parts: []llms.Part{
		{Kind: llms.PartReasoning, Text: "look first"},
		{Kind: llms.PartText, Text: "Looking."},
		{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: "c1", Name: "grep"}},
		{Kind: llms.PartToolResult, Result: &llms.ToolResult{CallID: "c1", Output: []llms.Part{{Kind: llms.PartText, Text: "a.go:1"}}}},
		{Kind: llms.PartToolResult, Result: &llms.ToolResult{CallID: "c2", IsError: true}},
	}}
	if got := m.PlainText(); got != "Looking." {
		t.Errorf("PlainText = %q", got)
	}
	if got := m.ToolCalls(); len(got) != 1 || got[0].ID != "c1" {
		t.Errorf("ToolCalls = %v", got)
	}
	if got := m.ToolResults(); len(got) != 2 || !got[1].IsError {
		t.Errorf("ToolResults = %v", got)
	}
}
