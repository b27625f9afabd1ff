package delegation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/record/store"

	"github.com/lossless-context/lcm/internal/recall/delegation"
	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// Whatever the bound, the whole result stays below it, every line is text of
// the message that it names, and every citation has a quote from its message.
func TestEvidenceIsVerbatimAndBounded(t *testing.T) {
	f := newFixture(t, nil)
	var texts []string
	for i := range 60 {
		texts = append(texts, fmt.Sprintf("Entry %d about the \"anchor\". %s The chain is %d fathoms, 鎖 🙂.", i, strings.Repeat("Salt and tar and rope. ", i), i*3))
	}
	c := f.talk("s", texts...)
	lines := regexp.MustCompile(`(?m)^msg_(\d+) user: (.*)$`)
	for _, most := range []int{50, 75, 120, 250, 333, 1000, 2000, 16_000} {
		a, err := f.Ask(t.Context(), recall.Question{
			Query: "anchor chain", Prompt: "How many fathoms is the chain?", Where: recall.Where{Current: c}, MaxTokens: most, Output: recall.OutputEvidence,
		})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if n, whole := llms.Estimate.Count(a.Answer), llms.Estimate.Count(string(raw)); n > most || whole > max(most, 250) {
			t.Errorf("maxTokens %d: %d tokens, %d with everything", most, n, whole)
		}
		found := lines.FindAllStringSubmatch(a.Answer, -1)
		cited := len(a.CitedIDs)
		if len(found) == 0 || cited != len(found) || len(a.Citations) == 0 || len(a.Citations) > min(16, cited) || a.Method != recall.MethodEvidence || a.Reason != "" {
			t.Errorf("maxTokens %d: %d lines, %d cited, %s %q", most, len(found), cited, a.Method, a.Reason)
		}
		shown := map[string]bool{}
		for _, line := range found {
			var n int
			if _, err := fmt.Sscan(line[1], &n); err != nil {
				t.Fatal(err)
			}
			shown["msg_"+line[1]] = true
			words := strings.TrimSuffix(strings.TrimPrefix(line[2], "[…] "), " […]")
			if !strings.Contains(texts[n-1], words) {
				t.Errorf("msg_%d never said %.80q", n, words)
			}
		}
		if printed := llms.Estimate.Count(a.Answer); a.TotalSourceTokens < printed {
			t.Errorf("maxTokens %d: %d tokens were read, and %d printed", most, a.TotalSourceTokens, printed)
		}
		for i, c := range a.Citations {
			var n int
			if _, err := fmt.Sscanf(c.ID.String(), "msg_%d", &n); err != nil {
				t.Fatal(err)
			}
			if c.ID != a.CitedIDs[i] || !shown[c.ID.String()] || c.Quote == "" || !strings.Contains(texts[n-1], c.Quote) {
				t.Errorf("maxTokens %d: %s is cited with %q", most, c.ID, c.Quote)
			}
		}
		if most == 16_000 != !a.Truncated {
			t.Errorf("maxTokens %d: truncated %v", most, a.Truncated)
		}
	}
}

// A cap that is given is kept, also where it is the default: only where none is given are
// passages shorter than a written answer may be.
func TestEvidenceHasTheRoomThatIsGiven(t *testing.T) {
	f := newFixture(t, nil)
	var texts []string
	for i := range 60 {
		texts = append(texts, fmt.Sprintf("Entry %d about the anchor. %s The chain is %d fathoms.", i, strings.Repeat("Salt and tar and rope. ", 30), i*3))
	}
	c := f.talk("s", texts...)
	size := map[int]int{}
	for _, most := range []int{0, 1000, 1999, 2000, 2001} {
		a := f.evidence(recall.Question{Query: "anchor chain", Prompt: "How many fathoms is the chain?", Where: recall.Where{Current: c}, MaxTokens: most})
		size[most] = llms.Estimate.Count(a.Answer)
	}
	if size[0] > 1000 || size[1999] < 1400 || size[2000] < size[1999] || size[2001] < size[2000] {
		t.Errorf("tokens by maxTokens: %v", size)
	}
}

// Every id that evidence prints is cited, what the user said later too, and all of it is
// counted.
func TestWhatEvidencePrintsIsCitedAndCounted(t *testing.T) {
	f := newFixture(t, nil)
	var messages []llms.Message
	for i := range 12 {
		messages = append(messages, llms.User(fmt.Sprintf("Make the lease timeout of gateway %d longer, to %d s.", i, 30+i)), llms.Assistant(fmt.Sprintf("The lease timeout of gateway %d is longer now.", i)))
	}
	c := f.session("s", "/p", messages...)
	for _, most := range []int{0, 120, 400, 1000, 4000} {
		a := f.evidence(recall.Question{Prompt: "What is the lease timeout of the gateway?", Where: recall.Where{Current: c}, MaxTokens: most})
		cited := asTexts(a.CitedIDs)
		for _, id := range regexp.MustCompile(`msg_\d+`).FindAllString(a.Answer, -1) {
			if !slices.Contains(cited, id) {
				t.Errorf("maxTokens %d: %s is printed and not among %v", most, id, cited)
			}
		}
		if n := llms.Estimate.Count(a.Answer); a.TotalSourceTokens < n {
			t.Errorf("maxTokens %d: %d tokens were read, and %d printed", most, a.TotalSourceTokens, n)
		}
	}
}

// One strong match makes a short answer: the match first, then the messages
// next to it.
func TestEvidenceEndsWithRelevance(t *testing.T) {
	f := newFixture(t, nil)
	var texts []string
	for i := range 200 {
		texts = append(texts, fmt.Sprintf("Day %d: we rowed to the harbour and changed the files of the log, as every day.", i))
	}
	texts[120] = "The anchor's number is MK-2207."
	c := f.talk("s", texts...)
	a, err := f.Ask(t.Context(), recall.Question{Query: "MK-2207", Prompt: "What were the exact file changes?", Where: recall.Where{Current: c}})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(a.Answer, "\n")
	if len(lines) < 2 || len(lines) > 13 || !strings.HasPrefix(lines[0], "[20") || lines[1] != "msg_121 user: "+texts[120] {
		t.Errorf("the answer is\n%s", a.Answer)
	}
	if len(a.CitedIDs) != len(lines)-1 || a.CitedIDs[0].Message != 121 || len(a.Citations) != 1 || a.Truncated || a.ExpandedSummaryCount != 0 {
		t.Errorf("cited %v, truncated %v, %d summaries expanded", a.CitedIDs, a.Truncated, a.ExpandedSummaryCount)
	}
}

// Passages stand under the session and the day in which they were said, the
// session of the best match first, whatever its number; the title of a session
// cannot begin a line.
func TestEvidenceIsGroupedBySession(t *testing.T) {
	f := newFixture(t, nil)
	f.talk("old", "the crane was painted", "some day we should look at the crane and at what else there is, a brake for one")
	f.talk("new", "lunch?", "crane 7 fell on crane 8: the brake was worn")
	a, err := f.Ask(t.Context(), recall.Question{Query: "crane brake", Prompt: "Why was the brake of the crane worn?", MaxTokens: 800, Where: recall.Where{AllConversations: true}})
	if err != nil {
		t.Fatal(err)
	}
	heads := regexp.MustCompile(`(?m)^\[\d{4}-\d\d-\d\d, conversation (\d+).*\]$`).FindAllStringSubmatch(a.Answer, -1)
	if len(heads) != 2 || heads[0][1] != "2" || heads[1][1] != "1" || a.SourceConversationID != 2 {
		t.Errorf("%d groups, from %d:\n%s", len(heads), a.SourceConversationID, a.Answer)
	}
	if first := strings.Split(a.Answer, "\n")[1]; !strings.HasPrefix(first, "msg_4 user: crane 7 fell") {
		t.Errorf("the answer begins with %q", first)
	}
}

// With summaries named, nothing outside them is quoted.
func TestEvidenceStaysBeneathTheNamedSummaries(t *testing.T) {
	f := newFixture(t, nil)
	c := f.talk("s", "the anchor is down", "the anchor is up", "the anchor is lost", "nobody knows")
	id := f.fold(c, 2, "Something happened.")
	for _, prompt := range []string{"where is the anchor?", "zither?"} {
		a, err := f.Ask(t.Context(), recall.Question{SummaryIDs: []store.SummaryID{id}, Prompt: prompt, Where: recall.Where{Current: c}})
		if err != nil {
			t.Fatal(err)
		}
		cited := asTexts(a.CitedIDs)
		slices.Sort(cited)
		if !slices.Equal(cited, []string{"msg_1", "msg_2"}) || strings.Contains(a.Answer, "lost") || a.ExpandedSummaryCount != 1 {
			t.Errorf("%q: %v\n%s", prompt, a.CitedIDs, a.Answer)
		}
	}
}

// However small the cap and however long the messages, there is a passage.
func TestEvidenceIsNeverEmpty(t *testing.T) {
	f := newFixture(t, nil)
	long := strings.Repeat("Salt and tar and rope and canvas. ", 60)
	c := f.talk("s", long+"The anchor is at 12 fathoms. "+long, long+"The anchor is up. "+long)
	for most := recall.MinMaxTokens; most < 140; most += 5 {
		a, err := f.Ask(t.Context(), recall.Question{Query: "anchor", Prompt: "How deep is the anchor?", Where: recall.Where{Current: c}, MaxTokens: most})
		if err != nil {
			t.Fatal(err)
		}
		if n := llms.Estimate.Count(a.Answer); n > most || len(a.CitedIDs) == 0 || !strings.Contains(a.Answer, "anchor") {
			t.Errorf("maxTokens %d: %d tokens, %v cited: %q", most, n, a.CitedIDs, a.Answer)
		}
	}
}

// Where only a summary matches, evidence is what lies beneath it, and why there
// is no more than that is said.
func TestEvidenceOfWhatOnlyASummarySays(t *testing.T) {
	runner := scripted{do: func(context.Context, *subAgent, string) (string, error) { return "", errors.New("no credit") }}
	f := newFixture(t, func(c *delegation.Config) { c.Runner = &runner })
	c := f.talk("s", "it is down", "it is up", "nobody knows")
	f.fold(c, 2, "The anchor was moved.")
	a, err := f.Ask(t.Context(), recall.Question{Query: "anchor", Prompt: "Which anchor?", Where: recall.Where{Current: c}})
	if err != nil {
		t.Fatal(err)
	}
	if a.Method != recall.MethodEvidence || !strings.HasPrefix(a.Reason, "model_failed: no credit") || !strings.Contains(a.Answer, "it is down") || strings.Contains(a.Answer, "nobody") {
		t.Errorf("%s, %q: %q", a.Method, a.Reason, a.Answer)
	}
}

// Evidence beneath a summary is found also where the rest of a long
// conversation has more of the question's words.
func TestEvidenceBeneathASummaryOfALongConversation(t *testing.T) {
	f := newFixture(t, nil)
	var texts []string
	for range 12 {
		texts = append(texts, strings.Repeat("Salt and tar and rope. ", 80))
	}
	texts = append(texts, strings.Repeat("Canvas. ", 40)+"The anchor weighs 800 kg.")
	folded := len(texts)
	for i := range 300 {
		texts = append(texts, fmt.Sprintf("anchor weighs, anchor weighs %d", i))
	}
	c := f.talk("s", texts...)
	id := f.fold(c, folded, "Something happened.")
	a, err := f.Ask(t.Context(), recall.Question{SummaryIDs: []store.SummaryID{id}, Prompt: "What does the anchor weigh?", Where: recall.Where{Current: c}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(a.Answer, "800 kg") || slices.Contains(asTexts(a.CitedIDs), fmt.Sprint("msg_", folded+1)) {
		t.Errorf("%v\n%s", a.CitedIDs, a.Answer)
	}
}

// What was said with a call is shown, however much of the question the call
// itself repeats.
func TestEvidenceShowsWhatWasSaidWithACall(t *testing.T) {
	f := newFixture(t, nil)
	c := f.talk("s", "Make the lease table.")
	said := "Leases are renewed every 5 s."
	call := llms.Message{Role: llms.RoleAssistant, Parts: []llms.Part{
		{Kind: llms.PartText, Text: said},
		{Kind: llms.PartToolCall, Call: &llms.ToolCall{ID: "c", Name: "write", Arguments: `{"content": "` + strings.Repeat("a line of code; ", 40) + "leases renewed, leases renewed, leases renewed often; " + strings.Repeat("a line of code; ", 40) + `"}`}},
	}}
	if _, err := f.in.Append(t.Context(), c, ingest.Messages(call)...); err != nil {
		t.Fatal(err)
	}
	a, err := f.Ask(t.Context(), recall.Question{Query: "leases", Prompt: "How often are leases renewed?", Where: recall.Where{Current: c}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(a.Answer, said) || !strings.Contains(a.Answer, "leases renewed, leases renewed, leases renewed often") {
		t.Errorf("%s", a.Answer)
	}
}

// A decision stands between two messages that have the words of the question,
// in words of its own.
func TestEvidenceClosesShortGaps(t *testing.T) {
	f := newFixture(t, nil)
	texts := []string{
		"How often should the buoys set their clock by satellite?", "Options for the clock of the buoys: every six hours, or once a day.",
		"what would be left?", "less than a tenth", "then the second one", "fine", "The clock of the buoys is set like this now.",
	}
	for i := range 40 {
		texts = append(texts, fmt.Sprintf("Other work, step %d.", i))
	}
	c := f.talk("s", texts...)
	a, err := f.Ask(t.Context(), recall.Question{Query: "clock buoys", Prompt: "How often do the buoys set their clock?", Where: recall.Where{Current: c}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(a.Answer, "then the second one") || strings.Contains(a.Answer, "step 20") {
		t.Errorf("the answer is\n%s", a.Answer)
	}
}
