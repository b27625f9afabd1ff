package engine_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// A sub-agent of the host answers a question: it gets a task and tools that reach no further
// than its grant, and its answer is checked as that of a model. Nobody else has lcm_expand, and
// it ends with the question.
func TestSubagentOfTheHostAnswers(t *testing.T) {
	a := start(t, t.TempDir(), "myagent")
	messages := []map[string]any{
		{"id": "1", "message": map[string]any{"role": "user", "content": "What opens the harbour gate?"}},
		{"id": "2", "message": map[string]any{"role": "assistant", "content": "The harbour gate opens with the word CORMORANT-77."}},
	}
	a.ask("ingest", map[string]any{"session": "s", "form": "openai", "messages": messages})
	var got struct {
		Ask *struct {
			Child, System, Message string
			Tools                  []struct{ Verb, Name string }
		}
		Text    string
		IsError bool
	}
	take := func(verb string, members map[string]any) {
		t.Helper()
		got.Ask, got.Text, got.IsError = nil, "", false
		if err := json.Unmarshal(a.ask(verb, members), &got); err != nil {
			t.Fatal(err)
		}
	}
	question := map[string]any{"session": "s", "delegate": true, "arguments": map[string]any{"query": "harbour gate", "prompt": "What opens the harbour gate?"}}
	take("expand_query", question)
	if got.Ask == nil || len(got.Ask.Tools) != 3 || !strings.Contains(got.Ask.System, "lcm_expand") || !strings.Contains(got.Ask.Message, "What opens the harbour gate?") {
		t.Fatalf("%+v", got)
	}
	child := got.Ask.Child
	take("expand", map[string]any{"child": child, "arguments": map[string]any{"messageIds": []string{"msg_1"}}})
	if !strings.Contains(got.Text, "not part of the grant") || !got.IsError {
		t.Fatalf("beyond the grant: %+v", got)
	}
	take("expand", map[string]any{"child": child, "arguments": map[string]any{"messageIds": []string{"msg_2"}}})
	if !strings.Contains(got.Text, "CORMORANT-77") || got.IsError {
		t.Fatalf("lcm_expand: %+v", got)
	}
	take("reply", map[string]any{"child": child, "text": `{"answer": "The word CORMORANT-77 opens it.", "citedIds": ["msg_2"]}`})
	if got.Ask != nil || got.IsError || !strings.Contains(got.Text, "CORMORANT-77") || !strings.Contains(got.Text, "msg_2") || strings.Contains(got.Text, "no_model") {
		t.Fatalf("%+v", got)
	}
	for _, verb := range []string{"expand", "reply"} {
		if r := a.get(verb, map[string]any{"child": child, "arguments": map[string]any{}}); r.Error == nil {
			t.Errorf("%s after the question: %s", verb, r.OK)
		}
	}
	// A sub-agent that fails leaves lcm's own answer, and one that has read nothing is asked again.
	take("expand_query", question)
	take("reply", map[string]any{"child": got.Ask.Child, "text": `{"answer": "CORMORANT-78", "citedIds": ["msg_2"]}`})
	if got.Ask == nil || got.Ask.System != "" {
		t.Fatalf("%+v", got)
	}
	take("reply", map[string]any{"child": got.Ask.Child, "problem": "the host has no sub-agents"})
	if got.Ask != nil || !strings.Contains(got.Text, "CORMORANT-77") {
		t.Fatalf("%+v", got)
	}
}
