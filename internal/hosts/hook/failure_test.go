package hook_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/hosts/hook"
	"github.com/lossless-context/lcm/llms"
)

// TestAfterFailure: a session is told once what worked after the failure that it has just met,
// and nothing where the record is too slow.
func TestAfterFailure(t *testing.T) {
	w := newWorld(t)
	const problem = "unknown flag: --stat"
	w.said(t, "codex:before", llms.User("what changed?"),
		llms.Calls("", llms.ToolCall{ID: "1", Name: "exec_command", Arguments: `{"cmd":"gh pr diff 88 --stat"}`}),
		llms.Result("1", "exec_command", "Process exited with code 1\nOutput:\n"+problem, false),
		llms.Calls("", llms.ToolCall{ID: "2", Name: "exec_command", Arguments: `{"cmd":"gh pr diff 88 --name-only"}`}),
		llms.Result("2", "exec_command", "Process exited with code 0\nOutput:\nx.go", false))
	event := func(host, name, rest string) hook.Event {
		t.Helper()
		e, err := hook.Parse(host, strings.NewReader(fmt.Sprintf(`{"hook_event_name":%q,"session_id":"now","tool_name":"Bash","tool_input":{"command":"gh pr diff 104 --stat"},%s}`, name, rest)))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	for host, e := range map[string]hook.Event{
		"claude": event("claude", hook.ToolFailure, `"error":"Exit code 1\n`+problem+`"`),
		"codex":  event("codex", hook.PostToolUse, `"tool_response":"`+problem+`\nUsage: gh pr diff\n"`),
		"gemini": event("gemini", "AfterTool", `"tool_response":{"llmContent":"Output: `+problem+`\nExit Code: 1"}`),
		"droid":  event("droid", hook.PostToolUse, `"tool_response":{"stderr":"`+problem+`","exit_code":1}`),
	} {
		if !hook.NeedsRecord(e) {
			t.Errorf("%s: the failure is not seen: %+v", host, e.Failure)
		}
		fast := w.Record
		w.Record, w.PromptTime = slowRecord{w.db}, time.Millisecond
		if a := w.handle(t, e); a.Context != "" {
			t.Errorf("%s: too late: %s", host, a.Context)
		}
		w.Record, w.PromptTime = fast, 0
		a := w.handle(t, e)
		if !strings.Contains(a.Context, `"gh pr diff 88 --name-only" then worked`) || llms.Estimate.Count(a.Context) > 120 {
			t.Errorf("%s is told %q", host, a.Context)
		}
		if a := w.handle(t, e); a.Context != "" {
			t.Errorf("%s is told again: %s", host, a.Context)
		}
		w.SilentPrompts, e.Session = true, "other"
		if a := w.handle(t, e); a.Context != "" {
			t.Errorf("%s, switched off: %s", host, a.Context)
		}
		w.SilentPrompts = false
	}
	for _, e := range []hook.Event{
		event("claude", hook.ToolFailure, `"error":"Exit code 1\n--- FAIL: TestX"`),
		event("codex", hook.PostToolUse, `"tool_response":"diff --git a/x.go b/x.go"`),
	} {
		if hook.NeedsRecord(e) {
			t.Errorf("the record is opened for %+v", e.Failure)
		}
	}
}
