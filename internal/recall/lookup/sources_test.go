package lookup_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/record/ingest"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// A question that was asked before, with a wrong answer, comes after the text that
// answers it, in every reading of the pattern.
func TestAskedBeforeComesAfterItsSource(t *testing.T) {
	const question = "which port does the staging proxy use?"
	for name, again := range map[string][]llms.Message{
		"without a tool": {llms.User(question), llms.Assistant("The staging proxy uses port 9999.")},
		"with lcm": {llms.User(question), llms.Calls("", llms.ToolCall{ID: "1", Name: "mcp__lcm__lcm_grep", Arguments: `{"pattern":"` + question + `"}`}),
			llms.Result("1", "", "msg_7: nothing about the staging proxy and its port", false), llms.Assistant("The staging proxy uses port 9999.")},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.say(f.open("first"), llms.User("put the staging proxy on 8443"), llms.Assistant("Done: the proxy of staging listens on port 8443 now."))
			f.say(f.open("second"), again...)
			f.say(f.open("third"), llms.User("rename the billing table"), llms.Assistant("It is called invoices now."))
			for _, r := range []recall.GrepRequest{
				{Pattern: question, Mode: store.FullText}, {Pattern: question, OrWords: true}, {Pattern: "proxy", OrWords: true}, {Pattern: "staging proxy", OrWords: true},
			} {
				if r.Pattern != question && name != "with lcm" {
					continue // in another question's answer the words are as good as elsewhere
				}
				r.AllConversations = true
				first := strings.Fields(ids(f.grep(r)))[0]
				if first != "msg_1" && first != "msg_2" {
					t.Errorf("%s, %s: %s came first", r.Pattern, r.Mode, first)
				}
			}
		})
	}
}

// An answer that was given from the record says so, and from what.
func TestEarlierAnswerIsLabelled(t *testing.T) {
	f := newFixture(t)
	f.say(f.open("first"), llms.User("put the staging proxy on 8443"), llms.Assistant("Done."))
	f.say(f.open("second"), llms.User("which port does the staging proxy use?"), llms.Calls("", llms.ToolCall{ID: "1", Name: "lcm_grep", Arguments: `{"pattern":"staging"}`}),
		llms.Result("1", "", "msg_1 user: put the staging proxy on 8443", false), llms.Assistant("The staging proxy uses port 8443."))
	a := f.grep(recall.GrepRequest{Pattern: "staging proxy port", Mode: store.FullText, Compact: true, Where: recall.Where{AllConversations: true}})
	labels := map[string]string{}
	for _, m := range a.Matches {
		labels[m.ID.String()] = m.Earlier
	}
	if labels["msg_1"] != "" || labels["msg_6"] != "an earlier answer, from msg_1" {
		t.Errorf("labels %q", labels)
	}
	if !strings.Contains(a.Text(), "msg_6 assistant") || !strings.Contains(a.Text(), "· an earlier answer, from msg_1") {
		t.Errorf("text:\n%s", a.Text())
	}
}

// A host stores the summary of a compaction as a prompt.
func TestSummaryOfTheHostIsLabelled(t *testing.T) {
	f := newFixture(t)
	m := ingest.Messages(llms.User("This session is being continued: the staging proxy listens on 8443."))
	m[0].Flags = store.FlagHostSummary
	if _, err := f.in.Append(t.Context(), f.open("first"), m...); err != nil {
		t.Fatal(err)
	}
	a := f.grep(recall.GrepRequest{Pattern: "staging proxy port", Mode: store.FullText, Where: recall.Where{AllConversations: true}})
	if len(a.Matches) != 1 || !strings.Contains(a.Text(), "· a summary by the agent, not the user's words") {
		t.Errorf("text:\n%s", a.Text())
	}
}

// An asking that nothing older answers keeps its place.
func TestFirstAskingIsASource(t *testing.T) {
	f := newFixture(t)
	f.say(f.open("first"), llms.User("rename the billing table"), llms.Assistant("It is called invoices now."))
	f.say(f.open("second"), llms.User("which port does the staging proxy use?"), llms.Assistant("8443"))
	a := f.grep(recall.GrepRequest{Pattern: "staging proxy port", Mode: store.FullText, Where: recall.Where{AllConversations: true}})
	if ids(a) != "msg_3" {
		t.Errorf("found %s", ids(a))
	}
}

// A pattern of plain words without a mode has its best matches first and every match once.
func TestPlainPatternIsRankedAndComplete(t *testing.T) {
	f := newFixture(t)
	c := f.open("long")
	decided := f.say(c, llms.User("the channel for alerts"), llms.Assistant("We take the channel ops-alerts: channel names begin with the team."))
	var want []string
	for _, id := range f.say(c, messages(300, func(i int) string {
		return "some line of output with a subchannel, and with a channel among many other words that say little of it " + strings.Repeat("x", i%7)
	})...) {
		want = append(want, id.String())
	}
	for _, id := range decided {
		want = append(want, id.String())
	}
	r := recall.GrepRequest{Pattern: "channel", OrWords: true, Limit: 60, Where: recall.Where{Current: c}}
	got, last := f.pages(r, func() { f.say(c, llms.User("one more channel")) })
	if first := got[:2]; !slices.Contains(first, decided[1].String()) {
		t.Errorf("%v came first, want %v", first, decided[1])
	}
	seen := map[string]int{}
	for _, id := range got {
		seen[id]++
	}
	for _, id := range want {
		if seen[id] != 1 {
			t.Errorf("%s came %d times", id, seen[id])
		}
	}
	if last.Total != len(want) {
		t.Errorf("%d of %d matches were counted", last.Total, len(want))
	}
}

// Of many messages with a word, the one comes first that says something beside it.
func TestOfManyMatchesTheOneWithFactsComesFirst(t *testing.T) {
	f := newFixture(t)
	c := f.open("long")
	f.say(c, messages(60, func(i int) string {
		return []string{"Let me look at the queue.", "The queue is fine, I ran the tests."}[i%2]
	})...)
	fact := f.say(c, llms.Assistant("Frames wait in the queue of a gateway for fourteen days, which takes 35 MB of flash."))[0]
	f.say(c, messages(60, func(i int) string {
		return []string{"I start with the queue.", "The queue and the tests: one moment."}[i%2]
	})...)
	if a := f.grep(recall.GrepRequest{Pattern: "queue", OrWords: true, Limit: 3, Where: recall.Where{Current: c}}); a.Matches[0].ID.Message != fact {
		t.Errorf("found %s, want %s first", ids(a), fact)
	}
}
