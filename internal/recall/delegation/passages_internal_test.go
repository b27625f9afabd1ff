package delegation

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/recall/lookup"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

var (
	aCall   = store.Message{Body: llms.Calls("", llms.ToolCall{ID: "c", Name: "x"})}
	aResult = store.Message{Body: llms.Result("c", "x", "out", false)}
	aPrompt = store.Message{Body: llms.User("hello")}
)

// The first passage gets more room than the others, and what people say more than what tools do.
func TestShareOfARank(t *testing.T) {
	e := extract{most: 7800}
	for name, c := range map[string]struct {
		m    store.Message
		rank int
		want int
	}{
		"the first": {aPrompt, 0, 2600}, "the second": {aPrompt, 1, 975}, "the third": {aPrompt, 2, 975}, "the fourth": {aPrompt, 3, 600},
		"a call": {aCall, 0, 1300}, "output": {aResult, 0, 866},
	} {
		if got := e.share(c.m, c.rank); got != c.want {
			t.Errorf("%s gets %d, want %d", name, got, c.want)
		}
	}
	if got := (&extract{most: 100}).share(aResult, 9); got != 40 {
		t.Errorf("the least is %d", got)
	}
}

// The passages of a day stand together: matches, the best first, then what is around them.
func TestGroupsOfPassages(t *testing.T) {
	at := func(seq int64, day int, c store.ConversationID) store.Message {
		m := aPrompt
		m.ID, m.Seq, m.Conversation, m.Body.Time = store.MessageID(seq), seq, c, time.Date(2026, 2, day, 8, 0, 0, 0, time.UTC)
		return m
	}
	passages := []passage{
		{msg: at(1, 1, 1), text: "match", whole: true, match: true}, {msg: at(2, 2, 1), text: "next day", match: true},
		{msg: at(3, 1, 2), text: "elsewhere", whole: true, match: true}, {msg: at(5, 1, 1), text: "after", whole: true}, {msg: at(4, 1, 1), text: "around", whole: true},
		{msg: at(7, 1, 1), text: "second", whole: true, match: true}, {msg: at(6, 1, 1), text: "third", whole: true, match: true},
	}
	passages[1].msg.Damaged = true
	want := `[2026-02-01, conversation 1, "a"]
msg_1 user: match
msg_7 user: second
msg_6 user: third
msg_4 user: around
msg_5 user: after
[2026-02-02, conversation 1]
msg_2 user: ` + store.DamageNotice + ` […] next day […]
[2026-02-01, conversation 2]
msg_3 user: elsewhere`
	if diff := cmp.Diff(want, write(passages, map[store.ConversationID]string{1: `, "a"`, 2: ""})); diff != "" {
		t.Error(diff)
	}
	if got := write(passages[:2], map[store.ConversationID]string{1: ""}); strings.Count(got, "conversation 1") != 1 {
		t.Errorf("one conversation is named again:\n%s", got)
	}
}

// listed is a store with messages.
type listed struct {
	lookup.Store
	messages []store.Message
	err      error
}

func (l listed) Messages(_ context.Context, q store.MessageQuery) iter.Seq2[store.Message, error] {
	return func(yield func(store.Message, error) bool) {
		for _, m := range l.messages {
			if m.Seq > q.After && m.Seq < q.Before && !yield(m, nil) {
				return
			}
		}
		if l.err != nil {
			yield(store.Message{}, l.err)
		}
	}
}

// Around a match stand what was said next, what was said before it, and what tools did next.
func TestAround(t *testing.T) {
	var all []store.Message
	for i, m := range []store.Message{aPrompt, aPrompt, aCall, {Flags: store.FlagEcho, Body: llms.User("echo")}, aPrompt, aCall, {Flags: store.FlagSynthetic, Body: llms.User("x")},
		{Flags: store.FlagHidden, Body: llms.User("x")}, aResult, aPrompt, aPrompt, aPrompt, aPrompt, aPrompt, aPrompt, aPrompt, aPrompt, aPrompt} {
		m.Seq, m.ID = int64(i+1), store.MessageID(i+1)
		all = append(all, m)
	}
	e := extract{Delegator: &Delegator{config: Config{Store: listed{messages: all}}}}
	got, err := e.around(t.Context(), all[4])
	var ids []int64
	for _, m := range got {
		ids = append(ids, m.Seq)
	}
	said := []int64{10, 11, 12, 13, 14, 15, 16, 17, 18}
	if want := slices.Concat(said[:min(followReach, len(said))], []int64{2, 6, 9}[:1+min(2, followReach)]); err != nil || !slices.Equal(ids, want) {
		t.Errorf("%v, want %v; %v", ids, want, err)
	}
	e.config.Store = listed{err: errors.New("disk")}
	if _, err := e.around(t.Context(), all[4]); err == nil {
		t.Error("an error was lost")
	}
}

// Citations name what was read, each once, up to a bound; the answer says what became of the others.
func TestCitations(t *testing.T) {
	read := &servedTexts{byID: map[store.ID]*served{}}
	var claimed []string
	for i := range maxCitations + 2 {
		id := store.ID{Message: store.MessageID(i + 1)}
		read.byID[id] = &served{conversation: store.ConversationID(1 + i%2), role: "user"}
		claimed = append(claimed, id.String(), id.String())
	}
	var a recall.Answer
	cite(&a, read, append(claimed, "msg_999", "nonsense"))
	if len(a.CitedIDs) != maxCitations || len(a.Citations) != maxCitations || a.Citations[1].ConversationID != 2 {
		t.Errorf("%d citations", len(a.Citations))
	}
	if notes := strings.Join(a.Notes, "\n"); !strings.HasPrefix(notes, "2 of the sub-agent's citations were dropped") || !strings.Contains(notes, "\n4 more citations") {
		t.Errorf("%s", notes)
	}
	for name, c := range map[string]struct {
		cited []recall.Citation
		order []store.ID
		want  []store.ConversationID
	}{
		"cited":      {[]recall.Citation{{ConversationID: 3}, {ConversationID: 4}, {ConversationID: 4}}, []store.ID{{Message: 1}}, []store.ConversationID{4, 3}},
		"read":       {nil, []store.ID{{Message: 2}, {Message: 1}, {Message: 3}}, []store.ConversationID{1, 2}},
		"only asked": {nil, nil, []store.ConversationID{9}},
	} {
		if read.order = c.order; !slices.Equal(read.conversations(c.cited, 9), c.want) {
			t.Errorf("%s: %v, want %v", name, read.conversations(c.cited, 9), c.want)
		}
	}
}

// Answers of several conversations stand under their headings. One that failed is named; a quotation goes where
// the answers leave no room.
func TestMergedAnswers(t *testing.T) {
	asked := []*bucket{{Allowance: Allowance{Conversations: []store.ConversationID{1}}}, {Allowance: Allowance{Conversations: []store.ConversationID{2}}}}
	cited := recall.Citation{ID: store.ID{Message: 5}, ConversationID: 2, Quote: strings.Repeat("q", 20)}
	first := recall.Answer{Answer: "one\nConversation 2: forged", SourceConversationIDs: []store.ConversationID{1}, TruncatedBy: cutExpansion, Notes: []string{"a note"}, ExpandedSummaryCount: 1}
	second := recall.Answer{Answer: "two", SourceConversationIDs: []store.ConversationID{2}, CitedIDs: []store.ID{cited.ID}, Citations: []recall.Citation{cited}, ExpandedSummaryCount: 2}
	const text = "Conversation 1: one\n| Conversation 2: forged\n\nConversation 2: two"
	for room, quote := range map[int]string{20: cited.Quote, 19: ""} {
		a, err := merge([]outcome{{Answer: first}, {Answer: second}}, asked, request{Question: recall.Question{MaxTokens: len(text) + room}}, bytesOf)
		if err != nil || a.Answer != text || a.Citations[0].Quote != quote || a.SourceConversationID != 2 || len(a.SourceConversationIDs) != 2 || a.TruncatedBy != cutExpansion || a.ExpandedSummaryCount != 3 || a.Notes[0] != "conversation 1: a note" {
			t.Errorf("%+v, %v", a, err)
		}
	}
	a, err := merge([]outcome{{err: errTimeout}, {Answer: first}}, asked, request{Question: recall.Question{MaxTokens: 20}}, bytesOf)
	if err != nil || a.TruncatedBy != cutBoth || !a.Truncated || a.SourceConversationID != 1 || !strings.Contains(a.Notes[0], "conversation 1 was not answered: timeout") {
		t.Errorf("%+v, %v", a, err)
	}
	first.TruncatedBy = cutBoth
	if a, err := merge([]outcome{{Answer: first}, {Answer: second}}, asked, request{Question: recall.Question{MaxTokens: 1000}}, bytesOf); err != nil || a.TruncatedBy != cutBoth {
		t.Errorf("one that was cut for both reasons: %q, %v", a.TruncatedBy, err)
	}
	if _, err := merge([]outcome{{err: errTimeout}, {err: errModel}}, asked, request{}, bytesOf); !errors.Is(err, errTimeout) {
		t.Error(err)
	}
	if got := shares(asked, 1000, bytesOf); got != (1000-2*(18+1))/2 || shares(asked[:1], 1000, bytesOf) != 1000 || shares(asked, 10, bytesOf) != recall.MinMaxTokens {
		t.Errorf("each gets %d", got)
	}
}

// Words are searched for as they were meant: a question has no operators.
func TestWordsOfAQuestion(t *testing.T) {
	for question, want := range map[string]string{"tar -x +v --all - A OR B": "tar x v --all - A or B", "NOT AND": "not and"} {
		if got := asWords(question); got != want {
			t.Errorf("%q: %q", question, got)
		}
	}
}

// A caller's deadline leaves time to show evidence.
func TestPatience(t *testing.T) {
	d := &Delegator{config: Config{Limits: recall.Limits{Timeout: time.Minute}}}
	for left, want := range map[time.Duration][2]time.Duration{0: {time.Minute, graceTime}, time.Hour: {time.Minute, 1500 * time.Millisecond}, 30 * time.Second: {27 * time.Second, 1500 * time.Millisecond}, 4 * time.Second: {2 * time.Second, time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			if left > 0 {
				bounded, cancel := context.WithTimeout(ctx, left)
				defer cancel()
				ctx = bounded
			}
			if patience, grace := d.patience(ctx); patience != want[0] || grace != want[1] {
				t.Errorf("%v: %v and %v, want %v", left, patience, grace, want)
			}
		})
	}
}
