package assemble_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/internal/view/assemble"
	"github.com/lossless-context/lcm/llms"
)

func build(t testing.TB, h *history) assemble.Output {
	t.Helper()
	out, err := assemble.Build(h.in)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkValid(out.Messages); err != nil {
		t.Fatalf("invalid: %v\n%s", err, transcript(out.Messages))
	}
	return out
}

func transcript(ms []llms.Message) string {
	var b strings.Builder
	for _, m := range ms {
		b.WriteString(string(m.Role) + ": " + m.Render() + "\n")
	}
	return b.String()
}

func round(id, output string) []llms.Message {
	return []llms.Message{
		llms.Calls("", llms.ToolCall{ID: id, Name: "sh", Arguments: `{"cmd":"ls"}`}),
		llms.Result(id, "sh", output, false),
	}
}

func words(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }

func TestSoundHistoryIsPassedOnUnchanged(t *testing.T) {
	said := []llms.Message{llms.User("hello"), llms.Assistant("hi")}
	said = append(said, round("c1", "a.go\nb.go")...)
	said = append(said, llms.Assistant("done"))
	for i := range said {
		said[i].ID = string(rune('a' + i))
		said[i].Raw = llms.Raw{Format: llms.FormatLCM, Bytes: []byte{byte(i)}}
	}
	out := build(t, newHistory(1000).add(said...))
	if diff := cmp.Diff(said, out.Messages); diff != "" {
		t.Error(diff)
	}
	if len(out.Repairs) > 0 || len(out.Dropped) > 0 || len(out.Items) != len(said) {
		t.Errorf("repairs %v, dropped %v, %d items", out.Repairs, out.Dropped, len(out.Items))
	}
}

func TestRepairs(t *testing.T) {
	call := func(ids ...string) llms.Message {
		m := llms.Message{Role: llms.RoleAssistant}
		for _, id := range ids {
			m.Parts = append(m.Parts, llms.Part{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: id, Name: "sh", Arguments: "{}"}})
		}
		return m
	}
	res := func(id, out string) llms.Message { return llms.Result(id, "sh", out, false) }
	mixed := func(text string, results ...llms.Message) llms.Message {
		m := llms.Message{Role: llms.RoleUser}
		for _, r := range results {
			m.Parts = append(m.Parts, r.Parts...)
		}
		m.Parts = append(m.Parts, llms.Part{Kind: llms.PartText, Text: text})
		return m
	}
	u := llms.User
	tests := []struct {
		name string
		in   []llms.Message
		want string
	}{
		{"orphan result", []llms.Message{u("q"), res("c1", "x"), u("r")}, "user: q\nuser: r\n"},
		{"missing result", []llms.Message{u("q"), call("c1"), u("r")}, "user: q\nassistant: → sh({})\ntool: ← error: [no result was recorded for this call: it may have taken effect]\nuser: r\n"},
		{"result after another message", []llms.Message{call("c1"), u("wait"), res("c1", "x")}, "assistant: → sh({})\ntool: ← sh: x\nuser: wait\n"},
		{"one reply in two records", []llms.Message{call("c1"), call("c2"), res("c1", "x"), res("c2", "y")},
			"assistant: → sh({})\ntool: ← sh: x\nassistant: → sh({})\ntool: ← sh: y\n"},
		{"one record answers two", []llms.Message{call("c1"), call("c2"), mixed("and?", res("c1", "x"), res("c2", "y"))},
			"assistant: → sh({})\nuser: ← sh: x\nassistant: → sh({})\nuser: ← sh: y\nuser: and?\n"},
		{"duplicate result", []llms.Message{call("c1"), res("c1", "x"), res("c1", "y"), u("q")}, "assistant: → sh({})\ntool: ← sh: x\nuser: q\n"},
		{"real result after a stand-in", []llms.Message{call("c1", "c2"), res("c1", "[no result was recorded for this call: it may have taken effect]"), res("c1", "x"), res("c2", "y"), u("q")},
			"assistant: → sh({})\n→ sh({})\ntool: ← sh: x\ntool: ← sh: y\nuser: q\n"},
		{"results before text", []llms.Message{call("c1"), {Role: llms.RoleUser, Parts: append(u("so").Parts, res("c1", "x").Parts...)}},
			"assistant: → sh({})\nuser: ← sh: x\nso\n"},
		{"missing beside answered", []llms.Message{call("c1", "c2"), mixed("go on", res("c2", "y"))},
			"assistant: → sh({})\n→ sh({})\ntool: ← error: [no result was recorded for this call: it may have taken effect]\nuser: ← sh: y\ngo on\n"},
		{"empty messages", []llms.Message{u(""), {Role: llms.RoleAssistant}, u(" \n"), u("q")}, "user: q\n"},
		{"call without id", []llms.Message{u("q"), call(""), u("r")}, "user: q\nuser: r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for i := range tt.in {
				tt.in[i].Time = when
			}
			out := build(t, newHistory(1000).add(tt.in...))
			if diff := cmp.Diff(tt.want, transcript(out.Messages)); diff != "" {
				t.Error(diff)
			}
			for _, m := range out.Messages {
				if !m.Time.Equal(when) {
					t.Errorf("%q has the time %v", m.Render(), m.Time)
				}
			}
			if len(out.Repairs) == 0 {
				t.Error("nothing was said about the repair")
			}
		})
	}
}

func TestReusedCallIDsAreRenamed(t *testing.T) {
	h := newHistory(1000).add(round("c1", "first")...).add(round("c1", "second")...)
	out := build(t, h)
	if got := out.Messages[2].ToolCalls()[0].ID + " " + out.Messages[3].ToolResults()[0].CallID; got != "c1_2 c1_2" {
		t.Errorf("second round is sent as %s", got)
	}
	if h.in.Messages[3].Body.ToolCalls()[0].ID != "c1" {
		t.Error("the input was changed")
	}
}

func TestBudgetKeepsTheNewest(t *testing.T) {
	h := newHistory(700).summary("old decisions").add(llms.User(words(50)), llms.Assistant(words(600)))
	for range 3 {
		h.add(llms.User(words(50)), llms.Assistant(words(50)))
	}
	h.add(llms.User("the question"))
	out := build(t, h)
	if out.Tokens > 700 {
		t.Errorf("%d tokens are over the budget", out.Tokens)
	}
	if got := out.Messages[len(out.Messages)-1].PlainText(); got != "the question" {
		t.Errorf("the last message is %q", got)
	}
	if !strings.Contains(out.Messages[0].PlainText(), "not shown") {
		t.Errorf("the first message does not say that something is missing: %q", out.Messages[0].PlainText())
	}
	if !strings.Contains(out.Messages[1].PlainText(), "old decisions") {
		t.Errorf("the summary gave way to messages: %q", out.Messages[1].PlainText())
	}
	if len(out.Dropped)+len(out.Items) != len(h.in.View.Items) {
		t.Errorf("%d dropped and %d shown of %d", len(out.Dropped), len(out.Items), len(h.in.View.Items))
	}
}

func TestPinnedMessageSurvivesALongTurn(t *testing.T) {
	h := newHistory(900).add(llms.User("an older question"), llms.Assistant("answer"), llms.User("THE TASK"))
	for i := range 30 {
		h.add(round("c"+string(rune('A'+i)), words(60))...)
	}
	out := build(t, h)
	if got := out.Messages[1].PlainText(); got != "THE TASK" {
		t.Errorf("after the notice comes %q", got)
	}
}

func TestPinnedMessageFromTheSkippedPart(t *testing.T) {
	h := newHistory(600).add(llms.User("THE TASK"))
	for i := range 30 {
		h.add(round("c"+string(rune('A'+i)), words(60))...)
	}
	pin := h.in.View.Items[0]
	h.in.View.LastUserItem = &pin
	h.in.View.Items = h.in.View.Items[21:]
	h.in.View.Skipped, h.in.View.Gap = 21, 0
	out := build(t, h)
	if got := out.Messages[1].PlainText(); got != "THE TASK" {
		t.Errorf("after the notice comes %q", got)
	}
}

func TestBudgetError(t *testing.T) {
	h := newHistory(100).add(llms.User(words(60))).add(round("c1", words(300))...)
	_, err := assemble.Build(h.in)
	var tooSmall *assemble.BudgetError
	if !errors.As(err, &tooSmall) || tooSmall.Budget != 100 || tooSmall.Need < 300 {
		t.Fatalf("got %v", err)
	}
}

// A budget that is just enough is enough, also for an image.
func TestABudgetThatIsJustEnough(t *testing.T) {
	image := llms.Message{Role: llms.RoleUser, Parts: []llms.Part{{Kind: llms.PartBlob, Ref: &llms.Ref{ID: "file_a", Name: "a.png", MIME: "image/png", Bytes: 9, Tokens: 1600}}}}
	for name, h := range map[string]*history{
		"one question": newHistory(5000).add(llms.User(words(60))),
		"some turns":   newHistory(5000).add(llms.User(words(60)), llms.Assistant(words(50)), llms.User(words(40)), llms.Assistant("yes")),
		"an image":     newHistory(5000).add(llms.User("look"), image),
	} {
		h.in.Payloads = map[store.PayloadID][]byte{"file_a": []byte("A")}
		want := build(t, h)
		h.in.Budget = want.Tokens
		if diff := cmp.Diff(want, build(t, h)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		h.in.Budget--
		if out, err := assemble.Build(h.in); err == nil && cmp.Equal(want.Messages, out.Messages) {
			t.Errorf("%s: a token less is enough too", name)
		}
	}
}

// Calls that overlap without end would be one group that never fits.
func TestEndlessOverlapOfCallsIsSent(t *testing.T) {
	h := newHistory(1000).add(llms.User("go"))
	id := func(n int) string { return "c" + strconv.Itoa(n) }
	h.add(round(id(0), "")[0])
	for n := range 50 {
		h.add(round(id(n+1), "")[0], round(id(n), words(80))[1])
	}
	if out := build(t, h); out.Tokens > 1000 || len(out.Messages) < 5 {
		t.Errorf("%d tokens in %d messages", out.Tokens, len(out.Messages))
	}
}

func TestMissingRowIsAnError(t *testing.T) {
	h := newHistory(100).add(llms.User("q"))
	delete(h.in.Messages, 1)
	if _, err := assemble.Build(h.in); err == nil || !strings.Contains(err.Error(), "msg_1") {
		t.Fatalf("got %v", err)
	}
}

func TestFreshImagesAreShown(t *testing.T) {
	ref := func(id string) llms.Part {
		return llms.Part{Kind: llms.PartBlob, Ref: &llms.Ref{ID: id, Name: id + ".png", MIME: "image/png", Bytes: 9, Tokens: 1600}}
	}
	shot := llms.Message{Role: llms.RoleTool, Parts: []llms.Part{{Kind: llms.PartToolResult, Result: &llms.ToolResult{CallID: "c1", Output: []llms.Part{ref("file_b")}}}}}
	h := newHistory(2000).add(
		llms.Message{Role: llms.RoleUser, Parts: []llms.Part{{Kind: llms.PartText, Text: "look"}, ref("file_a")}},
		round("c1", "")[0], shot)
	if diff := cmp.Diff([]store.PayloadID{"file_a", "file_b"}, assemble.Wanted(h.in)); diff != "" {
		t.Fatal(diff)
	}
	h.in.Payloads = map[store.PayloadID][]byte{"file_a": []byte("A"), "file_b": []byte("B")}
	out := build(t, h)
	blob := out.Messages[2].Parts[0].Result.Output[0].Blob
	if blob == nil || string(blob.Data) != "B" || blob.MIME != "image/png" {
		t.Errorf("the newest image is %+v", blob)
	}
	if out.Messages[0].Parts[1].Ref == nil {
		t.Error("an image was shown that did not fit")
	}
	if out.Tokens > 2000 {
		t.Errorf("%d tokens", out.Tokens)
	}
}

// Images that no longer fit give way seldom: not each time the conversation grows.
func TestImagesGiveWayInSteps(t *testing.T) {
	const budget = 32_000
	h := newHistory(budget)
	h.in.Payloads = map[store.PayloadID][]byte{}
	var before []llms.Message
	changes, shown := 0, 0
	for i := range 120 {
		id := fmt.Sprintf("file_%d", i)
		h.in.Payloads[store.PayloadID(id)] = []byte("image")
		h.add(llms.Message{Role: llms.RoleUser, Parts: []llms.Part{
			{Kind: llms.PartText, Text: strings.Repeat("word ", 50)},
			{Kind: llms.PartBlob, Ref: &llms.Ref{ID: id, Name: "shot.png", MIME: "image/png", Bytes: 9, Tokens: 1600}},
		}})
		out := build(t, h)
		if !cmp.Equal(before, out.Messages[:len(before)]) {
			changes++
		}
		if last := out.Messages[len(out.Messages)-1]; last.Parts[1].Blob == nil {
			t.Fatalf("the newest of %d images is not shown", i+1)
		}
		shown = 0
		for _, m := range out.Messages {
			if m.Parts[1].Blob != nil {
				shown++
			}
		}
		before = out.Messages
	}
	if changes == 0 || changes > 120*(1600+100)/(budget/8) || shown < 3 {
		t.Errorf("the prefix changed %d times, %d images are left", changes, shown)
	}
}

func TestPrefixIsStableWhileTheTailGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHistory(t, 1<<20)
		before, err := assemble.Build(h.in)
		if err != nil {
			t.Fatal(err)
		}
		last := len(h.in.View.Items) - 1
		pending := len(h.in.View.Items[last].Calls) > 0
		h.add(llms.User("more"))
		after, err := assemble.Build(h.in)
		if err != nil {
			t.Fatal(err)
		}
		if pending {
			return // the next message belongs to the round
		}
		if diff := cmp.Diff(before.Messages, after.Messages[:len(before.Messages)], cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestBuildHoldsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHistory(t, rapid.IntRange(100, 4000).Draw(t, "budget"))
		pin := assemble.Pinned(h.in.View)
		out, err := assemble.Build(h.in)
		var tooSmall *assemble.BudgetError
		if errors.As(err, &tooSmall) {
			if tooSmall.Need <= h.in.Budget {
				t.Fatal(err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := checkValid(out.Messages); err != nil {
			t.Fatalf("invalid: %v\n%s", err, transcript(out.Messages))
		}
		counted, listed := 0, 0
		for _, m := range out.Messages {
			counted += llms.CountMessage(llms.Estimate, m)
		}
		for _, it := range out.Items {
			listed += it.Tokens
		}
		if counted != out.Tokens || counted > h.in.Budget || listed > counted {
			t.Fatalf("says %d tokens, has %d, items %d, budget %d", out.Tokens, counted, listed, h.in.Budget)
		}
		h.in.Counted = true
		if quick, err := assemble.Build(h.in); err != nil || !cmp.Equal(out, quick) {
			t.Fatalf("without counting again: %v\n%s", err, cmp.Diff(out, quick))
		}
		h.in.Counted = false
		if pin >= 0 {
			for _, n := range out.Dropped {
				if n == h.in.View.Items[pin].ID {
					t.Fatal("the newest user message was dropped")
				}
			}
		}
		again, err := assemble.Build(h.in)
		if err != nil || !cmp.Equal(out, again) {
			t.Fatal("the same input gave another output")
		}
	})
}
