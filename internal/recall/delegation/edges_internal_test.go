package delegation

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
	"github.com/lossless-context/lcm/recall"
)

// bytesOf counts a token for each byte.
func bytesOf(s string) int { return len(s) }

// A question at its bounds is asked, one beyond them is refused with the reason.
func TestQuestionsHaveBounds(t *testing.T) {
	ids := func(n int) []store.SummaryID { return slices.Repeat([]store.SummaryID{"sum_1"}, n) }
	for name, c := range map[string]struct {
		q       recall.Question
		problem string
	}{
		"a question":     {recall.Question{Prompt: "x"}, ""},
		"nothing":        {recall.Question{Prompt: " "}, "prompt is empty"},
		"as long":        {recall.Question{Prompt: strings.Repeat("x", maxPrompt)}, ""},
		"too long":       {recall.Question{Prompt: strings.Repeat("x", maxPrompt+1)}, "at most 32000"},
		"many summaries": {recall.Question{Prompt: "x", SummaryIDs: ids(maxSummaryIDs)}, ""},
		"too many":       {recall.Question{Prompt: "x", SummaryIDs: ids(maxSummaryIDs + 1)}, "summaryIds has 65"},
		"least tokens":   {recall.Question{Prompt: "x", MaxTokens: recall.MinMaxTokens}, ""},
		"too few":        {recall.Question{Prompt: "x", MaxTokens: recall.MinMaxTokens - 1}, "maxTokens is"},
		"most tokens":    {recall.Question{Prompt: "x", MaxTokens: recall.MaxMaxTokens}, ""},
		"too many words": {recall.Question{Prompt: "x", MaxTokens: recall.MaxMaxTokens + 1}, "maxTokens is"},
		"evidence":       {recall.Question{Prompt: "x", Output: recall.OutputEvidence}, ""},
		"an output":      {recall.Question{Prompt: "x", Output: "poem"}, `output is "poem"`},
	} {
		r := request{Question: c.q}
		err := r.check()
		if (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %v, want %q", name, err, c.problem)
		}
		if err == nil && (r.MaxTokens == 0 || r.Output == "" || r.Agent != "main" || (r.Query == "") != (len(r.SummaryIDs) > 0)) {
			t.Errorf("%s: the defaults are %+v", name, r)
		}
	}
	r := request{Question: recall.Question{Prompt: " x ", Query: " y ", Agent: "a", MaxTokens: recall.MinMaxTokens, SummaryIDs: []store.SummaryID{" ", "sum_1"}}}
	if err := r.check(); err != nil || r.Prompt != "x" || r.Query != "y" || r.Agent != "a" || r.MaxTokens != recall.MinMaxTokens || len(r.SummaryIDs) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A reply that breaks off is mended so that nothing but its end is missing.
func TestMend(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": "b`: `{"a": "b"}`, `{"a": "b\`: `{"a": "b"}`, `{"a": "b\"`: `{"a": "b\""}`, `{"a": "\d\n\\"}`: `{"a": "\\d\n\\"}`,
		"{\"a\": \"\x1f \"}": `{"a": "\u001f "}`, `{"a": [1, 2`: `{"a": [1, 2]}`, `{"a": [1,], }`: `{"a": [1] }`, `{"a": 1,`: `{"a": 1}`,
		`{"a": 1]}`: `{"a": 1]}`, `{"a": ",]"}`: `{"a": ",]"}`, `{}]}`: `{}]}`,
	} {
		got, brokeOff := mend(text)
		if got != want || brokeOff != strings.Contains(text, "b") {
			t.Errorf("%s becomes %s, broke off %v; want %s", text, got, brokeOff, want)
		}
	}
}

// A grant serves to its last page and its last second, and says why it stops.
func TestGrantAtItsBounds(t *testing.T) {
	now := time.Date(2026, 2, 1, 8, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		left    int
		expires time.Time
		change  func(*Grant)
		want    error
		cut     bool
	}{
		"fresh":             {left: minPage},
		"spent":             {left: minPage - 1, want: ErrSpent, cut: true},
		"a second is left":  {left: minPage, expires: now.Add(time.Second)},
		"expired":           {left: minPage, expires: now, want: ErrExpired},
		"revoked":           {left: minPage, change: (*Grant).Revoke, want: ErrRevoked},
		"sealed":            {left: minPage, change: func(g *Grant) { g.sealed = true }, want: ErrSealed},
		"no budget to read": {left: minPage, change: func(g *Grant) { g.meter.budget = minPage - 1 }, want: ErrSpent, cut: true},
	} {
		g := newGrant(Allowance{Tokens: c.left, Expires: c.expires}, Config{Clock: func() time.Time { return now }}, newMeter(minPage, 0, bytesOf), "m")
		if c.change != nil {
			c.change(g)
		}
		if err := g.usable(); !errors.Is(err, c.want) || g.served.cut != c.cut {
			t.Errorf("%s: %v, cut %v", name, err, g.served.cut)
		}
	}
}

// What was read of a message is joined where the pieces meet, and nowhere else: a quotation across a gap
// would be made up.
func TestServedTextHasNoGaps(t *testing.T) {
	var s served
	for _, p := range []recall.Piece{{Text: "abc"}, {Text: "xyz", Offset: 5}, {Text: "abc"}, {Text: "de", Offset: 3}, {Text: "e", Offset: 4}} {
		s.read(p)
	}
	if got := s.text.String(); got != "abcde" {
		t.Errorf("%q was read", got)
	}
}

// A page joins the pieces of one message, and shows the time where it changed and the conversation where there
// are several.
func TestPagesFrameTheirPieces(t *testing.T) {
	at := time.Date(2026, 2, 1, 8, 0, 0, 0, time.UTC)
	id := func(n store.MessageID) store.ID { return store.ID{Message: n} }
	g := newGrant(Allowance{Conversations: []store.ConversationID{1, 2}, Tokens: 1000}, Config{Counter: llms.Estimate}, newMeter(1000, 0, bytesOf), "m")
	p := g.newPage(1000)
	for _, piece := range []recall.Piece{
		{ID: id(1), Text: "ab", Size: 4, CreatedAt: at, ConversationID: 1, Tokens: 1},
		{ID: id(1), Text: "cd", Size: 4, Offset: 2, Complete: true, CreatedAt: at, ConversationID: 1, Tokens: 1},
		{ID: id(2), Text: "x", Size: 1, Complete: true, CreatedAt: at.Add(timeStep - 1), ConversationID: 1},
		{ID: id(3), Text: "y", Size: 9, Offset: 3, CreatedAt: at.Add(timeStep), ConversationID: 2, Role: "user"},
		{ID: id(4), Text: "z", Size: 1, Complete: true, CreatedAt: at, ConversationID: 2},
		{ID: id(5), Text: "0", Size: 1, Complete: true, ConversationID: 2},
	} {
		p.put(piece)
	}
	want := `<record-m id="msg_1" time="2026-02-01T08:00:00Z" conversation="1">
abcd
</record-m>

<record-m id="msg_2" conversation="1">
x
</record-m>

<record-m id="msg_3" role="user" time="2026-02-01T08:15:00Z" conversation="2" bytes="3-4 of 9">
y
</record-m>

<record-m id="msg_4" time="2026-02-01T08:00:00Z" conversation="2">
z
</record-m>

<record-m id="msg_5" conversation="2">
0
</record-m>
`
	p.tokens = 2
	_, got, _ := strings.Cut(p.text(), "\n\n")
	if got, end, _ := strings.Cut(got, "\nThat is all.\n"); got != want || end != "" {
		t.Errorf("%s", cmp.Diff(want, got))
	}
	p.next = "c1"
	if text := p.text(); !strings.Contains(text, `cursor "c1"`) || strings.Contains(text, "That is all") {
		t.Errorf("there is more: %s", text)
	}
	g.left = minPage - 1
	if text := p.text(); !strings.Contains(text, "the last page that you can read") {
		t.Errorf("nothing is left: %s", text)
	}
}

// A text is cut at the end of a word and never costs more than it may, also where a counter does not add up.
func TestShortenAtTheEndOfAWord(t *testing.T) {
	dearJoin := func(s string) int {
		if strings.Index(s, cutMark) > 0 {
			return len(s) + 3
		}
		return len(s)
	}
	for _, c := range []struct {
		count  func(string) int
		text   string
		tokens int
		want   string
	}{
		{bytesOf, "one two", 7, "one two"},
		{bytesOf, "one two three four", 14, "one two" + cutMark},
		{bytesOf, "onetwothreefourfive", 14, "onetwot" + cutMark},
		{dearJoin, "onetwothreefourfive", 14, "onetw" + cutMark},
	} {
		got, cut := shorten(c.count, c.text, c.tokens)
		if got != c.want || cut != strings.HasSuffix(got, cutMark) || c.count(got) > c.tokens {
			t.Errorf("%q in %d tokens is %q", c.text, c.tokens, got)
		}
	}
}

// scriptedModel yields events, and then an error.
type scriptedModel struct {
	llms.Model
	events []llms.Event
	err    error
}

func (m scriptedModel) Stream(context.Context, llms.Request) iter.Seq2[llms.Event, error] {
	return func(yield func(llms.Event, error) bool) {
		for _, e := range m.events {
			if !yield(e, nil) {
				return
			}
		}
		if m.err != nil {
			yield(llms.Event{}, m.err)
		}
	}
}

// A call costs what the provider says, also where it failed, and else what was sent.
func TestMeterCountsWhatACallCost(t *testing.T) {
	usage := func(in int) llms.Usage { return llms.Usage{InputTokens: in, OutputTokens: 1} }
	request := llms.Request{System: "12345", Tools: []llms.ToolSpec{{Name: "a", Description: "bc", Parameters: []byte("{}")}}, Messages: []llms.Message{llms.User("1234567890")}}
	for name, c := range map[string]struct {
		model  scriptedModel
		used   int
		window int
	}{
		"usage":            {scriptedModel{events: []llms.Event{{Kind: llms.EventUsage, Usage: usage(7)}}}, 7, 0},
		"at the end":       {scriptedModel{events: []llms.Event{{Kind: llms.EventUsage, Usage: usage(7)}, {Kind: llms.EventEnd, Usage: usage(8)}}}, 8, 0},
		"another event":    {scriptedModel{events: []llms.Event{{Kind: llms.EventText, Usage: usage(7)}}}, 20, 0},
		"it says nothing":  {scriptedModel{}, 20, 0},
		"a failure":        {scriptedModel{err: &llms.Error{Usage: usage(9)}}, 9, 0},
		"a cheap failure":  {scriptedModel{events: []llms.Event{{Kind: llms.EventUsage, Usage: usage(7)}}, err: &llms.Error{}}, 7, 0},
		"another failure":  {scriptedModel{err: errors.New("x")}, 20, 0},
		"too much at once": {scriptedModel{err: &llms.Error{Class: llms.ClassContextLength}}, 0, 10},
	} {
		m := newMeter(1_000_000, 0, bytesOf)
		for range m.Engine(c.model).Stream(t.Context(), request) {
		}
		if used, _ := m.spent(); used.InputTokens != c.used || used.Calls != 1 || m.window != c.window {
			t.Errorf("%s: %+v, window %d", name, used, m.window)
		}
	}
	m := newMeter(1, 0, bytesOf)
	for _, err := range m.Engine(scriptedModel{}).Stream(t.Context(), request) {
		if !errors.Is(err, errBudget) || !errors.Is(m.stopped(), errBudget) {
			t.Error(err)
		}
	}
	if used, _ := m.spent(); used.Calls != 0 {
		t.Errorf("a call that was refused counts: %+v", used)
	}
}

// A tool returns no more than the model can take with what it has.
func TestMeterLeavesRoom(t *testing.T) {
	for name, c := range map[string]struct {
		window, calls, want int
	}{"before a call": {0, 0, 64_000}, "after one": {0, 1, 29_200}, "a small window": {2000, 1, 1438}} {
		m := newMeter(64_000, c.window, bytesOf)
		for range c.calls {
			size, _ := m.begin(llms.Request{System: strings.Repeat("x", 100)})
			m.end(size, llms.Usage{})
			m.feed(0, 1)
		}
		if got := m.room(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// A search of a grant covers the times of all that was granted, or everything if one has no time.
func TestSpans(t *testing.T) {
	at := func(n int) time.Time { return time.Date(2026, 2, 1, 8, 0, n, 0, time.UTC) }
	var s span
	s.cover(at(10), at(20))
	s.cover(at(15), at(16))
	s.cover(at(5), at(12))
	s.cover(at(18), at(30))
	var r recall.GrepRequest
	if s.within(&r); r.Since != "2026-02-01T08:00:04Z" || r.Before != "2026-02-01T08:00:31Z" {
		t.Errorf("from %s to %s", r.Since, r.Before)
	}
	for _, times := range [][2]time.Time{{{}, at(1)}, {at(1), {}}} {
		s := s
		s.cover(times[0], times[1])
		s.cover(at(1), at(2))
		r := recall.GrepRequest{}
		if s.within(&r); r.Since != "" || r.Before != "" {
			t.Errorf("from %s to %s", r.Since, r.Before)
		}
	}
}

// closed counts how often a session was closed.
type closed struct {
	Session
	n *int
}

func (c closed) Close() { *c.n++ }

// A session is closed once, also one that opens after the question is over.
func TestSessionsAreClosedOnce(t *testing.T) {
	for _, late := range []bool{false, true} {
		n := 0
		c := &child{grant: &Grant{}}
		if late {
			c.end()
		}
		if held := c.hold(closed{n: &n}); held == late || late != (n == 1) {
			t.Errorf("late %v: held %v, closed %d times", late, held, n)
		}
		c.end()
		c.end()
		if n != 1 {
			t.Errorf("late %v: closed %d times", late, n)
		}
	}
}

// A key that no pattern of addresses and headers has is masked in an error too.
func TestErrorsHaveNoKeys(t *testing.T) {
	const key = "AKIAQ3EGRZ7XKLMWN2PT"
	if got := withoutSecrets("denied for " + key + " today"); strings.Contains(got, key) || !strings.HasSuffix(got, " today") {
		t.Errorf("%q", got)
	}
}

// A match goes on a page that has just room for it.
func TestMatchAtTheEndOfAPage(t *testing.T) {
	g := newGrant(Allowance{Conversations: []store.ConversationID{1}, Tokens: 1000}, Config{Counter: llms.Estimate}, newMeter(1000, 0, bytesOf), "m")
	m := recall.Match{ID: store.ID{Message: 1}, ConversationID: 1, Snippet: "the door is green"}
	p := g.newPage(1000)
	if !p.match(m) {
		t.Fatal("an empty page has no room")
	}
	used := p.cost(p.pieces)
	for left, want := range map[int]bool{used: true, used - 1: false} {
		p := g.newPage(1000)
		p.left = left
		if p.match(m) != want || (len(p.pieces) == 1) != want {
			t.Errorf("%d tokens for a match of %d: %d pieces", left, used, len(p.pieces))
		}
	}
}

// Every conversation has a sub-agent of its own where all are asked, and else they have one together.
func TestBuckets(t *testing.T) {
	for apart, want := range map[bool]int{true: 2, false: 1} {
		p := plan{apart: apart}
		for _, id := range []store.ConversationID{1, 2, 1} {
			p.bucket(id)
		}
		if len(p.buckets) != want || p.bucket(1) != p.buckets[0] || p.bucket(2) != p.buckets[want-1] {
			t.Errorf("apart %v: %d buckets", apart, len(p.buckets))
		}
	}
}
