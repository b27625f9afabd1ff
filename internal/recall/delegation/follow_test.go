package delegation_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// session makes a conversation of a project, one message a minute.
func (f *fixture) session(key, project string, messages ...llms.Message) store.ConversationID {
	f.t.Helper()
	c, err := f.db.Open(f.t.Context(), store.NewConversation{Key: key, Project: store.Project{Root: project}})
	if err != nil {
		f.t.Fatal(err)
	}
	for i := range messages {
		messages[i].Time = time.Date(2026, 2, 1, 8, i, 0, 0, time.UTC)
	}
	if _, err := f.in.Append(f.t.Context(), c.ID, ingest.Messages(messages...)...); err != nil {
		f.t.Fatal(err)
	}
	return c.ID
}

func (f *fixture) evidence(r recall.Question) recall.Answer {
	f.t.Helper()
	a, err := f.Ask(f.t.Context(), r)
	if err != nil {
		f.t.Fatal(err)
	}
	return a
}

// command is a call of a shell with its result.
func command(id, line, output string) []llms.Message {
	return []llms.Message{
		llms.Calls("", llms.ToolCall{ID: id, Name: "Bash", Arguments: fmt.Sprintf("{\"command\":%q}", line)}),
		llms.Result(id, "Bash", output, false),
	}
}

func chores(n int) (all []llms.Message) {
	for i := range n {
		all = append(all, llms.User(fmt.Sprintf("Other work, step %d.", i)), llms.Assistant(fmt.Sprintf("Step %d is done.", i)))
	}
	return all
}

// The decision after a request has none of its words. It is shown, over the
// tool calls in between.
func TestEvidenceFollowsARequest(t *testing.T) {
	f := newFixture(t, nil)
	messages := []llms.Message{llms.User("What shall we do about throttling of carriers?"), llms.Assistant("For throttling: a leaky bucket or a token bucket.")}
	for i := range 6 {
		messages = append(messages, command(fmt.Sprint("c", i), fmt.Sprintf("wc -l file%d", i), fmt.Sprint(i*7))...)
	}
	messages = append(messages, llms.User("token bucket then"), llms.Assistant("40 a second it is"))
	messages = append(messages, chores(6)...)
	short := f.session("short", "/p", messages...)
	a := f.evidence(recall.Question{Query: "throttling", Prompt: "What did we decide about throttling?", Where: recall.Where{Current: short}})
	for _, want := range []string{"token bucket then", "40 a second it is"} {
		if !strings.Contains(a.Answer, want) {
			t.Errorf("%q is missing:\n%s", want, a.Answer)
		}
	}
	if strings.Contains(a.Answer, "Step 5 is done") || a.Truncated {
		t.Errorf("truncated %v:\n%s", a.Truncated, a.Answer)
	}
}

// What tools did after a request is shown where there is room, and so is what a short
// agreement refers to.
func TestEvidenceShowsWhatToolsDid(t *testing.T) {
	f := newFixture(t, nil)
	messages := append([]llms.Message{llms.Assistant("I would write a second column."), llms.User("what else"), llms.Assistant("Nothing."), llms.User("agreed, and mind the throttling of carriers")}, command("a", "ls", "x")...)
	messages = append(messages, command("c", "set-limit 40", "limit 25 -> 40, written")...)
	c := f.session("s", "/p", append(messages, chores(6)...)...)
	a := f.evidence(recall.Question{Query: "throttling", Prompt: "What about throttling?", Where: recall.Where{Current: c}})
	for _, want := range []string{"limit 25 -> 40, written", "Nothing."} {
		if !strings.Contains(a.Answer, want) {
			t.Errorf("%q is missing:\n%s", want, a.Answer)
		}
	}
}

// A query with no other words than the prompt does not put every message that has them
// before those with more of the question.
func TestEvidenceOfAQueryThatThePromptHas(t *testing.T) {
	f := newFixture(t, nil)
	var messages []llms.Message
	for i := range 80 {
		messages = append(messages, llms.User(fmt.Sprintf("look at the queue, pass %d", i)), llms.Assistant("The queue is fine."))
	}
	messages = append(messages, llms.Assistant("A gateway keeps fourteen days of data."))
	c := f.session("s", "/p", append(messages, chores(6)...)...)
	a := f.evidence(recall.Question{Query: "queue", Prompt: "How many days of data does the queue of a gateway keep?", MaxTokens: 400, Where: recall.Where{Current: c}})
	if !strings.Contains(a.Answer, "fourteen days") {
		t.Errorf("the answer is missing:\n%s", a.Answer)
	}
}

// Messages with one common word of the question are not said to be about it.
func TestEvidenceCountsOnlyWhatIsAboutTheQuestion(t *testing.T) {
	f := newFixture(t, nil)
	messages := []llms.Message{llms.User("The old gasket of the pump in the cellar leaks."), llms.Assistant("The pump has a new gasket of copper in the cellar.")}
	for i := range 60 {
		messages = append(messages, llms.User(fmt.Sprintf("the old pump again, %d", i)), llms.Assistant(fmt.Sprintf("old pump number %d runs", i)))
	}
	c := f.session("s", "/p", messages...)
	a := f.evidence(recall.Question{Prompt: "Which gasket does the old pump have?", MaxTokens: 300, Where: recall.Where{Current: c}})
	if strings.Contains(strings.Join(a.Notes, " "), "more message") || !strings.Contains(a.Answer, "copper") {
		t.Errorf("%q\n%s", a.Notes, a.Answer)
	}
}

// A command that was run three times is shown once.
func TestEvidenceShowsACommandOnce(t *testing.T) {
	f := newFixture(t, nil)
	var messages []llms.Message
	for i := range 3 {
		messages = append(messages, command(fmt.Sprint("c", i), "kiln --glaze cobalt --heat", "kiln glaze cobalt fired")...)
	}
	messages = append(messages, llms.Assistant("Because of its lead the supplier took the other one away, so the glaze for the kiln is what it is."))
	c := f.session("s", "/p", messages...)
	a := f.evidence(recall.Question{Query: "kiln cobalt glaze", Prompt: "Why do we fire the kiln with cobalt glaze?", Where: recall.Where{Current: c}})
	if n := strings.Count(a.Answer, "--heat"); n != 1 {
		t.Errorf("the command is shown %d times:\n%s", n, a.Answer)
	}
}

// Of statements that match equally the newest comes first.
func TestEvidenceShowsTheNewestStatement(t *testing.T) {
	f := newFixture(t, nil)
	c := f.session("equal", "/p", llms.User("The lease timeout is 30 s."), llms.Assistant("Noted."), llms.User("The lease timeout is 45 s."), llms.Assistant("Noted, too."))
	a := f.evidence(recall.Question{Query: "lease timeout", Prompt: "What is the lease timeout?", Where: recall.Where{Current: c}})
	if old, now := strings.Index(a.Answer, "30 s"), strings.Index(a.Answer, "45 s"); now < 0 || old < now {
		t.Errorf("the older value comes first:\n%s", a.Answer)
	}
}

// A part of a long output is a cut, also where there is room for more; it begins and ends
// with whole words.
func TestEvidenceSaysThatItWasCut(t *testing.T) {
	f := newFixture(t, nil)
	c := f.session("s", "/p", append([]llms.Message{llms.User("Why does the sluice leak?")}, command("c", "inspect", strings.Repeat("plank and nail. ", 200)+"sluice: seal worn. "+strings.Repeat("plank and nail. ", 200))...)...)
	if a := f.evidence(recall.Question{Query: "sluice", Prompt: "Why does the sluice leak?", Where: recall.Where{Current: c}}); !a.Truncated || a.TruncatedBy != "maxTokens" || !strings.Contains(a.Answer, "seal worn") || !regexp.MustCompile(`\[…\] (plank|and|nail\.) .* (plank|and|nail\.) \[…\]$`).MatchString(a.Answer) {
		t.Errorf("truncated %v:\n%s", a.Truncated, a.Answer)
	}
}

// An answer from another project says so, and names the project; one that finds
// nothing says that all projects were searched.
func TestEvidenceSaysThatItWidened(t *testing.T) {
	f := newFixture(t, nil)
	f.session("here", "/home", llms.User("Nothing but bread."))
	f.session("there", "/elsewhere", llms.User("The zeppelin is moored at Alster."))
	where := recall.Where{Projects: []store.Project{{Root: "/home"}}, Widen: true}
	a := f.evidence(recall.Question{Query: "zeppelin", Prompt: "Where is the zeppelin?", Where: where})
	if len(a.Notes) == 0 || !strings.Contains(a.Notes[0], "widened to all projects: 0 matches in project home (1 session), 1 match elsewhere") || !strings.Contains(a.Answer, ", project /elsewhere") {
		t.Errorf("%q\n%s", a.Notes, a.Answer)
	}
	a = f.evidence(recall.Question{Query: "xylophone", Prompt: "Where is the xylophone?", Where: where})
	if a.Method != recall.MethodNone || !strings.Contains(a.Answer, "nothing in any other project") {
		t.Errorf("%s", a.Answer)
	}
	a = f.evidence(recall.Question{Query: "bread", Prompt: "What is there?", Where: where})
	if strings.Contains(a.Answer, "project") {
		t.Errorf("%s", a.Answer)
	}
}
