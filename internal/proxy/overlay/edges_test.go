package overlay_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/proxy/apiform"
	"github.com/lossless-context/lcm/internal/proxy/overlay"
	"github.com/lossless-context/lcm/internal/record/store"
	"github.com/lossless-context/lcm/llms"
)

// record returns an index of messages that are written as "user: text", "assistant: text",
// "call: id" and "result: id"; "program: text" is one that the host wrote.
func record(lines ...string) *overlay.Index {
	h := &history{}
	for _, line := range lines {
		kind, text, _ := strings.Cut(line, ": ")
		h.begin("user")
		switch kind {
		case "call":
			h.call(text)
		case "result":
			h.result(text)
		case "program":
			h.store(llms.RoleUser, store.FlagSynthetic, llms.Part{Kind: llms.PartText, Text: text})
		default:
			h.text(llms.Role(kind), text)
		}
	}
	return h.index()
}

// request returns a request of the Anthropic form with messages that are written as in record. "+"
// joins a block to the message before.
func request(t *testing.T, lines ...string) *apiform.Request {
	t.Helper()
	body := ""
	for _, line := range lines {
		more, joined := strings.CutPrefix(line, "+")
		kind, text, _ := strings.Cut(more, ": ")
		role, block := kind, fmt.Sprintf(`{"type":"text","text":%q}`, text)
		switch kind {
		case "call":
			role, block = "assistant", fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"x","input":{}}`, text)
		case "result":
			role, block = "user", fmt.Sprintf(`{"type":"tool_result","tool_use_id":%q,"content":"x"}`, text)
		}
		if joined {
			body = strings.TrimSuffix(body, "]}") + "," + block + "]}"
			continue
		}
		if body != "" {
			body += ","
		}
		body += fmt.Sprintf(`{"role":%q,"content":[%s]}`, role, block)
	}
	r, err := apiform.Parse(apiform.Messages, []byte(`{"messages":[`+body+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// cutOff says a message that the host has cut off.
func cutOff(id store.MessageID) string { return fmt.Sprint("text of ", id) }

// TestEdges: what requests give way to, at the edges. A cover is the range of its messages.
func TestEdges(t *testing.T) {
	const left = "[The agent has left out %d of the messages of this summary, so they may no longer count: %s.]"
	plain := []string{"user: start", "call: c1", "result: c1", "user: go on"}
	for _, c := range []struct {
		name         string
		record, sent []string
		covers       [][2]store.MessageID
		options      overlay.Options
		want         string
	}{
		{name: "a call and its result", record: plain, sent: plain, covers: [][2]store.MessageID{{2, 3}}, want: "1-3 S1"},
		{name: "a call whose result is not sent", record: plain, sent: []string{"user: start", "call: c1", "user: go on"}, covers: [][2]store.MessageID{{2, 3}}},
		{name: "a result whose call is not sent", record: plain, sent: []string{"user: start", "result: c1", "user: go on"}, covers: [][2]store.MessageID{{1, 3}}},
		{name: "a result before its call", record: plain, sent: []string{"user: start", "result: c1", "call: c1", "user: go on"}, covers: [][2]store.MessageID{{2, 3}}},
		{name: "results of two answers in one message", record: []string{"user: start", "call: c1", "call: c2", "result: c1", "result: c2", "user: go on"},
			sent: []string{"user: start", "call: c1", "call: c2", "result: c1", "+result: c2", "user: go on"}, covers: [][2]store.MessageID{{2, 5}}},
		{name: "results of two answers, each with a summary", record: []string{"user: start", "call: c1", "call: c2", "result: c1", "result: c2", "user: go on"},
			sent: []string{"user: start", "call: c1", "call: c2", "result: c1", "+result: c2", "user: go on"}, covers: [][2]store.MessageID{{2, 2}, {3, 3}, {4, 5}}},
		{name: "prompts that nobody answered", record: []string{"user: one", "user: two", "user: three"}, sent: []string{"user: one", "user: two", "user: three"},
			covers: [][2]store.MessageID{{1, 2}}},
		{name: "the intro is said once", record: []string{"user: start", "call: c1", "result: c1", "user: next", "call: c2", "result: c2", "user: go on"},
			sent:   []string{"user: start", "call: c1", "result: c1", "user: next", "call: c2", "result: c2", "user: go on"},
			covers: [][2]store.MessageID{{2, 3}, {5, 6}}, options: overlay.Options{Intro: "INTRO"}, want: "1-3 INTRO|S1; 4-6 S2"},
		{name: "system messages before what goes", record: plain, sent: []string{"user: start", "system: one", "system: two", "call: c1", "result: c1", "user: go on"},
			covers: [][2]store.MessageID{{2, 3}}, want: "1-5 <system-reminder>\none\n</system-reminder>|<system-reminder>\ntwo\n</system-reminder>|S1"},
		{name: "reminders that just fit", record: plain, sent: []string{"user: start", "system: one", "system: two", "call: c1", "result: c1", "user: go on"},
			covers: [][2]store.MessageID{{2, 3}}, options: overlay.Options{MaxReminders: 6}, want: "1-5 <system-reminder>\none\n</system-reminder>|<system-reminder>\ntwo\n</system-reminder>|S1"},
		{name: "reminders that do not fit", record: plain, sent: []string{"user: start", "system: one", "system: two", "call: c1", "result: c1", "user: go on"},
			covers: [][2]store.MessageID{{2, 3}}, options: overlay.Options{MaxReminders: 5}, want: "1-5 <system-reminder>\ntwo\n</system-reminder>|S1"},
		{name: "a blank text of the record", record: []string{"user: start", "call: c1", "user:  ", "result: c1", "user: go on"}, sent: plain,
			covers: [][2]store.MessageID{{2, 4}}, want: "1-3 S1"},
		{name: "an answer that the user quotes", record: []string{"user: start", "call: c1", "result: c1", "assistant: I stop.", "user: go on"},
			sent:   []string{"user: start", "call: c1", "result: c1", "+user: you said: I stop.", "user: go on"},
			covers: [][2]store.MessageID{{2, 4}}, want: "1-3 S1|" + fmt.Sprintf(left, 1, "msg_4") + "|you said: I stop."},
		{name: "a prompt that the host has wrapped", record: []string{"user: start", "call: c1", "result: c1", "user: stop", "assistant: I do.", "user: go on"},
			sent:   []string{"user: start", "call: c1", "result: c1", "user: The user said: stop", "assistant: I do.", "user: go on"},
			covers: [][2]store.MessageID{{2, 5}}, want: "1-3 [The messages that stood here are part of the next summary.]; 4-5 S1"},
		{name: "a prompt that an older text has in it", record: []string{"user: start", "call: c1", "result: c1", "call: c2", "result: c2", "user: stop", "user: go on"},
			sent:   []string{"user: start", "call: c1", "result: c1", "+user: never stop", "call: c2", "result: c2", "user: go on"},
			covers: [][2]store.MessageID{{2, 6}}, want: "1-5 S1|" + fmt.Sprintf(left, 1, "msg_6") + "|never stop"},
		{name: "a text before the calls after which it is recorded", record: []string{"user: start", "call: c1", "result: c1", "user: ok", "user: go on"},
			sent:   []string{"user: start", "user: ok", "call: c1", "result: c1", "user: go on"},
			covers: [][2]store.MessageID{{2, 4}}, want: "2-4 S1|" + fmt.Sprintf(left, 1, "msg_4")},
		{name: "a call without a result at the end of the record", record: []string{"user: start", "call: c1", "result: c1", "call: c2"}, sent: plain,
			covers: [][2]store.MessageID{{2, 4}}, want: "1-3 S1"},
		{name: "an answer with a text that the record lacks", record: plain, sent: []string{"user: start", "call: c1", "+assistant: new", "result: c1", "user: go on"}, covers: [][2]store.MessageID{{2, 3}}},
		{name: "a call that the record lacks", record: plain, sent: []string{"user: start", "call: c1", "+call: c2", "result: c1", "+result: c2", "user: go on"}, covers: [][2]store.MessageID{{2, 3}}},
		{name: "a message that the record lacks", record: []string{"user: start", "call: c1", "result: c1", "call: c2", "result: c2"},
			sent:   []string{"user: start", "call: c1", "result: c1", "user: new", "call: c2", "result: c2", "user: go on"},
			covers: [][2]store.MessageID{{2, 5}}, want: "1-3 S1; 4-6 [The messages that stood here are part of the summary above.]"},
		{name: "a reminder that goes twice", record: plain, sent: []string{"user: start", "system: one", "system: one", "call: c1", "result: c1", "user: go on"},
			covers: [][2]store.MessageID{{2, 3}}, want: "1-5 <system-reminder>\none\n</system-reminder>|S1"},
		{name: "a reminder in two messages that go, twice in one", record: []string{"user: start", "call: c1", "result: c1", "call: c2", "result: c2", "user: go on"},
			sent: []string{"user: start", "call: c1", "result: c1", "+user: <system-reminder>one</system-reminder>", "+user: <system-reminder>one</system-reminder>",
				"call: c2", "result: c2", "+user: <system-reminder>one</system-reminder>", "user: go on"},
			covers: [][2]store.MessageID{{2, 5}}, want: "1-5 S1|<system-reminder>one</system-reminder>"},
		{name: "a text of the host that is not sent", record: []string{"user: start", "call: c1", "program: note", "result: c1", "user: go on"}, sent: plain,
			covers: [][2]store.MessageID{{2, 4}}, want: "1-3 S1"},
		{name: "a reminder that stays and goes", record: plain,
			sent:   []string{"user: start", "+user: <system-reminder>one</system-reminder>", "call: c1", "result: c1", "+user: <system-reminder>one</system-reminder>", "user: go on"},
			covers: [][2]store.MessageID{{2, 3}}, want: "1-3 S1|<system-reminder>one</system-reminder>"},
		{name: "a text before the last one that is sent", record: []string{"user: start", "assistant: a", "user: b", "assistant: c"},
			sent:   []string{"user: start", "assistant: a", "assistant: c", "user: go on"},
			covers: [][2]store.MessageID{{2, 4}}, want: "1-3 S1|" + fmt.Sprintf(left, 1, "msg_3")},
		{name: "a rewind and a text that repeats", record: []string{"user: start", "assistant: a", "user: b", "assistant: ok", "user: c", "assistant: ok"},
			sent: []string{"user: start", "assistant: ok", "user: go on"}, covers: [][2]store.MessageID{{2, 4}}},
		{name: "a beginning that is cut off", record: []string{"user: start", "call: c1", "result: c1", "call: c2", "result: c2", "call: c3", "result: c3", "user: go on"},
			sent:   []string{"call: c2", "result: c2", "call: c3", "result: c3", "user: go on"},
			covers: [][2]store.MessageID{{1, 2}, {3, 5}}, options: overlay.Options{Cut: cutOff, Intro: "INTRO"}, want: "0-2 INTRO|S1|S2"},
		{name: "more of it is cut off", record: []string{"user: start", "call: c1", "result: c1", "call: c2", "result: c2", "call: c3", "result: c3", "user: go on"},
			sent:   []string{"call: c3", "result: c3", "user: go on"},
			covers: [][2]store.MessageID{{1, 2}, {3, 5}}, options: overlay.Options{Cut: cutOff, Intro: "INTRO"}, want: "0-0 INTRO|S1|S2"},
		{name: "it is cut off before a text that repeats", record: []string{"user: ok", "call: c1", "result: c1", "user: ok", "call: c2", "result: c2", "user: go on"},
			sent:   []string{"user: ok", "call: c2", "result: c2", "user: go on"},
			covers: [][2]store.MessageID{{1, 3}}, options: overlay.Options{Cut: cutOff}, want: "0-0 S1"},
		{name: "it is cut off before an answer whose text repeats", record: []string{"user: start", "assistant: I look.", "call: c1", "result: c1", "assistant: I look.", "call: c2", "result: c2", "user: go on"},
			sent:   []string{"assistant: I look.", "+call: c2", "result: c2", "user: go on"},
			covers: [][2]store.MessageID{{1, 4}, {5, 7}}, options: overlay.Options{Cut: cutOff}, want: "0-2 S1|S2"},
		{name: "it is cut off behind the system's messages", record: plain, sent: []string{"system: rules", "user: new"},
			covers: [][2]store.MessageID{{1, 3}}, options: overlay.Options{Cut: cutOff}, want: "1-1 S1|text of msg_4"},
		{name: "a wrapped beginning is not cut off", record: plain, sent: []string{"user: wrapped start", "call: c1", "result: c1", "user: go on"},
			covers: [][2]store.MessageID{{2, 3}}, options: overlay.Options{Cut: cutOff}, want: "1-3 S1"},
		{name: "a summary across the cut that cannot be used", record: []string{"user: start", "call: c1", "result: c1", "call: c2", "result: c2", "user: go on"},
			sent:   []string{"call: c2", "+assistant: new", "result: c2", "user: go on"},
			covers: [][2]store.MessageID{{1, 5}}, options: overlay.Options{Cut: cutOff}, want: "0-0 S1"},
		{name: "the oldest that is cut off has no room", record: plain, sent: []string{"user: go on"},
			options: overlay.Options{Cut: cutOff, MaxStay: 2 * len("text of msg_1")},
			want:    "0-0 [Earlier messages are not summarised yet and have no room here; look them up.]|text of msg_2|text of msg_3"},
		{name: "the cut is not told", record: []string{"user: start", "call: c1", "result: c1", "call: c2", "result: c2", "user: go on"},
			sent:   []string{"call: c2", "result: c2", "user: go on"},
			covers: [][2]store.MessageID{{1, 3}}},
		{name: "nothing is cut off", record: plain, sent: plain, covers: [][2]store.MessageID{{2, 3}}, options: overlay.Options{Cut: cutOff}, want: "1-3 S1"},
		{name: "a rewind", record: []string{"user: start", "call: c1", "result: c1", "call: c2", "result: c2"}, sent: plain, covers: [][2]store.MessageID{{2, 5}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var covers []*overlay.Cover
			for n, of := range c.covers {
				one := &overlay.Cover{ID: store.SummaryID(fmt.Sprint("sum_", n)), Text: fmt.Sprint("S", n+1)}
				for id := of[0]; id <= of[1]; id++ {
					one.Messages = append(one.Messages, id)
				}
				covers = append(covers, one)
			}
			ix, r := record(c.record...), request(t, c.sent...)
			laid, err := overlay.NewPlan(ix, covers).Lay(r, ix, c.options)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			removed, added := 0, 0
			for _, e := range laid.Edits {
				got = append(got, fmt.Sprintf("%d-%d %s", e.From, e.To, strings.Join(e.Say, "|")))
				added += apiform.UnitsOf(e.Say)
				for _, m := range r.Messages[e.From:e.To] {
					removed += m.Units
				}
			}
			if got := strings.Join(got, "; "); got != c.want {
				t.Errorf("the edits are %q, want %q", got, c.want)
			}
			if laid.Removed != removed || laid.Added != added {
				t.Errorf("%d units are counted as removed and %d as added, not %d and %d", laid.Removed, laid.Added, removed, added)
			}
		})
	}
}

// TestRequestsOfNoPlan: a request with two calls or results of one id, or in another order than the
// record, is sent as it is.
func TestRequestsOfNoPlan(t *testing.T) {
	ix := record("user: start", "call: c1", "result: c1", "call: c2", "result: c2")
	p := overlay.NewPlan(ix, []*overlay.Cover{{ID: "sum_1", Text: "S1", Messages: []store.MessageID{2, 3}}, {ID: "sum_2", Text: "S2", Messages: []store.MessageID{4, 5}}})
	for _, sent := range [][]string{
		{"user: start", "call: c1", "result: c1", "call: c1", "user: go on"},
		{"user: start", "call: c1", "result: c1", "result: c1", "user: go on"},
		{"user: start", "call: c2", "result: c2", "call: c1", "result: c1", "user: go on"},
	} {
		if laid, err := p.Lay(request(t, sent...), ix, overlay.Options{}); err == nil || len(laid.Edits) > 0 {
			t.Errorf("%v: %v, %v", sent, laid.Edits, err)
		}
	}
}

// TestIndexOfARequest: what the record has of a request.
func TestIndexOfARequest(t *testing.T) {
	ix := record("user: start", "call: c1", "result: c1", "user: go on", "user: later")
	for _, c := range []struct {
		sent  []string
		all   bool
		calls int
		last  store.MessageID
	}{
		{[]string{"user: start", "call: c1", "result: c1", "user: go on"}, true, 1, 4},
		{[]string{"user: start", "call: c1", "result: c1"}, true, 1, 3},
		{[]string{"user: start", "call: c2", "result: c1"}, false, 0, 3},
		{[]string{"user: start", "call: c1", "result: c2"}, false, 1, 2},
		{[]string{"user: new"}, true, 0, 0},
	} {
		r := request(t, c.sent...)
		if ix.HasAll(r) != c.all || ix.Calls(r) != c.calls || ix.Last(r) != c.last {
			t.Errorf("%v: all %v, %d calls, last %v", c.sent, ix.HasAll(r), ix.Calls(r), ix.Last(r))
		}
	}
}

// TestExternalisedText: a host sends the text whole that the record keeps as a payload.
func TestExternalisedText(t *testing.T) {
	ix := record("user: start", "call: c1", "result: c1")
	key := apiform.TextKey([]byte("a long text\n"))
	ix.Add(store.Message{ID: 4, Seq: 4, Flags: store.FlagSynthetic, Body: llms.Message{Role: llms.RoleUser, Parts: []llms.Part{
		{Kind: llms.PartText, Text: "[stored as a file]", Ref: &llms.Ref{ID: fmt.Sprintf("file_%016x", uint64(key))}}}}})
	p := overlay.NewPlan(ix, []*overlay.Cover{{ID: "sum_1", Text: "S1", Messages: []store.MessageID{2, 3, 4}}})
	laid, err := p.Lay(request(t, "user: start", "call: c1", "result: c1", "+user: a long text\n", "user: go on"), ix, overlay.Options{})
	if err != nil || len(laid.Edits) != 1 || len(laid.Edits[0].Say) != 1 {
		t.Errorf("%+v, %v", laid, err)
	}
}

// TestLargePrompt: a prompt stays beside its summary up to MaxStay.
func TestLargePrompt(t *testing.T) {
	lines := []string{"user: start", "call: c1", "result: c1", "user: a larger prompt", "call: c2", "result: c2", "user: go on"}
	ix, r := record(lines...), request(t, lines...)
	p := overlay.NewPlan(ix, []*overlay.Cover{{ID: "sum_1", Text: "S1", Messages: []store.MessageID{1, 2, 3, 4, 5, 6}}})
	first, second := r.Messages[0].Units, r.Messages[3].Units
	for _, c := range []struct{ most, dropped int }{{0, 4}, {second, 4}, {second - 1, 5}, {first, 5}, {first - 1, 6}} {
		if laid, err := p.Lay(r, ix, overlay.Options{MaxStay: c.most}); err != nil || laid.Dropped != c.dropped {
			t.Errorf("up to %d units: %d messages are dropped, want %d (%v)", c.most, laid.Dropped, c.dropped, err)
		}
	}
	// Without a newer prompt it is the task, and stays however large it is.
	p = overlay.NewPlan(ix, []*overlay.Cover{{ID: "sum_1", Text: "S1", Messages: []store.MessageID{1, 2, 3, 4}}})
	if laid, err := p.Lay(request(t, lines[:6]...), ix, overlay.Options{MaxStay: first}); err != nil || laid.Dropped != 2 {
		t.Errorf("the newest prompt: %d messages are dropped, want 2 (%v)", laid.Dropped, err)
	}
}

// TestMostlyLeftOut: where the host has left out more than half of what a summary is of, those beneath it are used.
func TestMostlyLeftOut(t *testing.T) {
	ix := record("user: start", "call: c1", "result: c1", "call: c2", "result: c2", "call: c3", "result: c3", "user: go on")
	leaf := func(text string, ids ...store.MessageID) *overlay.Cover {
		return &overlay.Cover{ID: store.SummaryID("sum_" + text), Text: text, Messages: ids}
	}
	p := overlay.NewPlan(ix, []*overlay.Cover{{ID: "sum_top", Text: "TOP", Summaries: []*overlay.Cover{leaf("A", 2, 3), leaf("B", 4, 5), leaf("C", 6, 7)}}})
	for want, sent := range map[string][]string{
		"TOP": {"user: start", "call: c2", "result: c2", "call: c3", "result: c3", "user: go on"},
		"C":   {"user: start", "call: c3", "result: c3", "user: go on"},
	} {
		laid, err := p.Lay(request(t, sent...), ix, overlay.Options{})
		if err != nil || len(laid.Used) != 1 || laid.Used[0].Text != want || laid.Dropped != len(sent)-2 {
			t.Errorf("%v: %+v, %v", sent, laid, err)
		}
	}
}

// TestSystemMessageOfChat: in the other forms a system message may stand anywhere, so it stays as it is.
func TestSystemMessageOfChat(t *testing.T) {
	ix := record("user: start", "call: c1", "result: c1", "user: go on")
	p := overlay.NewPlan(ix, []*overlay.Cover{{ID: "sum_1", Text: "S1", Messages: []store.MessageID{2, 3}}})
	r, err := apiform.Parse(apiform.Chat, []byte(`{"messages":[{"role":"user","content":"start"},{"role":"system","content":"one"},
		{"role":"assistant","content":"","tool_calls":[{"id":"c1"}]},{"role":"tool","tool_call_id":"c1","content":"x"},{"role":"user","content":"go on"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if laid, err := p.Lay(r, ix, overlay.Options{}); err != nil || len(laid.Edits) != 1 || laid.Edits[0].From != 2 || laid.Edits[0].To != 4 || len(laid.Edits[0].Say) != 1 {
		t.Errorf("%+v, %v", laid.Edits, err)
	}
}
