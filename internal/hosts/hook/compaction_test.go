package hook_test

import (
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/hosts/hook"
	"github.com/lossless-context/lcm/llms"
)

// TestAfterACompaction: a compacted session is told of itself, also if all that it did was to ask
// lcm, and the line for the user says of which session it is told.
func TestAfterACompaction(t *testing.T) {
	asked := []llms.Message{llms.User("which port did we give the proxy?"), llms.Calls("", llms.ToolCall{ID: "1", Name: "mcp__lcm__lcm_grep", Arguments: "{}"}),
		llms.Result("1", "", "msg_9: port 8443", false), llms.Assistant("Port 8443.")}
	for name, tt := range map[string]struct {
		said           []llms.Message
		block, message string
	}{
		"it only asked lcm": {asked, "which port did we give the proxy?", "lcm told the session what it was doing before the compaction"},
		"it did work":       {[]llms.Message{llms.User("write the release notes"), llms.Assistant("here they are")}, "write the release notes", "lcm told the session what it was doing before the compaction"},
		"it is not stored":  {nil, "mend the flaky test", "lcm told this session of earlier work in this project"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.said(t, "claude:other", llms.User("mend the flaky test"), llms.Calls("", llms.ToolCall{ID: "1", Name: "Edit", Arguments: `{"file_path":"a.go"}`}), llms.Result("1", "", "ok", false), llms.Assistant("mended"))
			if tt.said != nil {
				w.said(t, "claude:now", tt.said...)
			}
			w.handle(t, hook.Event{Name: hook.PreCompact, Session: "now"})
			a := w.handle(t, hook.Event{Name: hook.SessionStart, Session: "now", Source: "compact"})
			_, lead, _ := strings.Cut(a.Context, "# Last worked on")
			lead, _, _ = strings.Cut(lead, "# Other sessions")
			if !strings.Contains(lead, tt.block) || a.Message != tt.message {
				t.Errorf("%q, and the user is told %q", a.Context, a.Message)
			}
		})
	}
}

// TestResumedWithoutItsStart: a session that does not keep the block gets it again when it is
// resumed, and after a compaction the one about itself.
func TestResumedWithoutItsStart(t *testing.T) {
	w := newWorld(t)
	w.said(t, "qwen:before", llms.User("move the parser to the new grammar"), llms.Assistant("It is moved, and the tests pass."))
	start := func(source string) string {
		return w.handle(t, hook.Event{Host: "qwen", Name: hook.SessionStart, Session: "now", Transcript: "/t", Source: source}).Context
	}
	first := start("startup")
	if again := start("resume"); first == "" || again != first {
		t.Errorf("at its start %q, resumed %q", first, again)
	}
	w.said(t, "qwen:now", llms.User("write the release notes"), llms.Assistant("here they are"))
	w.handle(t, hook.Event{Host: "qwen", Name: hook.PreCompact, Session: "now", Transcript: "/t"})
	for _, source := range []string{"compact", "resume"} {
		if text := start(source); !strings.Contains(text, "write the release notes") {
			t.Errorf("%s after a compaction: %s", source, text)
		}
	}
	// After a tool result the program tells of a prompt without text.
	if a := w.handle(t, hook.Event{Host: "qwen", Name: hook.UserPromptSubmit, Session: "now"}); a.Context != "" || hook.NeedsRecord(hook.Event{Host: "qwen", Name: hook.UserPromptSubmit}) {
		t.Errorf("an empty prompt gets %q", a.Context)
	}
}
