package engine_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lossless-context/lcm/internal/record/store"
)

// grow plays steps up to number to, each ingested and assembled, and returns the last request.
func (l *loop) grow(from, to, budget int) (text string) {
	l.t.Helper()
	for i := from; i < to; i++ {
		l.step(i, 60)
		l.ingest()
		sent, got := l.assemble(budget)
		valid(l.t, sent)
		if got.Tokens > budget || got.Over != "" {
			l.t.Fatalf("step %d: %d tokens: %s", i, got.Tokens, got.Over)
		}
		one, err := json.Marshal(sent)
		if err != nil {
			l.t.Fatal(err)
		}
		text = string(one)
	}
	return text
}

// once checks that the record has each message of the history from one on once.
func (l *loop) once(key string, from int) {
	l.t.Helper()
	c, err := l.db.Conversations(l.t.Context(), store.ConversationQuery{Key: key})
	if err != nil || len(c) != 1 {
		l.t.Fatalf("%d conversations, %v", len(c), err)
	}
	found := map[string]int{}
	for m, err := range l.db.Messages(l.t.Context(), store.MessageQuery{Conversation: c[0].ID}) {
		if err != nil {
			l.t.Fatal(err)
		}
		found[m.Native]++
	}
	for i := from; i < len(l.history); i++ {
		if id := fmt.Sprint(l.prefix, "m", i); found[id] != 1 {
			l.t.Errorf("%s is stored %d times", id, found[id])
		}
	}
}

// TestResume: a session goes on in another process as if it were the same one: the first request
// begins with the bytes of the last one before.
func TestResume(t *testing.T) {
	home := t.TempDir()
	const budget = 12_000
	l := &loop{adapter: start(t, home, "loop"), session: "s"}
	l.grow(0, 100, budget)
	sent, _ := l.assemble(budget)
	l.end()
	l.adapter = start(t, home, "loop")
	again, got := l.assemble(budget)
	if fmt.Sprint(sent) != fmt.Sprint(again) || got.Over != "" {
		t.Errorf("%d messages became %d: %s", len(sent), len(again), got.Over)
	}
	l.grow(100, 160, budget)
	l.once("loop:s", 0)
}

// TestRewind: the user goes back to an earlier prompt and on from there. No request has what was
// taken back, and the record has both.
func TestRewind(t *testing.T) {
	const budget = 12_000
	l := &loop{adapter: start(t, t.TempDir(), "loop"), session: "s"}
	l.grow(0, 100, budget)
	at := slices.IndexFunc(l.history, func(m any) bool { return m.(map[string]any)["content"] == "Please do part 3 of s" })
	l.history = slices.Clone(l.history[:at])
	l.stored, l.prefix = at, "again-"
	after := fmt.Sprint("m", at-1)
	for i := 200; i < 280; i++ { // other steps
		l.step(i, 60)
		for range 2 { // the answer to the first may be lost
			l.ask("ingest", map[string]any{"session": "s", "form": "openai", "after": after, "messages": l.fresh()})
		}
		l.stored, after = len(l.history), fmt.Sprint("again-m", len(l.history)-1)
		sent, got := l.assemble(budget)
		valid(t, sent)
		text := fmt.Sprint(sent)
		if strings.Contains(text, "Please do part 3 of s") || strings.Contains(text, "make part70") || got.Over != "" {
			t.Fatalf("step %d: %s, %.300s", i, got.Over, text)
		}
	}
	l.once("loop:s", at)
	if got := l.ask("grep", map[string]any{"session": "s", "arguments": map[string]any{"pattern": "make part70"}}); !strings.Contains(string(got), "msg_") {
		t.Errorf("what was taken back is gone: %s", got)
	}
}

// TestFork: two sessions go on from the same messages. Neither has messages of the other.
func TestFork(t *testing.T) {
	const budget = 12_000
	a := start(t, t.TempDir(), "loop")
	one := &loop{adapter: a, session: "s"}
	one.grow(0, 60, budget)
	two := &loop{adapter: a, session: "s", history: slices.Clone(one.history)}
	two.key = "fork"
	one.grow(60, 120, budget)
	text := two.grow(900, 960, budget)
	if strings.Contains(text, "make part115") {
		t.Error("the fork has messages of its origin's later turns")
	}
	if last := one.grow(120, 130, budget); regexp.MustCompile(`make part9\d\d`).MatchString(last) {
		t.Error("the origin has messages of the fork")
	}
	one.once("loop:s", 0)
	two.once("loop:fork", 0)
}

// TestCut: a host hands on only the newest messages of a long turn. Every one before them is beneath a
// summary that stands in front, or stands there itself, as the prompt of the turn does.
func TestCut(t *testing.T) {
	const budget, handed = 12_000, 80
	l := &loop{adapter: start(t, t.TempDir(), "loop"), session: "s"}
	l.history = append(l.history, map[string]any{"role": "user", "content": "Port the harbour, and never touch the lighthouse."})
	for i := 1; i < 150; i++ {
		if i%20 == 0 {
			continue // no other prompt
		}
		l.step(i, 60)
		l.ingest()
		first := max(0, len(l.history)-handed)
		if first%2 == 0 && first > 0 {
			first++ // a call and its result are handed on together
		}
		sent, got := l.assembleFrom(first, budget)
		valid(t, sent)
		if got.Over != "" || got.Tokens > budget {
			t.Fatalf("step %d: %d tokens, %s", i, got.Tokens, got.Over)
		}
		if lost := l.lost(first, got); len(lost) > 0 {
			t.Fatalf("step %d, from message %d: nothing stands for %q", i, first, lost)
		}
	}
}

// lost returns the stored messages that are neither sent nor said nor beneath a summary that is shown, if
// the messages from first on were handed on.
func (l *loop) lost(first int, got assembled) (lost []string) {
	l.t.Helper()
	there := map[store.MessageID]bool{}
	var walk func(store.SummaryID)
	walk = func(id store.SummaryID) {
		sources, err := l.db.Sources(l.t.Context(), id)
		if err != nil {
			l.t.Fatal(err)
		}
		for _, s := range sources {
			if there[s.Message] = true; s.IsSummary() {
				walk(s.Summary)
			}
		}
	}
	kept, said := map[string]bool{}, ""
	for _, p := range got.Parts {
		if p.Keep != nil {
			for i := p.Keep[0]; i < p.Keep[1]; i++ {
				kept[fmt.Sprint("m", first+i)] = true
			}
		}
		said += strings.Join(p.Say, "\n")
	}
	for _, found := range regexp.MustCompile(`<summary id="(sum_[0-9a-f]+)"`).FindAllStringSubmatch(said, -1) {
		walk(store.SummaryID(found[1]))
	}
	c, err := l.db.Conversations(l.t.Context(), store.ConversationQuery{Key: "loop:s"})
	if err != nil {
		l.t.Fatal(err)
	}
	for m, err := range l.db.Messages(l.t.Context(), store.MessageQuery{Conversation: c[0].ID}) {
		if err != nil {
			l.t.Fatal(err)
		}
		if !there[m.ID] && !kept[m.Native] && !strings.Contains(said, m.ID.String()+", earlier in this conversation] "+m.Body.Render()) {
			lost = append(lost, m.Body.Render())
		}
	}
	return lost
}

// TestCutBelowBudget: what was cut off stands in front also of a request that is within the budget, and a
// session of which nothing is cut off is handed back as it is.
func TestCutBelowBudget(t *testing.T) {
	const budget = 12_000
	l := &loop{adapter: start(t, t.TempDir(), "loop"), session: "s"}
	for i := range 6 {
		l.step(i, 60)
	}
	l.ingest()
	if sent, got := l.assembleFrom(5, budget); len(l.lost(5, got)) > 0 || len(sent) != len(l.history)-5+1 {
		t.Errorf("%d messages are sent, and nothing stands for %q", len(sent), l.lost(5, got))
	}
	l.history = l.history[:1]
	if sent, _ := l.assembleFrom(0, budget); len(sent) != 1 {
		t.Errorf("%v", sent)
	}
	long := &loop{adapter: l.adapter, session: "long", history: []any{map[string]any{"role": "user", "content": strings.Repeat("Port it. ", 1000)}}}
	long.step(1, 1)
	long.ingest()
	sent, _ := long.assembleFrom(1, budget)
	if text := fmt.Sprint(sent); len(text) < 8000 || len(text) > 9000 || !strings.Contains(text, "It goes on: describe msg_") {
		t.Errorf("%d characters: %.300s", len(text), text)
	}
}

// TestCutGoesBack: what the user has just taken back is not said, though it was cut off, and a history that
// fits a larger budget is handed back whole.
func TestCutGoesBack(t *testing.T) {
	const budget = 12_000
	l := &loop{adapter: start(t, t.TempDir(), "loop"), session: "s"}
	l.grow(0, 100, budget)
	l.assembleFrom(len(l.history)-20, budget)
	if sent, _ := l.assembleFrom(0, 200_000); len(sent) != len(l.history) {
		t.Errorf("%d of %d messages are sent", len(sent), len(l.history))
	}
	at := slices.IndexFunc(l.history, func(m any) bool { return m.(map[string]any)["content"] == "Please do part 3 of s" })
	l.history, l.prefix, l.stored = slices.Clone(l.history[:at]), "again-", at
	l.step(200, 60)
	l.ask("ingest", map[string]any{"session": "s", "form": "openai", "after": fmt.Sprint("m", at-1), "messages": l.fresh()})
	sent, _ := l.assembleFrom(len(l.history)-2, budget)
	if text := fmt.Sprint(sent); strings.Contains(text, "Please do part 3 of s") || strings.Contains(text, "make part70") || !strings.Contains(text, "part 1 of s") {
		t.Errorf("%.2000s", text)
	}
}

// TestCompactUpTo: the summary of a compaction has none of the messages that are kept, as far as its parts
// allow it, and no ingest of nothing fails.
func TestCompactUpTo(t *testing.T) {
	l := &loop{adapter: start(t, t.TempDir(), "loop"), session: "s"}
	l.grow(0, 150, 12_000)
	l.ingest()
	var c struct{ Summary string }
	if err := json.Unmarshal(l.ask("compact", map[string]any{"session": "s", "budget": 8000, "keep": "m200"}), &c); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(c.Summary, "line 149 of") || strings.Contains(c.Summary, "Please do part 6 of s") || !strings.Contains(c.Summary, "Please do part 0 of s") {
		t.Errorf("it is up to another message: %s", c.Summary)
	}
}
