package lookup_test

import (
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// Under the first match stands what the user said about it later, with the reply, the newest
// first: in its session, and in a later session that changed the same file. The later words
// need none of the question's.
func TestWhatTheUserSaidLater(t *testing.T) {
	f := newFixture(t)
	edit := func(id, text string) []llms.Message {
		return []llms.Message{
			llms.Calls("", llms.ToolCall{ID: id, Name: "Edit", Arguments: `{"file_path":"/src/cli/explain.go","new_string":"` + text + `"}`}), llms.Result(id, "", "ok", false),
		}
	}
	c := f.open("first")
	f.say(c, llms.User("limit the checkpoints that explain shows to 20"))
	f.say(c, edit("1", "const explainLimit = 20 // checkpoints")...)
	f.say(c, llms.Assistant("Explain shows at most 20 checkpoints now."), llms.User("something else"), llms.Assistant("Fine."))
	d := f.open("second")
	f.say(d, llms.User("maybe push it to 100"))
	f.say(d, edit("2", "const explainLimit = 100 // checkpoints of explain, shown at most")...)
	f.say(d, llms.Assistant("Done, it is 100."))
	a := f.grep(recall.GrepRequest{Pattern: "how many checkpoints does explain show at most", Mode: store.FullText, Where: recall.Where{AllConversations: true}})
	text := a.Text()
	at := strings.Index(text, "newest first")
	if at < 0 || !strings.Contains(text[at:], "user: maybe push it to 100 · msg_") || !strings.Contains(text[at:], "Done, it is 100.") {
		t.Errorf("%d turns:\n%s", len(a.Said), text)
	}
	for _, r := range []recall.GrepRequest{{Pattern: "checkpoints", Mode: store.FullText}, {Pattern: "explain shows at most", Mode: store.Regex}, {Pattern: "how many checkpoints does explain show", Mode: store.FullText, Role: llms.RoleUser}} {
		r.AllConversations = true
		if a := f.grep(r); len(a.Said) > 0 {
			t.Errorf("%+v: %v", r, a.Said)
		}
	}
	for _, r := range []recall.GrepRequest{{NoSaid: true}, {Tool: "Edit"}, {Everything: true}, {Kinds: recall.InSummaries}, {Sort: store.ByRecency}} {
		r.Pattern, r.Mode, r.AllConversations = "how many checkpoints does explain show at most", store.FullText, true
		if a := f.grep(r); len(a.Said) > 0 {
			t.Errorf("%+v: %v", r, a.Said)
		}
	}
}

// The prompt with most words of the question is shown with the reply to it, which needs none of them.
func TestThePromptThatAskedIt(t *testing.T) {
	f := newFixture(t)
	c := f.open("c")
	f.say(c, llms.User("which colour should the front door have?"), llms.Assistant("Green, I would say."), llms.User("thanks"), llms.Assistant("You are welcome."))
	a := f.grep(recall.GrepRequest{Pattern: "which colour should the front door have", Mode: store.FullText, Where: recall.Where{AllConversations: true}})
	if len(a.Said) != 1 || a.Said[0].Prompt.ID != 1 || a.Said[0].Reply == nil || a.Said[0].Reply.ID != 2 {
		t.Errorf("%+v", a.Said)
	}
}
